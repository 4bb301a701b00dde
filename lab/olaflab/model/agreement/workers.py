"""What ``olaflab gain`` predicts, compared with the SDK's own workers and parameter server, through the twin.

Their arrivals are theirs: which segment an update begins with, when ACKs come back and what transmission
control makes of them. Phases and jitter are drawn apart from the prediction's.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from random import Random

import numpy as np
import olaf
from olaf.policies import Plain
from olaf.transport.virtual import VirtualNetwork

from olafctl.control.serving import parameter_server
from olafctl.targets.interface import Running, of_root
from olafctl.testbed.model import Testbed
from olafctl.wire.modes import Mode
from olaflab.model.agreement.gain import MS, RATE, testbed
from olaflab.model.gain import Job, Spread, Way, gain, spread
from olaflab.training.cosim.medium import EngineMedium, address
from olafswitch.errors import OlafError, Problem
from olaftest.deployment import deployed

CASES = (
    Job(1800, 100 * MS, 4, 1, 1_000_000, 16, 0.1, 1500),
    Job(300, 10 * MS, 3, 6, 5 * RATE, 8, 0.1, 1500),
    Job(300, 3 * MS, 3, 12, 15 * RATE, 8, 0.1, 1500),
)
SEEDS = range(3)
"""Random seeds of the SDK's runs; a prediction has its own."""
_INTERVALS = 100
"""Intervals that each worker runs for."""
_SECONDS = 30.0
"""Within which every worker must have its first weights."""


@dataclass(frozen=True)
class Compared:
    """One case, one way; ages in ns."""

    job: Job
    way: Way
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


def compare(jobs: tuple[Job, ...], progress: Callable[[str], None]) -> Iterator[Compared]:
    """Each job, each way. Raises OlafError."""
    for number, job in enumerate(jobs):
        predicted = gain(job).outcomes
        bed = testbed(job)
        with deployed(bed, progress) as running:
            for way in Way:
                progress(f"the SDK, case {number + 1} of {len(jobs)}: {way}")
                found = [trained(job, way, bed, running, seed) for seed in SEEDS]
                loss, age = (spread(each) for each in zip(*found, strict=True))
                yield Compared(job, way, predicted[way].lost, loss, predicted[way].age, age)


def trained(job: Job, way: Way, bed: Testbed, running: Running, seed: int) -> tuple[float, float | None]:
    """The share of frames lost, and the mean of the clusters' average ages in ns. Raises OlafError."""
    registers = of_root(running.queues)
    registers.write("mode", (Mode.FIFO if way is Way.FIFO else Mode.OLAF).number)
    tolerance = 3 * job.interval / 1e9
    random = Random(seed)
    with closing(running.virtual_time()) as engine:
        network = VirtualNetwork(EngineMedium(engine, bed))
        host, number = address(bed.parameter_servers[0])
        server = parameter_server(bed, f"{host}:{number}", Plain, port=network.port((host, number)))
        workers = [
            olaf.Worker(
                f"{host}:{number}",
                job.values,
                segments=job.segments,
                control=way is Way.CONTROL,
                v=1 / tolerance,
                delta_t=tolerance,
                seed=random.getrandbits(31),
                port=network.port(address(worker)),
            )
            for worker in bed.workers
        ]
        for worker in workers:
            worker.begin(np.zeros(job.values, np.float32))
        if not network.run(_SECONDS, lambda: all(worker.begun for worker in workers)):
            raise OlafError(Problem("a worker was given no weights by the parameter server", "bench gain"))
        begin = network.time
        for worker in workers:
            _send(network, worker, job, begin + random.random() * job.interval / 1e9, random)
        network.run(begin + _INTERVALS * job.interval / 1e9)
        ages = [server.age_of_model(cluster.name) for cluster in bed.clusters]
        sent = sum(worker.counters.sent for worker in workers)
    known = [age for age in ages if age is not None]
    lost = registers.read("dropped_full")
    age = None if len(known) < len(ages) else sum(known) / len(known) * 1e9
    return lost / max(sent, 1), age


def _send(network: VirtualNetwork, worker: olaf.Worker, job: Job, turn: float, random: Random) -> None:
    """An update in every interval from ``turn`` on, late by up to the jitter's share of it."""

    def offer() -> None:
        worker.offer(gradient, 0.0)
        worker.poll()
        _send(network, worker, job, turn + job.interval / 1e9, random)

    gradient = np.zeros(job.values, np.float32)
    network.at(max(turn + random.random() * job.jitter * job.interval / 1e9, network.time), offer)
