"""Values at the edge of every field's width: a field that is one bit too short, anywhere, shows here."""

import pytest

from olafctl.queue.registers import DISPOSITIONS, Command, IndexSettings
from olafctl.wire import layouts
from olafctl.wire.frames import unpack_header
from olafctl.wire.modes import Mode
from olaftest.queue.conform import GEOMETRIES
from olaftest.queue.model import QueueModel
from olaftest.queue.traffic import Frame, make_update

from .conftest import NewQueue
from .test_commands import give
from .test_rules import LIMIT, gradients, olaf

INDEX = 5
SMALL, LARGE = GEOMETRIES[1], GEOMETRIES[3]
"""The geometries of 9 indices and 32 members, and of 1,024 and 64."""
SETTLED = (*DISPOSITIONS, "appended", "merged")


def fate(queue: QueueModel, frame: Frame) -> str:
    """Return the counter of an update's fate."""
    before = queue.registers.read_all()
    queue.offer(*frame)
    queue.settle(LIMIT)
    after = queue.registers.read_all()
    (name,) = [
        name
        for name in SETTLED
        if after[name] != before[name] and not (name == "appended" and "replaced" in name)
    ]
    return name


def after(queue: QueueModel, waiting: Frame, comes: Frame) -> str:
    """Return the counter of an update's fate when another update waits."""
    queue.reset()
    queue.registers.write("hold", 1)
    queue.offer(*waiting)
    queue.settle(LIMIT)
    return fate(queue, comes)


def in_round(queue: QueueModel, waiting: Frame, comes: Frame) -> dict[str, int]:
    """Return all counters after two contributions to rounds that do not end."""
    queue.reset()
    queue.registers.configure(INDEX, INDEX, IndexSettings(Mode.ISWITCH, threshold=65535))
    queue.offer(*waiting)
    queue.offer(*comes)
    queue.settle(LIMIT)
    return queue.registers.read_all()


def get(queue: QueueModel, index: int) -> dict[str, int]:
    assert give(queue, Command.GET, index, index) == 0
    names = ("get_state", "get_round", "get_count", "get_members_low", "get_members_high")
    return {name: queue.registers.read(name) for name in names}


def test_each_member_of_a_round_differs_from_every_other(new_queue: NewQueue) -> None:
    queue = new_queue(LARGE)
    queue.registers.configure(INDEX, INDEX, IndexSettings(Mode.ISWITCH, threshold=64))
    members = 0
    for member in range(64):
        frame = make_update(INDEX, member, gradients(1), member=member)
        assert fate(queue, frame) == ("merged" if member else "appended")
        members |= 1 << member
        shown = get(queue, INDEX)
        if member < 63:
            assert fate(queue, frame) == "dropped_duplicate"
            assert shown["get_count"] == member + 1
            assert (shown["get_members_low"], shown["get_members_high"]) == (
                members & 0xFFFFFFFF,
                members >> 32,
            )
    (left,) = queue.take_departures()
    assert (olaf(left.frame)["count"], left.frame[64:]) == (64, gradients(64))
    assert (shown["get_state"], shown["get_count"]) == (2, 0)


@pytest.mark.parametrize("bit", range(32))
def test_workers_and_rounds_that_differ_in_one_bit_differ(queue: QueueModel, bit: int) -> None:
    other = 1 << bit
    assert (
        after(queue, make_update(INDEX, 0, gradients(1)), make_update(INDEX, other, gradients(1))) == "merged"
    )
    assert (
        after(queue, make_update(INDEX, other, gradients(1)), make_update(INDEX, other, gradients(1)))
        == "replaced_worker"
    )
    for base in (0, 0x12345678, 0xFFFFFFFF):
        first = make_update(INDEX, 0, gradients(1), seq=base, member=0)
        ahead = in_round(
            queue, first, make_update(INDEX, 1, gradients(1), seq=(base + other) % 2**32, member=1)
        )
        behind = in_round(
            queue, first, make_update(INDEX, 1, gradients(1), seq=(base - other) % 2**32, member=1)
        )
        # At half of the range the two are equally far apart both ways: it counts as behind.
        assert (ahead["dropped_superseded"], ahead["dropped_late"]) == ((0, 1) if bit == 31 else (1, 0))
        assert (behind["dropped_superseded"], behind["dropped_late"]) == (0, 1)


@pytest.mark.parametrize("bit", range(48))
def test_times_and_policies_that_differ_in_one_bit_are_in_order(queue: QueueModel, bit: int) -> None:
    for base in (0, 0x123456789ABC, (1 << 48) - 1):
        headers = []
        for time in ((base + (1 << bit)) % 2**48, (base - (1 << bit)) % 2**48):
            queue.reset()
            queue.registers.write("hold", 1)
            weights_version = (base + (1 << bit % 15)) % 2**16
            queue.offer(
                *make_update(INDEX, 1, gradients(1), gen_time=base, weights_version=base % 2**16, seq=1)
            )
            queue.offer(
                *make_update(INDEX, 2, gradients(1), gen_time=time, weights_version=weights_version, seq=2)
            )
            queue.settle(LIMIT)
            queue.registers.write("hold", 0)
            queue.settle(LIMIT)
            (left,) = queue.take_departures()
            headers.append(unpack_header(layouts.OLAF, left.frame[64 - layouts.OLAF.size :]))
        assert [header["seq"] for header in headers] == ([1, 1] if bit == 47 else [2, 1])
        assert [header["weights_version"] for header in headers] == [base % 2**16] * 2


@pytest.mark.parametrize("bit", range(16))
def test_counts_and_thresholds_keep_every_bit(queue: QueueModel, bit: int) -> None:
    for enough in {(1 << bit) - 1, 1 << bit, (1 << bit) + 1, 65535} & set(range(2, 65536)):
        queue.reset()
        queue.registers.configure(INDEX, INDEX, IndexSettings(Mode.ISWITCH, threshold=enough))
        if enough > 2:
            queue.offer(*make_update(INDEX, 1, gradients(1), count=enough - 2, member=0))
            queue.offer(*make_update(INDEX, 1, gradients(1), count=1, member=1))
        else:
            queue.offer(*make_update(INDEX, 1, gradients(1), count=1, member=0))
        queue.settle(LIMIT)
        assert list(queue.take_departures()) == []
        assert get(queue, INDEX)["get_count"] == enough - 1
        queue.offer(*make_update(INDEX, 1, gradients(1), count=1, member=2))
        queue.settle(LIMIT)
        (left,) = queue.take_departures()
        assert olaf(left.frame)["count"] == enough


@pytest.mark.parametrize("values", [1 << bit for bit in range(9)])
def test_sizes_that_differ_in_one_bit_do_not_merge(queue: QueueModel, values: int) -> None:
    waiting = make_update(INDEX, 1, gradients(1, count=0))
    assert after(queue, waiting, make_update(INDEX, 2, gradients(1, count=values))) == "dropped_mismatch"
    assert after(queue, waiting, make_update(INDEX, 2, gradients(1, count=0))) == "merged"
