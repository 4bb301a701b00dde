"""The staleness rule, where it is easiest to see: scaling to the last bit, versions learnt and forgotten."""

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
from olafctl.wire.layouts import FrameKind, FrameType
from olaftest.queue.clockless import ClocklessQueue, build_clockless
from olaftest.queue.comparison import QueueComparison
from olaftest.queue.conform import GEOMETRIES
from olaftest.queue.model import AnyQueue, QueueModel, Sidecar
from olaftest.queue.traffic import Frame, make_update

from .conftest import NewQueue
from .test_rules import LIMIT

Build = Callable[[Geometry], Path]
SMALL = GEOMETRIES[4]
NEWEST = 65_530
WORDS = (
    *(0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000, 0x80800000, 0x07FFFFFF, 0x08000000),
    *(0x3F800000, 0xBF800001, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001, 0xFFC12345),
)


def ack_of(version: int, index: int = 0, kind: int = FrameKind.ACK) -> Frame:
    sidecar, frame = make_update(index, 0, b"", kind=FrameType.ACK, weights_version=version % 65536)
    return Sidecar(len(frame), kind=kind, index=sidecar.index), frame


def ack(queue: AnyQueue, version: int, index: int = 0, kind: int = FrameKind.ACK) -> None:
    queue.offer(*ack_of(version, index, kind))
    queue.settle(LIMIT)
    list(queue.take_departures())


def sent(queue: AnyQueue, version: int, words: tuple[int, ...] = WORDS, flags: int = 0) -> list[int] | None:
    """Return the words of an update of ``words`` that leaves; None when it does not."""
    payload = np.array(words, "<u4").tobytes()
    queue.offer(*make_update(0, 1, payload, weights_version=version % 65536, flags=flags))
    queue.settle(LIMIT)
    left = list(queue.take_departures())
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
    """Division is by 2^shift where the result is a normal number; other results become zero of its sign."""
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
    assert sent(queue, NEWEST - 32768) is not None  # half the range away, it is neither
    assert queue.registers.read("dropped_stale") == 1


def newest(queue: AnyQueue, index: int = 0) -> int | None:
    queue.registers.command(Command.GET, index, index)
    shown = queue.registers.read("get_newest")
    return shown & 0xFFFF if shown >> 16 else None


BOUND, BEHIND, UPDATES, ACK_EVERY = 10, 50, 1000, 40


def straggle() -> Iterator[Frame]:
    """Yield updates of which every second one is too old, and an ACK only after 40: no two drop in a row."""
    for number in range(UPDATES):
        version = number // ACK_EVERY + 100
        if number % ACK_EVERY == 0:
            yield ack_of(version)
        yield make_update(0, 1, bytes(4), weights_version=version - BEHIND * (number % 2 == 0))


@pytest.mark.parametrize("build", [build_queue, build_software_queue])
def test_no_update_of_a_straggler_passes(build: Build) -> None:
    with AnyQueue(build(SMALL)) as queue:
        queue.registers.configure(0, 0, IndexSettings(stale_enable=1, stale_bound=BOUND))
        for frame in straggle():
            queue.offer(*frame)
            queue.settle(LIMIT)
        assert queue.registers.read("dropped_stale") == UPDATES // 2


def test_the_models_drop_every_update_of_a_straggler(new_queue: NewQueue) -> None:
    """The models are the golden model, and the rules in C++ that receive the same instants."""
    comparison = QueueComparison(new_queue(SMALL), SMALL, ClocklessQueue(build_clockless(SMALL)))
    comparison.command(Command.SET, 0, 0, IndexSettings(stale_enable=1, stale_bound=BOUND))
    for frame in straggle():
        comparison.offer(*frame)
        comparison.settle()
    comparison.check_counters()
    assert comparison.golden.counters["dropped_stale"] == UPDATES // 2


@pytest.mark.parametrize("build", [build_queue, build_software_queue])
def test_an_ack_that_the_bypass_refuses_teaches_nothing(build: Build) -> None:
    with AnyQueue(build(SMALL)) as queue:
        ack(queue, NEWEST)
        sidecar, frame = ack_of(NEWEST + 1)
        queue.offer(replace(sidecar, size=65535), frame.ljust(513 * 64, b"\0"))
        queue.settle(LIMIT)
        assert queue.registers.read("dropped_bypass") == 1
        assert newest(queue) == NEWEST


def test_weights_are_the_nearest_powers_of_two() -> None:
    assert staleness.shift_words(None) == (0, 0)
    for root in (1.0, 2.0, 3.0, 4.5):
        ks = staleness.weights_of(*staleness.shift_words(root))
        assert ks[:2] == [0, 0]
        for length, k in enumerate(ks[1:], 1):
            behind = np.arange(1 << length - 1, 1 << length)
            assert abs(np.log2(behind).mean() / root - k) <= 0.5001
    assert staleness.weights_of(*staleness.shift_words(3.0))[:9] == [0, 0, 0, 1, 1, 2, 2, 2, 3]
