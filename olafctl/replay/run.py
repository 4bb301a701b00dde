"""One replay: set the engine, send the schedule, measure, and put the engine back as it was."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from olafctl.errors import BadInput, Problem
from olafctl.queue.registers import MODE_FIFO, MODE_OLAF, rate_word
from olafctl.replay.frames import Receptions, receptions, updates
from olafctl.replay.measure import Measurement, measure
from olafctl.replay.schedule import Indices, Schedule
from olafctl.replay.trace import Trace
from olafctl.targets.interface import Registers, TimedFrame
from olafctl.testbed.model import Mode, Testbed
from olafctl.wire.layouts import BEAT_BYTES, GRADIENT_OFFSET

_MODES = {Mode.OLAF: MODE_OLAF, Mode.FIFO: MODE_FIFO}


@dataclass(frozen=True)
class Setting:
    """The engine while a trace is replayed."""

    mode: Mode
    rate: int | None
    """Output rate in bit/s; None leaves the output unconstrained."""


@dataclass(frozen=True)
class Outcome:
    """A replay's setting, its figures, and the receptions they come from."""

    setting: Setting
    measurement: Measurement
    receptions: Receptions


class InVirtualTime(Protocol):
    """What a replay needs of a running target."""

    @property
    def registers(self) -> Registers: ...

    def replay(self, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]: ...


def replay(
    running: InVirtualTime, testbed: Testbed, trace: Trace, schedule: Schedule, values: int, setting: Setting
) -> Outcome:
    """Send the schedule, ``values`` gradient values a frame, through a running engine in virtual time.

    Raises BadInput when such a frame does not fit a slot of the engine, OlafError where the target has no
    virtual time.
    """
    size, room = GRADIENT_OFFSET + 4 * values, testbed.engine.beats * BEAT_BYTES
    if size > room:
        raise BadInput(
            Problem(
                f"frames of {size} bytes, but a slot of the engine holds {room}",
                remedy="replay smaller frames, or give the testbed's engine more beats",
            )
        )
    with _set(running.registers, setting):
        arrived = receptions(testbed, running.replay(updates(testbed, trace, schedule, values)))
        counters = running.registers.read_all()
    figures = measure(schedule.time, clusters_of(testbed)[schedule.worker], arrived, counters)
    return Outcome(setting, figures, arrived)


def clusters_of(testbed: Testbed) -> Indices:
    """The cluster of each worker."""
    return np.array([worker.cluster for worker in testbed.workers], dtype=np.int64)


@contextmanager
def _set(registers: Registers, setting: Setting) -> Iterator[None]:
    wanted = {"mode": _MODES[setting.mode], "rate": rate_word(setting.rate)}
    before = {name: registers.read(name) for name in wanted}
    try:
        for name, value in wanted.items():
            registers.write(name, value)
        yield
    finally:
        for name, value in before.items():
            registers.write(name, value)
