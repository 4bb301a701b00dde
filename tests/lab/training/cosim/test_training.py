"""Clusters train against a parameter server; every datagram crosses the P4 and the Verilog of a twin."""

from bisect import bisect
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt
import pytest

from olafctl.membership.model import Member
from olafctl.targets.interface import TimedFrame, of_root
from olafctl.wire.layouts import FrameType
from olafctl.wire.modes import Mode
from olafswitch.errors import BadInput
from olaftest.frames import OlafFrame

from .conftest import Recorded, TwinLab

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")

import olaf
from olaf.policies import Plain
from olaf.transport.virtual import VirtualNetwork

from olaflab.training.cosim.medium import NS, EngineMedium, address_of

Vector = npt.NDArray[np.float32]

DELAY = 500_000
INTERVAL, SECONDS = 0.01, 1.0
DELTA_T, V = 0.005, 200.0
VALUES = 336


@dataclass
class Offer:
    """One update that a worker had ready, and the probability at which it was sent."""

    worker: Member
    time: float
    probability: float
    sent: bool


@dataclass
class TwinTraining:
    """Twelve workers minimise |w - target|²/2 from noisy gradients; each of three clusters has a target."""

    lab: TwinLab
    seed: int
    offers: list[Offer] = field(default_factory=list)

    def __post_init__(self) -> None:
        testbed = self.lab.testbed
        self.session = Recorded(self.lab.running.virtual_time())
        self.medium = EngineMedium(self.session, testbed, DELAY)
        self.network = VirtualNetwork(self.medium)
        self.random = np.random.default_rng(self.seed)
        self.clusters = [cluster for cluster in testbed.clusters if testbed.mode_of(cluster) is Mode.OLAF]
        self.targets = [self.random.standard_normal(VALUES).astype(np.float32) for _ in self.clusters]
        (server,) = testbed.parameter_servers
        self.server = olaf.ParameterServer(
            policy=partial(Plain, rate=0.05),
            members={str(worker.ip): cluster.name for cluster in self.clusters for worker in cluster.workers},
            multicast=True,
            port=self.network.port(address_of(server)),
        )
        self.ends = [self._begin_worker(worker) for cluster in self.clusters for worker in cluster.workers]
        self.network.run(SECONDS + 0.1)
        self.session.close()

    def _begin_worker(self, worker: Member) -> olaf.Worker:
        host, port = self.server.address
        end = olaf.Worker(
            f"{host}:{port}",
            VALUES,
            segments=1,
            v=V,
            delta_t=DELTA_T,
            seed=self.seed + worker.replica,
            port=self.network.port(address_of(worker)),
        )
        weights = np.zeros(VALUES, np.float32)
        end.begin(weights)
        self.network.at(INTERVAL * self.random.random(), lambda: self._make_update(worker, end, weights))
        return end

    def _make_update(self, worker: Member, end: olaf.Worker, weights: Vector) -> None:
        for block in end.poll():
            weights[block.place] = block.values
        noise = 0.1 * self.random.standard_normal(VALUES).astype(np.float32)
        probability = end.probability
        sent = end.offer(self.targets[self.lab.testbed.cluster_of(worker).number] - weights + noise, 0.0)
        self.offers.append(Offer(worker, self.network.time, probability, sent))
        pause = INTERVAL * (0.9 + 0.2 * self.random.random())
        if self.network.time + pause < SECONDS:
            self.network.at(self.network.time + pause, lambda: self._make_update(worker, end, weights))

    def distances(self) -> list[float]:
        """Return how far each cluster is from its target, relative to where it began."""
        found = []
        for cluster, target in zip(self.clusters, self.targets, strict=True):
            weights = self.server.weights(cluster.name)
            assert weights is not None
            found.append(float(np.linalg.norm(weights - target) / np.linalg.norm(target)))
        return found

    def acks(self, worker: Member) -> tuple[list[float], list[OlafFrame]]:
        """Return when ``worker`` received ACKs, and these."""
        times, frames = [], []
        for item in self.session.left:
            frame = OlafFrame.decode(item.frame)
            if frame.frame_type is FrameType.ACK and frame.destination.ip == worker.ip:
                times.append((item.time + DELAY) / NS)
                frames.append(frame)
        return times, frames


@pytest.fixture(scope="module")
def training(lab: TwinLab) -> TwinTraining:
    return TwinTraining(lab, seed=1)


@pytest.fixture(scope="module")
def counted(lab: TwinLab, training: TwinTraining) -> dict[str, int]:
    assert training.offers
    return of_root(lab.running.queues).read_all()


def test_it_converges_though_the_queue_drops(training: TwinTraining, counted: dict[str, int]) -> None:
    assert max(training.distances()) < 0.05
    assert counted["dropped_full"] > 0
    assert not training.medium.refused


def test_updates_are_merged_and_every_loss_is_counted(
    training: TwinTraining, counted: dict[str, int]
) -> None:
    assert counted["merged"] > 0
    received = [OlafFrame.decode(item.frame) for item in training.session.left]
    updates = [frame for frame in received if frame.frame_type is FrameType.UPDATE]
    assert max(frame.count for frame in updates) > 1
    assert len(updates) == counted["out_updates"]
    assert counted["in_updates"] == sum(end.counters.sent for end in training.ends)
    applied = [training.server.counters(cluster.name) for cluster in training.clusters]
    assert 0 < sum(cluster.updates for cluster in applied) <= sum(frame.count for frame in updates)


def test_every_ack_reaches_every_member_with_the_status(training: TwinTraining) -> None:
    for cluster in training.clusters:
        received = [training.acks(worker) for worker in cluster.workers]
        assert len({tuple(times) for times, _ in received}) == 1
        for _, frames in received:
            assert frames
            assert all(frame.status is not None for frame in frames)
            assert {frame.status["slots"] for frame in frames if frame.status} == {2}
    assert {end.status.active_clusters for end in training.ends if end.status} == {3}


def test_p_s_follows_section_5(training: TwinTraining) -> None:
    """P_s = min(Q_max/N + v·max(Δ̂ - Δ_T, 0), 1), from the ACKs that the engine let out."""
    heard = {worker.ip: training.acks(worker) for worker in training.lab.testbed.workers}
    below_one = 0
    for offer in training.offers:
        times, frames = heard[offer.worker.ip]
        last = bisect(times, offer.time) - 1
        expected = 1.0
        if last >= 0:
            status = frames[last].status
            assert status is not None
            share = min(status["slots"] / status["active_clusters"], 1.0)
            expected = min(share + V * max(offer.time - times[last] - DELTA_T, 0.0), 1.0)
        assert offer.probability == pytest.approx(expected)
        below_one += expected < 1
    assert below_one > len(training.offers) / 4
    share_sent = np.mean([offer.sent for offer in training.offers])
    assert share_sent == pytest.approx(np.mean([offer.probability for offer in training.offers]), rel=0.05)


def test_one_seed_repeats_to_the_byte_and_another_does_not(lab: TwinLab, training: TwinTraining) -> None:
    again, other = TwinTraining(lab, seed=1), TwinTraining(lab, seed=2)
    assert again.session.entered == training.session.entered
    assert again.session.left == training.session.left
    assert again.offers == training.offers
    assert other.session.left != training.session.left


def test_an_address_that_the_testbed_does_not_have_is_named(lab: TwinLab) -> None:
    with closing(lab.running.virtual_time()) as session:
        network = VirtualNetwork(EngineMedium(session, lab.testbed))
        with pytest.raises(BadInput, match=r"10\.9\.9\.9"):
            network.port(("10.9.9.9", 1)).send(("10.0.0.254", 20300), b"x")
        with pytest.raises(BadInput, match=r"10\.8\.8\.8"):
            network.port(("10.0.1.1", 1)).send(("10.8.8.8", 20300), b"x")


def test_what_a_host_would_not_accept_is_counted_and_dropped(lab: TwinLab) -> None:
    session = Recorded(lab.running.virtual_time())
    medium = EngineMedium(session, lab.testbed)
    network = VirtualNetwork(medium)
    worker, other = lab.testbed.workers[:2]
    session.arrive(TimedFrame(0, worker.port, bytes.fromhex(other.mac.replace(":", "")) + bytes(50)))
    network.port(address_of(worker)).send(address_of(other), b"sound")
    network.run(0.01)
    session.close()
    assert len(session.left) == 2
    assert sum(medium.refused.values()) == 1
