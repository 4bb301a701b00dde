"""The staleness rule, where it is easiest to see: scaling to the last bit, what is learnt and forgotten."""

import numpy as np
import pytest

from olafctl.queue import staleness
from olafctl.queue.registers import Command, IndexSettings
from olafctl.wire.layouts import Flag, FrameType, Kind
from olaflab.queue.conform import GEOMETRIES
from olaflab.queue.model import QueueModel, Sidecar
from olaflab.queue.traffic import update

from .conftest import NewQueue
from .test_rules import LIMIT, olaf

SMALL = GEOMETRIES[4]
NEWEST = 65_530
WORDS = (
    *(0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000, 0x80800000, 0x07FFFFFF, 0x08000000),
    *(0x3F800000, 0xBF800001, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001, 0xFFC12345),
)


def ack(queue: QueueModel, version: int, index: int = 0, kind: int = Kind.ACK) -> None:
    sidecar, frame = update(index, 0, b"", kind=FrameType.ACK, policy=version % 65536)
    queue.offer(Sidecar(len(frame), kind=kind, index=sidecar.index), frame)
    queue.settle(LIMIT)
    list(queue.take())


def sent(queue: QueueModel, version: int, words: tuple[int, ...] = WORDS, flags: int = 0) -> list[int] | None:
    """What leaves of an update of these words; None when it does not."""
    payload = np.array(words, "<u4").tobytes()
    queue.offer(*update(0, 1, payload, policy=version % 65536, flags=flags))
    queue.settle(LIMIT)
    left = list(queue.take())
    return np.frombuffer(left[0].frame[64:], "<u4").tolist() if left else None


def ruled(new_queue: NewQueue, bound: int = 65535, shifts: int = 0) -> QueueModel:
    queue = new_queue(SMALL)
    queue.registers.write("stale_shifts_low", shifts & 0xFFFFFFFF)
    queue.registers.write("stale_shifts_high", shifts >> 32)
    queue.registers.configure(0, 4, IndexSettings(stale_enable=1, stale_bound=bound))
    ack(queue, NEWEST)
    return queue


@pytest.mark.parametrize("shift", range(16))
def test_lanes_are_divided_exactly_or_vanish(new_queue: NewQueue, shift: int) -> None:
    """By 2^shift where that is a normal number; what is not becomes zero of its sign."""
    queue = ruled(new_queue, shifts=shift << 4)
    values = np.array(WORDS, "<u4").view("<f4")
    with np.errstate(all="ignore"):
        exact = values.astype(np.float64) * 2.0**-shift
    normal = (np.abs(exact) >= np.finfo(np.float32).tiny) & np.isfinite(values)
    expected = np.where(normal, exact, np.copysign(0.0, values)).astype("<f4").view("<u4")
    stays = ~np.isfinite(values) if shift else np.ones(len(values), bool)
    assert sent(queue, NEWEST - 1) == np.where(stays, values.view("<u4"), expected).tolist()


@pytest.mark.parametrize("length", range(16))
def test_each_length_of_the_staleness_has_its_own_weight(new_queue: NewQueue, length: int) -> None:
    queue = ruled(new_queue, shifts=9 << 4 * length)
    first, last = (1 << length) >> 1, (1 << length) - 1
    one, scaled = [0x3F800000], [0x3F800000 - (9 << 23)]
    for behind in {first, last}:
        assert sent(queue, NEWEST - behind, (0x3F800000,)) == scaled
    for behind in {first - 1, last + 1} - {-1}:
        assert sent(queue, NEWEST - behind, (0x3F800000,)) == one


@pytest.mark.parametrize("bound", [0, 1, 8, 32766])
def test_the_bound_is_the_last_that_passes(new_queue: NewQueue, bound: int) -> None:
    queue = ruled(new_queue, bound)
    assert sent(queue, NEWEST - bound) is not None
    assert sent(queue, NEWEST - bound - 1) is None
    assert sent(queue, NEWEST + 1) is not None
    assert sent(queue, NEWEST - 32768) is not None  # half the range away it is neither
    assert queue.registers.read("dropped_stale") == 1


def test_a_sum_is_neither_dropped_nor_weighed(new_queue: NewQueue) -> None:
    queue = ruled(new_queue, 0, shifts=1 << 16)
    assert sent(queue, NEWEST - 9, flags=Flag.AGGREGATED) == list(WORDS)


def test_what_is_weighed_says_that_it_is(new_queue: NewQueue) -> None:
    queue = ruled(new_queue)
    queue.offer(*update(0, 1, bytes(64), policy=NEWEST, flags=Flag.SUMMED, headers=b"\xff" * 42))
    queue.settle(LIMIT)
    (left,) = queue.take()
    assert (olaf(left.frame)["flags"], left.frame[40:42]) == (Flag.SUMMED | Flag.AGGREGATED, bytes(2))


def newest(queue: QueueModel, index: int = 0) -> int | None:
    queue.registers.command(Command.GET, index, index)
    shown = queue.registers.read("get_newest")
    return shown & 0xFFFF if shown >> 16 else None


def test_only_an_ack_of_the_index_teaches_and_never_backwards(new_queue: NewQueue) -> None:
    queue = ruled(new_queue)
    assert (newest(queue), newest(queue, 1)) == (NEWEST, None)
    ack(queue, NEWEST + 100, kind=Kind.BYPASS)
    ack(queue, NEWEST + 100, kind=Kind.RESULT)
    ack(queue, NEWEST + 100, index=5)
    ack(queue, NEWEST - 1)
    ack(queue, NEWEST - 32768)
    assert newest(queue) == NEWEST
    ack(queue, NEWEST + 100)
    assert newest(queue) == (NEWEST + 100) % 65536
    queue.registers.command(Command.RESET, 0, 0)
    assert newest(queue) is None


def test_sixteen_older_acks_in_a_row_are_believed(new_queue: NewQueue) -> None:
    queue = ruled(new_queue)
    for _ in range(15):
        ack(queue, NEWEST - 500)
    ack(queue, NEWEST)
    for _ in range(15):
        ack(queue, NEWEST - 500)
    assert newest(queue) == NEWEST
    ack(queue, NEWEST - 500)
    assert newest(queue) == NEWEST - 500


def test_sixteen_stale_updates_in_a_row_are_the_last(new_queue: NewQueue) -> None:
    queue = ruled(new_queue, 0)
    for _ in range(15):
        assert sent(queue, NEWEST - 3) is None
    ack(queue, NEWEST)
    for _ in range(16):
        assert sent(queue, NEWEST - 3) is None
    assert newest(queue) is None
    assert sent(queue, NEWEST - 3) == list(WORDS)


def test_a_bound_that_is_no_version_is_refused(new_queue: NewQueue) -> None:
    queue = ruled(new_queue, 7)
    for wrong in (65536, 1 << 31):
        with pytest.raises(Exception, match="the queue refuses SET"):
            queue.registers.configure(0, 0, IndexSettings(stale_enable=1, stale_bound=wrong))
    assert queue.registers.settings_of(0).stale_bound == 7


def test_weights_are_the_nearest_powers_of_two() -> None:
    assert staleness.shifts(None) == (0, 0)
    for root in (1.0, 2.0, 3.0, 4.5):
        ks = staleness.weights(*staleness.shifts(root))
        assert ks[:2] == [0, 0]
        for length, k in enumerate(ks[1:], 1):
            behind = np.arange(1 << length - 1, 1 << length)
            assert abs(np.log2(behind).mean() / root - k) <= 0.5001
    assert staleness.weights(*staleness.shifts(3.0))[:9] == [0, 0, 0, 1, 1, 2, 2, 2, 3]
