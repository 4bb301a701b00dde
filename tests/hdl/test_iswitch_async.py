"""Numbered sums (iSwitch §4): H worker updates, of any members, each once, one result after another."""

from dataclasses import replace

import pytest

from olafctl.queue.registers import Command, IndexSettings
from olafctl.wire.layouts import GRADIENT_OFFSET, Flag, Kind
from olafctl.wire.modes import Mode
from olaflab.queue.model import Departure, QueueModel

from .test_iswitch import INDEX, conserved, contribution, gradients, olaf, send

SETTINGS = IndexSettings(Mode.ISWITCH_ASYNC, threshold=3)


@pytest.fixture
def sums(queue: QueueModel) -> QueueModel:
    """A queue whose INDEX sums three worker updates, of any members."""
    queue.registers.configure(INDEX, INDEX, SETTINGS)
    return queue


def seen(left: list[Departure]) -> list[tuple[int, int, bytes]]:
    """(number, count, values) of each result."""
    assert all(one.sidecar.kind == Kind.RESULT for one in left)
    assert all(olaf(one)["flags"] & Flag.AGGREGATED for one in left)
    return [(olaf(one)["seq"], olaf(one)["count"], one.frame[GRADIENT_OFFSET:]) for one in left]


def got(queue: QueueModel) -> list[int]:
    """What GET shows: state, the last result's number, worker updates and members."""
    queue.registers.settings_of(INDEX)
    names = ("get_state", "get_round", "get_count", "get_members_low")
    return [queue.registers.read(name) for name in names]


def test_contributions_are_summed_and_results_numbered_from_1(sums: QueueModel) -> None:
    of_one = [contribution(4, 70 + number, float(number)) for number in range(3)]
    of_several = [contribution(member, 9, 10.0 * member) for member in (1, 2)]
    assert seen(send(sums, *of_one, *of_several, contribution(4, 73, 4.0))) == [
        (1, 3, gradients(3.0)),
        (2, 3, gradients(34.0)),
    ]
    assert conserved(sums.registers.read_all())


def test_a_contribution_counts_once_in_whatever_sum(sums: QueueModel) -> None:
    frames = [contribution(0, number) for number in (5, 6, 6, 5, 7, 7, 5)]
    assert seen(send(sums, *frames)) == [(1, 3, gradients(3.0))]
    assert sums.registers.read("dropped_duplicate") == 4


def test_contributions_may_overtake_each_other_by_sixteen(sums: QueueModel) -> None:
    assert send(sums, contribution(0, 100), contribution(0, 84)) == []
    assert send(sums, contribution(0, 84), contribution(0, 83), contribution(0, 100)) == []
    shown = sums.registers.read_all()
    assert (shown["dropped_duplicate"], shown["dropped_late"]) == (2, 1)
    assert seen(send(sums, contribution(0, 99))) == [(1, 3, gradients(3.0))]


@pytest.mark.parametrize("first", [0, (1 << 32) - 2, (1 << 31) - 2, 77])
def test_a_members_numbers_begin_anywhere_and_wrap(sums: QueueModel, first: int) -> None:
    numbers = [(first + number) % (1 << 32) for number in range(6)]
    frames = [contribution(3, number) for number in numbers]
    assert [number for number, _, _ in seen(send(sums, *frames))] == [1, 2]
    assert send(sums, *frames) == []
    assert sums.registers.read("dropped_duplicate") == 6


def test_what_is_dropped_for_another_reason_may_come_again(sums: QueueModel) -> None:
    assert send(sums, contribution(0, 1), contribution(1, 1, values=41)) == []
    sums.registers.configure(INDEX, INDEX, replace(SETTINGS, halted=True))
    assert send(sums, contribution(1, 1)) == []
    sums.registers.configure(INDEX, INDEX, SETTINGS)
    torn = contribution(1, 1)
    assert send(sums, (torn[0], torn[1][:-4]), contribution(1, 1)) == []
    shown = sums.registers.read_all()
    assert [shown[f"dropped_{why}"] for why in ("mismatch", "halted", "truncated")] == [1, 1, 1]
    assert seen(send(sums, contribution(1, 2))) == [(1, 3, gradients(3.0))]
    sums.registers.write("accumulate_quota", 0)
    assert send(sums, contribution(2, 1)) == []
    assert sums.registers.read("dropped_quota") == 1
    sums.registers.write("accumulate_quota", 1)
    assert seen(send(sums, *(contribution(2, number) for number in (1, 2, 3)))) == [(2, 3, gradients(3.0))]


def test_a_member_beyond_the_bitmap_is_dropped(sums: QueueModel) -> None:
    assert send(sums, contribution(32), contribution(255)) == []
    assert sums.registers.read("dropped_member") == 2


def test_a_childs_sum_counts_for_all_in_it(sums: QueueModel) -> None:
    assert seen(send(sums, contribution(0, 1, count=2), contribution(0, 2, count=2))) == [
        (1, 4, gradients(2.0))
    ]
    assert seen(send(sums, contribution(1, 1, count=3))) == [(2, 3, gradients(1.0))]


def test_numbers_have_no_gaps_whatever_happens(sums: QueueModel) -> None:
    """H changes, partial sums are sent at once, the index is halted, another one is reset."""
    registers = sums.registers
    assert send(sums, contribution(0, 1), contribution(0, 2)) == []
    registers.configure(INDEX, INDEX, replace(SETTINGS, threshold=2))
    assert [number for number, _, _ in seen(send(sums))] == [1]
    registers.command(Command.FBCAST, 0, 15)
    assert send(sums, contribution(0, 3)) == []
    registers.command(Command.FBCAST, INDEX, INDEX)
    assert seen(send(sums)) == [(2, 1, gradients(1.0))]
    registers.configure(INDEX, INDEX, replace(SETTINGS, halted=True))
    registers.command(Command.RESET, 0, INDEX - 1)
    registers.command(Command.RESET, INDEX + 1, 15)
    registers.configure(INDEX, INDEX, replace(SETTINGS, threshold=1))
    assert got(sums) == [2, 2, 0, 0]
    assert [number for number, _, _ in seen(send(sums, contribution(0, 3), contribution(0, 4)))] == [3]
    assert registers.read("dropped_duplicate") == 1


@pytest.mark.parametrize("how", ["reset", "another mode and back", "rounds and back"])
def test_an_index_that_begins_afresh_numbers_from_1(sums: QueueModel, how: str) -> None:
    assert len(send(sums, *(contribution(0, number) for number in range(4)))) == 1
    assert got(sums) == [3, 1, 1, 1]
    if how == "reset":
        sums.registers.command(Command.RESET, INDEX, INDEX)
    else:
        other = Mode.ISWITCH if how == "rounds and back" else Mode.OLAF
        sums.registers.configure(INDEX, INDEX, replace(SETTINGS, mode=other))
        sums.registers.configure(INDEX, INDEX, SETTINGS)
    assert sums.registers.read("dropped_reset") == 1
    assert got(sums)[:2] == [0, 0]
    assert seen(send(sums, *(contribution(0, number) for number in range(3)))) == [(1, 3, gradients(3.0))]


def test_a_round_begins_afresh_after_numbered_sums(sums: QueueModel) -> None:
    assert len(send(sums, *(contribution(0, number) for number in range(3)))) == 1
    sums.registers.configure(INDEX, INDEX, replace(SETTINGS, mode=Mode.ISWITCH))
    assert len(send(sums, *(contribution(member, 1) for member in range(3)))) == 1
