"""The staleness rule, where it is easiest to see: scaling to the last bit, what is learnt and forgotten."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from olafctl.queue import staleness
from olafctl.queue.registers import Command, IndexSettings
from olafctl.queue.software import build_software_queue
from olafctl.queue.verilate import build_queue
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import Flag, FrameType, Kind
from olafctl.wire.modes import Mode
from olaflab.queue.clockless import ClocklessQueue, build_clockless
from olaflab.queue.comparison import Comparison
from olaflab.queue.conform import GEOMETRIES
from olaflab.queue.model import AnyQueue, QueueModel, Sidecar
from olaflab.queue.traffic import Frame, update

from .conftest import NewQueue
from .test_rules import LIMIT, olaf

Build = Callable[[Geometry], Path]
SMALL = GEOMETRIES[4]
NEWEST = 65_530
WORDS = (
    *(0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000, 0x80800000, 0x07FFFFFF, 0x08000000),
    *(0x3F800000, 0xBF800001, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001, 0xFFC12345),
)


def ack_of(version: int, index: int = 0, kind: int = Kind.ACK) -> Frame:
    sidecar, frame = update(index, 0, b"", kind=FrameType.ACK, weights_version=version % 65536)
    return Sidecar(len(frame), kind=kind, index=sidecar.index), frame


def ack(queue: AnyQueue, version: int, index: int = 0, kind: int = Kind.ACK) -> None:
    queue.offer(*ack_of(version, index, kind))
    queue.settle(LIMIT)
    list(queue.take())


def sent(queue: AnyQueue, version: int, words: tuple[int, ...] = WORDS, flags: int = 0) -> list[int] | None:
    """What leaves of an update of these words; None when it does not."""
    payload = np.array(words, "<u4").tobytes()
    queue.offer(*update(0, 1, payload, weights_version=version % 65536, flags=flags))
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
    queue.offer(*update(0, 1, bytes(64), weights_version=NEWEST, flags=Flag.SUMMED, headers=b"\xff" * 42))
    queue.settle(LIMIT)
    (left,) = queue.take()
    assert (olaf(left.frame)["flags"], left.frame[40:42]) == (Flag.SUMMED | Flag.AGGREGATED, bytes(2))


def newest(queue: AnyQueue, index: int = 0) -> int | None:
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


BOUND, BEHIND, UPDATES, ACK_EVERY = 10, 50, 1000, 40


def straggle() -> Iterator[Frame]:
    """Every second update is too old, and an ACK comes only after 40: no two are dropped in a row."""
    for number in range(UPDATES):
        version = number // ACK_EVERY + 100
        if number % ACK_EVERY == 0:
            yield ack_of(version)
        yield update(0, 1, bytes(4), weights_version=version - BEHIND * (number % 2 == 0))


@pytest.mark.parametrize("build", [build_queue, build_software_queue])
def test_no_update_of_a_straggler_passes(build: Build) -> None:
    with AnyQueue(build(SMALL)) as queue:
        queue.registers.configure(0, 0, IndexSettings(stale_enable=1, stale_bound=BOUND))
        for frame in straggle():
            queue.offer(*frame)
            queue.settle(LIMIT)
        assert queue.registers.read("dropped_stale") == UPDATES // 2


def test_the_models_drop_every_update_of_a_straggler(new_queue: NewQueue) -> None:
    """The golden model, and the rules in C++ that receive the same instants."""
    comparison = Comparison(new_queue(SMALL), SMALL, ClocklessQueue(build_clockless(SMALL)))
    comparison.command(Command.SET, 0, 0, IndexSettings(stale_enable=1, stale_bound=BOUND))
    for frame in straggle():
        comparison.offer(*frame)
        comparison.settle()
    comparison.check_counters()
    assert comparison.golden.counters["dropped_stale"] == UPDATES // 2


def test_an_update_that_passes_ends_the_row(new_queue: NewQueue) -> None:
    """Also one that is dropped for another reason; fifteen, a fresh one, and fifteen are not thirty."""
    for mode in (Mode.FIFO, Mode.OLAF):
        queue = ruled(new_queue, BOUND)
        settings = IndexSettings(mode, stale_enable=1, stale_bound=BOUND, reward_enable=1)
        queue.registers.configure(0, 0, settings)
        ack(queue, NEWEST)
        queue.registers.write("hold", 1)
        for index in range(SMALL.slots):
            queue.offer(*update(index, 1, bytes(4), weights_version=NEWEST, reward=0x40000000))
        for _ in range(15):
            queue.offer(*update(0, 1, bytes(4), weights_version=NEWEST - BEHIND))
        queue.offer(*update(0, 2, bytes(4), weights_version=NEWEST, reward=0))
        for _ in range(15):
            queue.offer(*update(0, 1, bytes(4), weights_version=NEWEST - BEHIND))
        queue.settle(LIMIT)
        shown = queue.registers.read_all()
        assert shown["dropped_full" if mode is Mode.FIFO else "dropped_reward"] == 1
        assert (shown["dropped_stale"], newest(queue)) == (30, NEWEST)


def test_older_acks_and_stale_updates_are_counted_apart(new_queue: NewQueue) -> None:
    queue = ruled(new_queue, 0)
    for _ in range(15):
        ack(queue, NEWEST - 500)
    assert sent(queue, NEWEST - 3) is None
    assert newest(queue) == NEWEST
    ack(queue, NEWEST)
    for _ in range(15):
        assert sent(queue, NEWEST - 3) is None
    ack(queue, NEWEST - 500)
    assert newest(queue) == NEWEST
    for _ in range(15):
        assert sent(queue, NEWEST - 3) is None
    assert newest(queue) == NEWEST  # an ACK came in between, though it was not believed


@pytest.mark.parametrize("build", [build_queue, build_software_queue])
def test_an_ack_that_the_bypass_refuses_teaches_nothing(build: Build) -> None:
    with AnyQueue(build(SMALL)) as queue:
        ack(queue, NEWEST)
        sidecar, frame = ack_of(NEWEST + 1)
        queue.offer(replace(sidecar, size=65535), frame.ljust(513 * 64, b"\0"))
        queue.settle(LIMIT)
        assert queue.registers.read("dropped_bypass") == 1
        assert newest(queue) == NEWEST


def test_a_halted_index_learns_nothing_of_updates(new_queue: NewQueue) -> None:
    queue = ruled(new_queue, 0)
    halted = IndexSettings(halted=True, stale_enable=1, stale_bound=0)
    queue.registers.configure(0, 0, halted)
    ack(queue, NEWEST)
    for _ in range(16):
        assert sent(queue, NEWEST - 3) is None
    assert newest(queue) == NEWEST
    assert (queue.registers.read("dropped_halted"), queue.registers.read("dropped_stale")) == (16, 0)


def test_a_bound_that_is_not_a_version_is_refused(new_queue: NewQueue) -> None:
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
