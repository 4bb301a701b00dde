"""The closed loop of OLAF §5: ACKs make workers send less, and the queue lose less."""

from __future__ import annotations

from functools import partial
from random import Random
from statistics import fmean

import numpy as np
import pytest

from olaf import ParameterServer, Worker
from olaf.policies import Plain
from olaf.transport.virtual import VirtualNetwork
from tests.engines import Bottleneck
from tests.testnet import SERVER, worker_address

CLUSTERS, SIZE, SLOTS = 8, 3, 4
INTERVAL, SECONDS = 0.1, 20.0


class Congested:
    """24 workers in 8 clusters offer an update every 100 ms, jittered, to a queue of 4 slots."""

    def __init__(self, rate: float, control: bool) -> None:
        addresses = [worker_address(number) for number in range(CLUSTERS * SIZE)]
        clusters = {address: f"c{number // SIZE}" for number, address in enumerate(addresses)}
        self.queue = Bottleneck(clusters, SLOTS, rate, window=3 * INTERVAL)
        self.network = VirtualNetwork(self.queue)
        self.server = ParameterServer(
            policy=partial(Plain, rate=1e-3),
            members={address[0]: cluster for address, cluster in clusters.items()},
            port=self.network.port(SERVER),
        )
        self.random = Random(1)
        self.chances: list[float] = []
        self.workers = [self._worker(number) for number in range(len(addresses))]
        if not control:
            for worker in self.workers:
                worker.control.draw = lambda now: True  # type: ignore[method-assign]
        self.network.run(SECONDS)

    @property
    def loss(self) -> float:
        return self.queue.seen["dropped"] / self.queue.seen["in"]

    def _worker(self, number: int) -> Worker:
        port = self.network.port(worker_address(number))
        worker = Worker(f"{SERVER[0]}:{SERVER[1]}", 50, port=port, seed=number)
        worker.begin(np.zeros(50, np.float32))
        self.network.at(self.random.random() * INTERVAL, partial(self._train, worker))
        return worker

    def _train(self, worker: Worker) -> None:
        self.chances.append(worker.probability)
        worker.offer(np.ones(50, np.float32), 0.0)
        worker.poll()
        pause = INTERVAL * (0.9 + 0.2 * self.random.random())
        self.network.at(self.network.time + pause, partial(self._train, worker))


def test_transmission_control_cuts_loss_from_25_to_5_percent() -> None:
    assert Congested(130.0, control=False).loss > 0.25
    assert Congested(130.0, control=True).loss < 0.05


def test_the_share_sent_is_what_p_s_says() -> None:
    lab = Congested(40.0, control=True)
    offered = sum(worker.counters.offered for worker in lab.workers)
    held = sum(worker.counters.held for worker in lab.workers)
    assert 1 - held / offered == pytest.approx(fmean(lab.chances), rel=0.05)
    assert lab.workers[0].status is not None
    assert lab.workers[0].status.active_clusters == CLUSTERS
