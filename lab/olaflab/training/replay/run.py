"""Replays of a recorded training, and their measurements."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from olafctl.queue.registers import DISPOSITIONS, rate_word
from olafctl.targets.interface import Registers, TimedFrame
from olafctl.targets.settings import configured
from olafctl.testbed.model import Testbed
from olafctl.wire.layouts import BEAT_BYTES
from olafctl.wire.modes import Mode
from olaflab.fairness import jain_index
from olaflab.segments import ages_of_oldest_segment
from olaflab.training.replay.frames import (
    Receptions,
    Sums,
    asynchronous_clusters,
    collect_receptions,
    encode_updates,
    sending_workers,
)
from olaflab.training.replay.trace import GradientBlocks, Indices, ReplaySchedule, Trace
from olafswitch.errors import BadInput, Problem


@dataclass(frozen=True)
class ClusterAge:
    """Age-of-Model of one cluster in ns; None if none of it was received in time."""

    cluster: int
    received: int
    average: float | None
    """From the cluster's first update sent to its last."""
    mean_peak: float | None
    highest_peak: int | None


@dataclass(frozen=True)
class Measurement:
    """One replay, measured at the parameter server; of a model in segments, updates are its frames.

    Each update sent has exactly one outcome: it was received as (or as the newest part of) a frame, merged
    into one, replaced by a newer one of its worker or a better one of its cluster, or lost. A replaced
    update is neither lost nor delivered: what replaced it subsumes it (OLAF §3).
    """

    sent: int
    received: int
    """Frames at the parameter server."""
    merged: int
    replaced: int
    lost: int
    causes: dict[str, int]
    """Causes of loss by the engine's counters, only those that are not zero."""
    counts: dict[int, int]
    """Worker updates in a received frame → frames (OLAF figure 6)."""
    ages: tuple[ClusterAge, ...]
    fairness: float | None
    """Jain's index of the clusters' average ages (OLAF table 2)."""
    violations: tuple[str, ...]
    """What does not add up; empty unless the engine is defective."""

    @property
    def loss(self) -> float:
        """The share of updates lost, 0 … 1."""
        return self.lost / self.sent

    @property
    def average_age(self) -> float | None:
        """ns: the mean of the clusters' averages; None when a cluster has none."""
        return _mean_or_none([age.average for age in self.ages])

    @property
    def average_peak(self) -> float | None:
        """ns: the mean of the clusters' mean peaks; None when a cluster has none."""
        return _mean_or_none([age.mean_peak for age in self.ages])


def measure_replay(
    sent_time: Indices,
    sent_cluster: Indices,
    receptions: Receptions,
    counters: Mapping[str, int],
    segments: int = 1,
    *,
    engines: int = 1,
) -> Measurement:
    """Put together a replay's figures.

    ``sent_time`` (ns) and ``sent_cluster`` have one entry a frame sent, each of a segment below
    ``segments``; ``counters`` are the engine's registers afterwards, of several ``engines`` taken together.
    A cluster is observed from its first frame sent to its last: before and after that its age means nothing
    about the engine. Its age is its oldest segment's.
    """
    causes = {name: counters[name] for name in DISPOSITIONS if name.startswith("dropped_") and counters[name]}
    sizes, frames = np.unique(receptions.count, return_counts=True)
    ages = tuple(
        _mean_age(int(cluster), sent_time[sent_cluster == cluster], receptions, segments)
        for cluster in np.unique(sent_cluster)
    )
    averages = [age.average for age in ages if age.average is not None]
    return Measurement(
        sent=len(sent_time),
        received=len(receptions.time),
        merged=counters["merged"],
        replaced=_count_replaced(counters),
        lost=sum(causes.values()),
        causes=causes,
        counts=dict(zip(sizes.tolist(), frames.tolist(), strict=True)),
        ages=ages,
        fairness=jain_index(averages) if len(averages) == len(ages) else None,
        violations=tuple(find_violations(len(sent_time), receptions, counters, engines)),
    )


def find_violations(
    sent: int, receptions: Receptions, counters: Mapping[str, int], engines: int = 1
) -> list[str]:
    """Find every sentence of conservation that does not hold, with its figures."""
    outcomes = sum(counters[name] for name in DISPOSITIONS)
    out, merged, resident = counters["out_updates"], counters["merged"], counters["resident_updates"]
    delivered = int(receptions.count.sum())
    equal = [
        ("updates sent, and received by the engine", sent, counters["in_updates"]),
        (
            "updates in, and out + merged + replaced + dropped",
            counters["in_updates"],
            out + merged + outcomes,
        ),
        ("updates still in the engine, and none", resident, 0),
        ("frames out of the engine, and at the server", out, len(receptions.time)),
    ]
    # Of several engines one may drop what another has merged: a frame that counts many updates.
    if engines == 1 and counters["replaced_reward"] == counters["saturations"] == 0:
        equal.append(("updates counted by the frames, and out + merged", delivered, out + merged))
    return [f"{what}: {left} ≠ {right}" for what, left, right in equal if left != right]


def cumulative_counts(counts: Mapping[int, int]) -> tuple[list[int], list[float]]:
    """Return counts in rising order, and the share of frames with at most as many (OLAF figure 6)."""
    sizes = sorted(counts)
    shares = np.cumsum([counts[size] for size in sizes]) / sum(counts.values())
    return sizes, shares.tolist()


def relative_reduction(before: float | None, after: float | None) -> float | None:
    """Return the share by which ``after`` is less than ``before``; None where either is unknown."""
    return 1 - after / before if before and after is not None else None


def _count_replaced(counters: Mapping[str, int]) -> int:
    return sum(counters[name] for name in DISPOSITIONS if name.startswith("replaced_"))


def _mean_age(cluster: int, sent: Indices, receptions: Receptions, segments: int) -> ClusterAge:
    mine = receptions.cluster == cluster
    generated, time, segment = receptions.generated[mine], receptions.time[mine], receptions.segment[mine]
    start, end = int(sent.min()), int(sent.max())
    if start == end:
        return ClusterAge(cluster, len(time), None, None, None)
    ages = ages_of_oldest_segment(segment, generated, time, segments, start, end)
    peaks = ages.valid_peaks
    return ClusterAge(
        cluster=cluster,
        received=len(time),
        average=ages.average,
        mean_peak=ages.mean_peak,
        highest_peak=int(peaks.max()) if len(peaks) else None,
    )


def _mean_or_none(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) and known else None


@dataclass(frozen=True)
class Setting:
    """The engine while a trace is replayed."""

    mode: Mode
    rate: int | None
    """Output rate in bit/s, of several engines the root's; None leaves the output unconstrained."""


@dataclass(frozen=True)
class ReplayOutcome:
    """A replay's setting, its figures, and the receptions they come from."""

    setting: Setting
    measurement: Measurement
    receptions: Receptions


class InVirtualTime(Protocol):
    """What a replay needs of a running target."""

    @property
    def queues(self) -> Mapping[str, Registers]: ...

    def replay(self, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]: ...


def replay_trace(
    running: InVirtualTime,
    testbed: Testbed,
    trace: Trace,
    schedule: ReplaySchedule,
    blocks: GradientBlocks,
    setting: Setting,
) -> ReplayOutcome:
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
    short = [
        cluster for cluster in asynchronous_clusters(testbed) if cluster.segments < blocks.count_segments
    ]
    if short:
        raise BadInput(
            Problem(
                f"{blocks.count_segments} segments, but cluster {short[0].name} has {short[0].segments}",
                remedy="give the cluster as many `values` in the testbed, or replay larger frames",
            )
        )
    sums = Sums(testbed)
    with ExitStack() as stack:
        for engine, registers in running.queues.items():
            rate = rate_word(setting.rate) if engine == testbed.root.name else registers.read("rate")
            stack.enter_context(_configured(registers, testbed, setting.mode, rate))
        sent = sums.remember_sent(encode_updates(testbed, trace, schedule, blocks))
        arrived = collect_receptions(testbed, sums.check_received(running.replay(sent)))
        counters = _read_counters(running)
    clusters = clusters_of(testbed)[schedule.worker]
    figures = measure_replay(
        schedule.time, clusters, arrived, counters, blocks.count_segments, engines=len(testbed.engines)
    )
    # Partial sums of several engines are added up in an order that what leaves does not show.
    wrong = () if len(testbed.engines) > 1 else sums.wrong
    return ReplayOutcome(setting, replace(figures, violations=(*figures.violations, *wrong)), arrived)


def clusters_of(testbed: Testbed) -> Indices:
    """Return the cluster of each sender."""
    return np.array(
        [testbed.cluster_of(worker).number for worker in sending_workers(testbed)], dtype=np.int64
    )


def _read_counters(running: InVirtualTime) -> dict[str, int]:
    """Read what the queues have counted, taken together: what a lower one lets out comes in at the next."""
    together, *others = (registers.read_all() for registers in running.queues.values())
    for own in others:
        together["in_updates"] += own["in_updates"] - own["out_updates"]
        for name in ("merged", "appended", "resident_updates", *DISPOSITIONS):
            together[name] += own[name]
    return together


@contextmanager
def _configured(registers: Registers, testbed: Testbed, mode: Mode, rate_now: int) -> Iterator[None]:
    rate = registers.read("rate")
    spans = [(each.first, each.first + each.segments - 1) for each in asynchronous_clusters(testbed)]
    with configured(registers, spans, mode=mode, halted=False):
        try:
            registers.write("rate", rate_now)
            yield
        finally:
            registers.write("rate", rate)
