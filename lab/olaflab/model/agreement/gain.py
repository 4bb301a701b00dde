"""Predictions of a job's gain, next to the twin and to the SDK's workers on it."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import olaf
from olaf.policies import Plain
from olaf.transport.virtual import VirtualNetwork

from olafctl.control.serving import parameter_server
from olafctl.targets.interface import Running, of_root
from olafctl.targets.testbeds import load_testbed
from olafctl.testbed.model import Testbed
from olafctl.wire.geometry import BEATS
from olafctl.wire.layouts import BEAT_BYTES
from olafctl.wire.modes import Mode
from olaflab.model.agreement.twin import encode_trace
from olaflab.model.gain import GainJob, QueueWay, Spread, compare_ways, make_scenario, spread_of_seeds
from olaflab.model.run import run_simulation
from olaflab.model.scenario import Trace
from olaflab.segments import ages_of_oldest_segment
from olaflab.training.cosim.medium import EngineMedium, address_of
from olafswitch.errors import OlafError, Problem
from olaftest.deployment import deployed_testbed
from olaftest.frames import OlafFrame, endpoint_of

MS = 1_000_000
RATE = 1_953_125
"""bit/s: the rate limiter's register holds its multiples exactly."""
ARRIVAL_CASES = (
    GainJob(300, 10 * MS, 10, 1, RATE, 8, 0.0, 1500),
    GainJob(300, 2 * MS, 10, 1, RATE, 8, 0.0, 1500),
    GainJob(300, 10 * MS, 3, 6, 5 * RATE, 8, 0.0, 1500),
    GainJob(300, 10 * MS, 3, 6, 15 * RATE, 8, 0.0, 1500),
    GainJob(300, 10 * MS, 3, 12, 5 * RATE, 8, 0.0, 1500),
    GainJob(300, 3 * MS, 5, 8, 20 * RATE, 8, 0.0, 1500),
    GainJob(60, 1 * MS, 4, 8, 3 * RATE, 8, 0.0, 1500),
    GainJob(60, 1 * MS, 4, 8, 3 * RATE, 4, 0.0, 1500),
    GainJob(1000, 20 * MS, 3, 2, 3 * RATE, 8, 0.0, 1500),
    GainJob(1000, 20 * MS, 3, 3, 3 * RATE, 8, 0.0, 1500),
)
_ARRIVAL_INTERVALS = 120
_INDICES = 16


@dataclass(frozen=True)
class ComparedArrivals:
    """One case, one way; ages in ns."""

    job: GainJob
    way: QueueWay
    predicted_loss: float
    measured_loss: float
    """On the twin, as a share of the updates."""
    predicted_age: float | None
    measured_age: float | None

    @property
    def agrees(self) -> bool:
        """Within 0.1 % of the updates, and of the age."""
        if abs(self.predicted_loss - self.measured_loss) > 0.001:
            return False
        if self.predicted_age is None or self.measured_age is None:
            return self.predicted_age is self.measured_age
        return abs(self.predicted_age - self.measured_age) <= 0.001 * self.measured_age


def compare_arrivals(
    jobs: tuple[GainJob, ...], progress: Callable[[str], None]
) -> Iterator[ComparedArrivals]:
    """Compare each job, with FIFO and with Olaf, in both models. Raises OlafError."""
    for number, job in enumerate(jobs):
        bed = make_testbed(job)
        with deployed_testbed(bed, progress) as running:
            for way, mode in ((QueueWay.FIFO, Mode.FIFO), (QueueWay.OLAF, Mode.OLAF)):
                progress(f"case {number + 1} of {len(jobs)}: {way}")
                of_root(running.queues).write("mode", mode.number)
                yield _compare_one(job, way, bed, running, number)


def make_testbed(job: GainJob) -> Testbed:
    """Make the job's engine, workers and parameter server."""
    beats = max(-(-job.frame_bytes // BEAT_BYTES), BEATS.default)
    text = f"""
name: gain
engine: {{indices: {_INDICES}, slots: {job.slots}, beats: {beats}, output_rate: {job.rate} b/s}}
ports: [{{number: 1, name: ps, transport: unix}}, {{number: 2, name: tor, transport: unix}}]
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters: [{{name: c, count: {job.clusters}, workers: {job.workers}, port: tor, ip: 10.1.0.1,
             values: {job.values}}}]
"""
    return load_testbed("gain.yaml", text)


def _compare_one(job: GainJob, way: QueueWay, bed: Testbed, running: Running, seed: int) -> ComparedArrivals:
    length = _ARRIVAL_INTERVALS * job.interval
    scenario = make_scenario(job, way, 0)
    trace = _draw_trace(job, scenario.engines[0].name, length, seed)
    predicted = run_simulation(replace(scenario, sources=(), trace=trace), length, warm_up=length // 10)
    ages = _mean_ages(running, trace, job, bed, length)
    measured = of_root(running.queues).read("dropped_full") / max(len(trace.time), 1)
    return ComparedArrivals(job, way, predicted.loss, measured, predicted.average_age, ages)


def _draw_trace(job: GainJob, engine: str, length: int, seed: int) -> Trace:
    """Draw every frame of every update, in order of time; an update's segments follow each other at once.

    Phases are random, and so is the segment that a worker's first update begins with; the next update begins
    with the next one, as the SDK does.
    """
    drawn = np.random.default_rng(seed)
    rows = []
    for cluster in range(job.clusters):
        for worker in range(job.workers):
            phase, first = int(drawn.integers(job.interval)), int(drawn.integers(job.segments))
            for turn, when in enumerate(range(phase, length + 1, job.interval)):
                order = ((first + turn + place) % job.segments for place in range(job.segments))
                rows += [(when, cluster, worker, segment) for segment in order]
    time, clusters, workers, segments = np.array(sorted(rows, key=lambda row: row[:3]), np.int64).T
    return Trace(engine, time, clusters, workers, job.frame_bytes, segment=segments)


def _mean_ages(running: Running, trace: Trace, job: GainJob, bed: Testbed, length: int) -> float | None:
    """Return the mean in ns over clusters of the average age of what reaches the parameter server."""
    cluster_of = {worker.ip: bed.cluster_of(worker).number for worker in bed.workers}
    received: list[list[tuple[int, int, int]]] = [[] for _ in bed.clusters]
    with closing(running.virtual_time()) as engine:
        for frame in encode_trace(bed, trace, endpoint_of(bed.parameter_servers[0])):
            engine.arrive(frame)
        for left in engine.advance(length).left:
            update = OlafFrame.decode(left.frame)
            received[cluster_of[update.source.ip]].append((update.segment, update.gen_time, left.time))
    ages = []
    for each in received:
        segment, born, seen = np.array(each, np.int64).reshape(-1, 3).T
        found = ages_of_oldest_segment(segment, born, seen, job.segments, length // 10, length)
        ages.append(found.average)
    known = [age for age in ages if age is not None]
    return sum(known) / len(known) if len(known) == len(ages) else None


SDK_CASES = (
    GainJob(1800, 100 * MS, 4, 1, 1_000_000, 16, 0.1, 1500),
    GainJob(300, 10 * MS, 3, 6, 5 * RATE, 8, 0.1, 1500),
    GainJob(300, 3 * MS, 3, 12, 15 * RATE, 8, 0.1, 1500),
)
SEEDS = range(3)
"""Random seeds of the SDK's runs; a prediction has its own."""
_INTERVALS = 100
"""Intervals that each worker runs for."""
_SECONDS = 30.0
"""Within which every worker must have its first weights."""


@dataclass(frozen=True)
class ComparedRuns:
    """One case, one way; ages in ns."""

    job: GainJob
    way: QueueWay
    predicted_loss: Spread
    measured_loss: Spread
    """The SDK's, as a share of the frames."""
    predicted_age: Spread
    measured_age: Spread

    @property
    def agrees(self) -> bool:
        """Whether the SDK's medians are within the prediction's extremes, or 1 % beside them."""
        loss, age = self.predicted_loss, self.predicted_age
        return (
            loss.lowest - 0.01 <= self.measured_loss.median <= loss.highest + 0.01
            and 0.99 * age.lowest <= self.measured_age.median <= 1.01 * age.highest
        )


def compare_runs(jobs: tuple[GainJob, ...], progress: Callable[[str], None]) -> Iterator[ComparedRuns]:
    """Compare each job, each way. Raises OlafError."""
    for number, job in enumerate(jobs):
        predicted = compare_ways(job).outcomes
        bed = make_testbed(job)
        with deployed_testbed(bed, progress) as running:
            for way in QueueWay:
                progress(f"the SDK, case {number + 1} of {len(jobs)}: {way}")
                found = [run_training(job, way, bed, running, seed) for seed in SEEDS]
                loss, age = (spread_of_seeds(each) for each in zip(*found, strict=True))
                yield ComparedRuns(job, way, predicted[way].lost, loss, predicted[way].age, age)


def run_training(
    job: GainJob, way: QueueWay, bed: Testbed, running: Running, seed: int
) -> tuple[float, float | None]:
    """Return the share of frames lost, and the mean of the clusters' average ages in ns. Raises OlafError."""
    registers = of_root(running.queues)
    registers.write("mode", (Mode.FIFO if way is QueueWay.FIFO else Mode.OLAF).number)
    tolerance = 3 * job.interval / 1e9
    random = Random(seed)
    with closing(running.virtual_time()) as engine:
        network = VirtualNetwork(EngineMedium(engine, bed))
        host, number = address_of(bed.parameter_servers[0])
        server = parameter_server(bed, f"{host}:{number}", Plain, port=network.port((host, number)))
        workers = [
            olaf.Worker(
                f"{host}:{number}",
                job.values,
                segments=job.segments,
                control=way is QueueWay.CONTROL,
                v=1 / tolerance,
                delta_t=tolerance,
                seed=random.getrandbits(31),
                port=network.port(address_of(worker)),
            )
            for worker in bed.workers
        ]
        for worker in workers:
            worker.begin(np.zeros(job.values, np.float32))
        if not network.run(_SECONDS, lambda: all(worker.begun for worker in workers)):
            raise OlafError(Problem("a worker was given no weights by the parameter server", "bench gain"))
        begin = network.time
        for worker in workers:
            _send_updates(network, worker, job, begin + random.random() * job.interval / 1e9, random)
        network.run(begin + _INTERVALS * job.interval / 1e9)
        ages = [server.age_of_model(cluster.name) for cluster in bed.clusters]
        sent = sum(worker.counters.sent for worker in workers)
    known = [age for age in ages if age is not None]
    lost = registers.read("dropped_full")
    age = None if len(known) < len(ages) else sum(known) / len(known) * 1e9
    return lost / max(sent, 1), age


def _send_updates(
    network: VirtualNetwork, worker: olaf.Worker, job: GainJob, turn: float, random: Random
) -> None:
    """Send an update in every interval from ``turn`` on, late by up to the jitter's share of it."""

    def offer() -> None:
        worker.offer(gradient, 0.0)
        worker.poll()
        _send_updates(network, worker, job, turn + job.interval / 1e9, random)

    gradient = np.zeros(job.values, np.float32)
    network.at(max(turn + random.random() * job.jitter * job.interval / 1e9, network.time), offer)
