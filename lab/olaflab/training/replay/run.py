"""One replay: set the engine, send the schedule, measure, and put the engine back as it was."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from olafctl.queue.registers import DISPOSITIONS, rate_word
from olafctl.targets.interface import Registers, TimedFrame
from olafctl.testbed.model import Testbed
from olafctl.wire.layouts import BEAT_BYTES
from olafctl.wire.modes import Mode
from olaflab.training.replay.frames import Receptions, asynchronous, receptions, senders, updates
from olaflab.training.replay.measure import Measurement, measure
from olaflab.training.replay.schedule import Blocks, Indices, Schedule
from olaflab.training.replay.sums import Sums
from olaflab.training.replay.trace import Trace
from olafswitch.errors import BadInput, Problem


@dataclass(frozen=True)
class Setting:
    """The engine while a trace is replayed."""

    mode: Mode
    rate: int | None
    """Output rate in bit/s, of several engines the root's; None leaves the output unconstrained."""


@dataclass(frozen=True)
class Outcome:
    """A replay's setting, its figures, and the receptions they come from."""

    setting: Setting
    measurement: Measurement
    receptions: Receptions


class InVirtualTime(Protocol):
    """What a replay needs of a running target."""

    @property
    def queues(self) -> Mapping[str, Registers]: ...

    def replay(self, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]: ...


def replay(
    running: InVirtualTime,
    testbed: Testbed,
    trace: Trace,
    schedule: Schedule,
    blocks: Blocks,
    setting: Setting,
) -> Outcome:
    """Send the schedule, its gradients in ``blocks``, through a running engine in virtual time.

    What leaves is checked against what was sent: every frame is the exact sum of the updates it counts, where
    there is one engine.
    Raises BadInput when a frame does not fit a slot of the engine or a model its cluster's segments,
    OlafError where the target has no virtual time.
    """
    size = int(blocks.frame_bytes[0])
    room = min(engine.beats for engine in testbed.engines) * BEAT_BYTES
    if size > room:
        raise BadInput(
            Problem(
                f"frames of {size} bytes, but a slot of the engine holds {room}",
                remedy="replay smaller frames, or give the testbed's engine more beats",
            )
        )
    short = [cluster for cluster in asynchronous(testbed) if cluster.segments < blocks.segments]
    if short:
        raise BadInput(
            Problem(
                f"{blocks.segments} segments, but cluster {short[0].name} has {short[0].segments}",
                remedy="give the cluster as many `values` in the testbed, or replay larger frames",
            )
        )
    sums = Sums(testbed)
    with ExitStack() as stack:
        for engine, registers in running.queues.items():
            rate = rate_word(setting.rate) if engine == testbed.root.name else registers.read("rate")
            stack.enter_context(_set(registers, testbed, setting.mode, rate))
        sent = sums.sending(updates(testbed, trace, schedule, blocks))
        arrived = receptions(testbed, sums.checking(running.replay(sent)))
        counters = _counters(running)
    clusters = clusters_of(testbed)[schedule.worker]
    figures = measure(
        schedule.time, clusters, arrived, counters, blocks.segments, engines=len(testbed.engines)
    )
    # Partial sums of several engines are added up in an order that what leaves does not show.
    wrong = () if len(testbed.engines) > 1 else sums.wrong
    return Outcome(setting, replace(figures, violations=(*figures.violations, *wrong)), arrived)


def clusters_of(testbed: Testbed) -> Indices:
    """The cluster of each sender."""
    return np.array([testbed.cluster_of(worker).number for worker in senders(testbed)], dtype=np.int64)


def _counters(running: InVirtualTime) -> dict[str, int]:
    """What the queues have counted, taken together: what a lower one lets out comes in at the next."""
    together, *others = (registers.read_all() for registers in running.queues.values())
    for own in others:
        together["in_updates"] += own["in_updates"] - own["out_updates"]
        for name in ("merged", "appended", "resident_updates", *DISPOSITIONS):
            together[name] += own[name]
    return together


@contextmanager
def _set(registers: Registers, testbed: Testbed, mode: Mode, rate_now: int) -> Iterator[None]:
    rate, settings = registers.read("rate"), registers.settings()
    try:
        registers.write("rate", rate_now)
        for cluster in asynchronous(testbed):
            last = cluster.first + cluster.segments - 1
            for part in settings:
                if part.first <= last and cluster.first <= part.last:
                    registers.configure(
                        max(part.first, cluster.first),
                        min(part.last, last),
                        replace(part.settings, mode=mode, halted=False),
                    )
        yield
    finally:
        registers.write("rate", rate)
        for part in settings:
            registers.configure(part.first, part.last, part.settings)
