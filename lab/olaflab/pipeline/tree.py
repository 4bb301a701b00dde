"""Frames a second through several engines in virtual time, and whether a run repeats."""

import hashlib
import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from olafctl.membership.model import Member
from olafctl.targets import processes
from olafctl.targets.interface import Progress, Running, TimedFrame
from olafctl.testbed.model import Testbed, TestbedEngine
from olafctl.testbed.topology import Topology
from olafctl.wire.modes import Mode
from olaflab.pipeline.twin import encode_updates
from olaftest.deployment import deployed_testbed


@dataclass(frozen=True)
class TreeRun:
    """``frames`` went in, ``received`` came out at the parameter server."""

    frames: int
    received: int
    seconds: float
    """Wall-clock time."""
    cpu: float
    """Seconds of CPU of the process that holds all engines."""
    digest: str
    """Digest of everything that came out, with times and ports."""


def measure_tree(
    testbed: Testbed, progress: Progress, *, runs: int, count: int, size: int, gap: int
) -> list[TreeRun]:
    """Send ``count`` updates of ``size`` bytes, ``gap`` ns from one to the next, from each engine's first
    worker in turn; the same ``runs`` times. Queues are in FIFO mode and without a rate limit: every update
    counts.

    Raises BadInput for an impossible size, OlafError when the twin cannot be deployed.
    """
    free = _without_limits(testbed)
    sent = [(worker.port, encode_updates(free, size, worker)) for worker in _choose_senders(free)]
    with deployed_testbed(free, progress) as running:
        done = []
        for number in range(1, runs + 1):
            progress(f"run {number} of {runs}: {count} updates through {len(free.engines)} engines")
            done.append(_run_once(running, list(_time_frames(sent, count, gap))))
        return done


def _run_once(running: Running, frames: Sequence[TimedFrame]) -> TreeRun:
    twin = processes.find_processes(running.logs()[0].parent)
    before = sum(sum(process.cpu_times()[:2]) for process in twin)
    begin = time.perf_counter()
    received = list(running.replay(iter(frames)))
    seconds = time.perf_counter() - begin
    cpu = sum(sum(process.cpu_times()[:2]) for process in twin) - before
    digest = hashlib.sha256()
    for frame in received:
        digest.update(struct.pack("=QI", frame.time, frame.port) + frame.frame)
    return TreeRun(len(frames), len(received), seconds, cpu, digest.hexdigest())


def _without_limits(testbed: Testbed) -> Testbed:
    def unlimited(engine: TestbedEngine) -> TestbedEngine:
        return replace(engine, output_rate=None)

    return replace(
        testbed,
        target="twin",
        engines=tuple(map(unlimited, testbed.engines)),
        clusters=tuple(replace(cluster, mode=Mode.FIFO) for cluster in testbed.clusters),
    )


def _choose_senders(testbed: Testbed) -> Sequence[Member]:
    """Choose the first worker of each engine that has workers."""
    topology = Topology(testbed)
    return list({topology.home(worker): worker for worker in reversed(testbed.workers)}.values())


def _time_frames(sent: Sequence[tuple[int, Sequence[bytes]]], count: int, gap: int) -> Iterator[TimedFrame]:
    for index in range(count):
        turn, place = divmod(index, len(sent))
        port, frames = sent[place]
        yield TimedFrame(index * gap, port, frames[turn % len(frames)])
