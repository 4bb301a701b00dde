"""iSwitch rounds (iSwitch §3): one contribution of each member, one result a round; and commands."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from olafctl.queue.registers import DISPOSITIONS, Command, IndexSettings
from olafctl.wire import layouts
from olafctl.wire.frames import unpack
from olafctl.wire.layouts import GRADIENT_OFFSET, Flag, Kind
from olafctl.wire.modes import Mode
from olaflab.queue.model import Departure, QueueModel
from olaflab.queue.traffic import Frame, update
from olafswitch.errors import BadInput

LIMIT = 200_000
INDEX = 5
OLAF_AT = GRADIENT_OFFSET - layouts.OLAF.size


def gradients(value: float, count: int = 40) -> bytes:
    return np.full(count, value, "<f4").tobytes()


def contribution(member: int, round_: int = 1, value: float = 1.0, **fields: Any) -> Frame:
    size = fields.pop("values", 40)
    index = fields.pop("index", INDEX)
    return update(index, 100 + member, gradients(value, size), seq=round_, member=member, **fields)


def send(queue: QueueModel, *frames: Frame) -> list[Departure]:
    for sidecar, frame in frames:
        queue.offer(sidecar, frame)
    queue.settle(LIMIT)
    return list(queue.take())


def olaf(left: Departure) -> dict[str, int]:
    return unpack(layouts.OLAF, left.frame[OLAF_AT:])


def conserved(shown: dict[str, int]) -> bool:
    kept = sum(shown[name] for name in (*DISPOSITIONS, "out_updates", "merged", "resident_updates"))
    return shown["in_updates"] == kept


@pytest.fixture
def rounds_of(queue: QueueModel) -> QueueModel:
    """A queue whose INDEX sums rounds of three worker updates."""
    queue.registers.configure(INDEX, INDEX, IndexSettings(Mode.ISWITCH, threshold=3))
    return queue


def test_a_round_leaves_once_as_the_sum_of_its_members(rounds_of: QueueModel) -> None:
    frames = [
        contribution(0, value=1.5, gen_time=10, reward=0x3F800000, weights_version=7),
        contribution(1, value=2.0, gen_time=30, reward=0x40000000, weights_version=5, segment=2),
        contribution(2, value=4.0, gen_time=20, reward=0x3F000000, weights_version=6),
    ]
    assert send(rounds_of, *frames[:2]) == []
    (left,) = send(rounds_of, frames[2])
    assert left.frame[GRADIENT_OFFSET:] == gradients(7.5)
    assert olaf(left) == {
        **{"version": 1, "frame_type": 1, "epoch": 0, "flags": Flag.AGGREGATED, "count": 3, "seq": 1},
        **{"reward": 0x40000000, "gen_time": 30, "segment": 2, "weights_version": 5},
    }
    assert (left.sidecar.kind, left.sidecar.index, left.sidecar.member) == (Kind.RESULT, INDEX, 1)
    shown = rounds_of.registers.read_all()
    assert (shown["appended"], shown["merged"], shown["accumulating"], shown["occupancy"]) == (1, 2, 0, 0)
    assert conserved(shown)


def test_a_member_counts_once(rounds_of: QueueModel) -> None:
    assert send(rounds_of, contribution(0), contribution(0), contribution(1), contribution(0)) == []
    assert rounds_of.registers.read("dropped_duplicate") == 2
    (left,) = send(rounds_of, contribution(2))
    assert left.frame[GRADIENT_OFFSET:] == gradients(3)
    assert send(rounds_of, *(contribution(member) for member in range(3))) == []
    shown = rounds_of.registers.read_all()
    assert shown["dropped_late"] == 3 and conserved(shown)


def test_a_newer_round_supersedes_and_an_older_is_late(rounds_of: QueueModel) -> None:
    frames = [contribution(0, 7), contribution(1, 7), contribution(0, 8, 10.0), contribution(2, 7)]
    assert send(rounds_of, *frames) == []
    shown = rounds_of.registers.read_all()
    assert (shown["dropped_superseded"], shown["dropped_late"], shown["resident_updates"]) == (1, 1, 1)
    assert conserved(shown)
    (left,) = send(rounds_of, contribution(1, 8, 20.0), contribution(2, 8, 30.0))
    assert left.frame[GRADIENT_OFFSET:] == gradients(60)


def test_rounds_wrap(rounds_of: QueueModel) -> None:
    last = (1 << 32) - 1
    assert len(send(rounds_of, *(contribution(member, last) for member in range(3)))) == 1
    assert len(send(rounds_of, *(contribution(member, 0) for member in range(3)))) == 1
    assert send(rounds_of, contribution(0, last)) == []
    assert rounds_of.registers.read("dropped_late") == 1


def test_counts_add_up_to_the_threshold(rounds_of: QueueModel) -> None:
    """A contribution of another engine counts for all the workers below it."""
    assert send(rounds_of, contribution(0, count=2)) == []
    (left,) = send(rounds_of, contribution(1, count=2))
    assert olaf(left)["count"] == 4
    (alone,) = send(rounds_of, contribution(0, 2, count=3))
    header = olaf(alone)
    assert (header["count"], header["flags"], alone.sidecar.kind) == (3, Flag.AGGREGATED, Kind.RESULT)


@pytest.mark.parametrize(
    ("bad", "counter"),
    [
        (contribution(32), "dropped_member"),
        (contribution(255), "dropped_member"),
        (contribution(1, values=41), "dropped_mismatch"),
        (contribution(1, count=0), "dropped_header"),
        (contribution(1, udp_length=100), "dropped_length"),
        (contribution(1, index=16), "dropped_index"),
        ((replace(contribution(1)[0], size=226), contribution(1)[1]), "dropped_length"),
        ((contribution(1)[0], contribution(1)[1][:-4]), "dropped_truncated"),
    ],
)
def test_a_bad_contribution_leaves_the_sum_alone(rounds_of: QueueModel, bad: Frame, counter: str) -> None:
    assert send(rounds_of, contribution(0), bad) == []
    assert rounds_of.registers.read(counter) == 1
    (left,) = send(rounds_of, contribution(1), contribution(2))
    assert left.frame[GRADIENT_OFFSET:] == gradients(3)


def test_the_quota_leaves_slots_to_the_others(queue: QueueModel) -> None:
    queue.registers.configure(0, 15, IndexSettings(Mode.ISWITCH, threshold=2))
    assert queue.registers.read("accumulate_quota") == 4
    assert send(queue, *(contribution(0, index=index) for index in range(6))) == []
    shown = queue.registers.read_all()
    assert (shown["accumulating"], shown["dropped_quota"], shown["occupancy"]) == (4, 2, 4)
    assert conserved(shown)
    assert len(send(queue, contribution(1, index=0), contribution(0, index=5))) == 1
    assert queue.registers.read("accumulating") == 4


def test_a_new_threshold_applies_at_once(rounds_of: QueueModel) -> None:
    assert send(rounds_of, contribution(0), contribution(1)) == []
    rounds_of.registers.configure(INDEX, INDEX, IndexSettings(Mode.ISWITCH, threshold=2))
    (left,) = send(rounds_of)
    assert left.frame[GRADIENT_OFFSET:] == gradients(2)
    assert send(rounds_of, contribution(2)) == []
    assert rounds_of.registers.read("dropped_late") == 1


def test_fbcast_releases_a_partial_sum_and_reset_discards_it(rounds_of: QueueModel) -> None:
    assert send(rounds_of, contribution(0)) == []
    rounds_of.registers.command(Command.FBCAST, 0, 15)
    (left,) = send(rounds_of)
    assert (olaf(left)["count"], left.sidecar.kind) == (1, Kind.RESULT)
    assert send(rounds_of, contribution(0, 2)) == []
    rounds_of.registers.command(Command.RESET, INDEX, INDEX)
    rounds_of.registers.command(Command.FBCAST, INDEX, INDEX)
    assert send(rounds_of) == []
    shown = rounds_of.registers.read_all()
    assert (shown["forced"], shown["dropped_reset"], shown["resident_updates"]) == (1, 1, 0)
    assert conserved(shown)
    # The finished round is forgotten: round 1 counts again.
    assert len(send(rounds_of, *(contribution(member) for member in range(3)))) == 1


def test_a_halted_index_keeps_its_sum_until_it_goes_on(rounds_of: QueueModel) -> None:
    settings = IndexSettings(Mode.ISWITCH, threshold=3)
    assert send(rounds_of, contribution(0), contribution(1)) == []
    rounds_of.registers.configure(INDEX, INDEX, replace(settings, halted=True, threshold=2))
    assert send(rounds_of, contribution(2)) == []
    assert rounds_of.registers.read("dropped_halted") == 1
    rounds_of.registers.configure(INDEX, INDEX, settings)
    (left,) = send(rounds_of, contribution(2))
    assert left.frame[GRADIENT_OFFSET:] == gradients(3)


def test_leaving_the_mode_discards_the_sum(rounds_of: QueueModel) -> None:
    assert send(rounds_of, contribution(0)) == []
    rounds_of.registers.configure(INDEX, INDEX, IndexSettings())
    shown = rounds_of.registers.read_all()
    assert (shown["dropped_reset"], shown["resident_updates"], shown["occupancy"]) == (1, 0, 0)
    (left,) = send(rounds_of, contribution(1, value=9.0))
    assert (left.sidecar.kind, left.frame[GRADIENT_OFFSET:]) == (Kind.UPDATE, gradients(9))


def test_settings_are_those_of_each_index(queue: QueueModel) -> None:
    fifo = IndexSettings(
        Mode.FIFO, halted=True, threshold=65535, reward_enable=1, reward_threshold=0x3F800000
    )
    queue.registers.configure(3, 4, fifo)
    shown = [queue.registers.settings_of(index) for index in range(2, 6)]
    assert shown == [IndexSettings(), fifo, fifo, IndexSettings()]
    queue.registers.configure(2, 2, IndexSettings(Mode.ISWITCH, threshold=9))
    send(queue, contribution(7, 40, index=2, count=5))
    queue.registers.settings_of(2)
    names = ("get_state", "get_round", "get_count", "get_members_low", "get_members_high")
    assert [queue.registers.read(name) for name in names] == [1, 40, 5, 1 << 7, 0]


@pytest.mark.parametrize(
    ("first", "last", "settings"),
    [
        (4, 3, IndexSettings()),
        (0, 16, IndexSettings()),
        (16, 16, IndexSettings()),
        (0, 0xFFFFFFFF, IndexSettings()),
        (0, 3, IndexSettings(threshold=0)),
        (0, 3, IndexSettings(threshold=65536)),
    ],
)
def test_a_bad_command_changes_nothing(
    queue: QueueModel, first: int, last: int, settings: IndexSettings
) -> None:
    with pytest.raises(BadInput, match="refuses"):
        queue.registers.configure(first, last, replace(settings, mode=Mode.FIFO))
    assert queue.registers.read("command_error") == 1
    assert {queue.registers.settings_of(index) for index in range(16)} == {IndexSettings()}
    assert queue.registers.read("command_error") == 0


@pytest.mark.parametrize("code", [0, 5, 255])
def test_an_unknown_command_is_refused(queue: QueueModel, code: int) -> None:
    queue.registers.write("command", code)
    assert queue.registers.read("command_error") == 1


def test_commands_pass_between_updates_at_line_rate(queue: QueueModel) -> None:
    """A range of commands in a stream without a gap: each round is either whole or released by force."""
    queue.registers.configure(0, 15, IndexSettings(Mode.ISWITCH, threshold=4))
    rounds = 60
    for round_ in range(rounds):
        for member in range(4):
            queue.offer(*contribution(member, round_, 1.0, index=round_ % 4, values=48))
    for _ in range(20):
        queue.registers.command(Command.FBCAST, 0, 15)
    queue.settle(LIMIT)
    sums = [np.frombuffer(left.frame[GRADIENT_OFFSET:], "<f4") for left in queue.take()]
    shown = queue.registers.read_all()
    assert shown["forced"] > 0 and conserved(shown)
    assert len(sums) == rounds
    counted = sum(float(one[0]) for one in sums)
    assert counted + shown["dropped_late"] == 4 * rounds
