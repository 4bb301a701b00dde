"""Joining a cluster: olaf://cluster@engine, and what a worker does when the control plane begins again."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from olaf import ParameterServer, Worker
from olaf.errors import BadAddress, JoinRefused
from olaf.policies import Plain
from olaf.transport import wire
from olaf.transport.address import Cluster, parse
from olaf.transport.membership import signed
from olaf.transport.port import Address
from olaf.transport.virtual import VirtualNetwork
from tests.engines import QueueEngine
from tests.testnet import DELAY, SERVER, of, weights_of, worker_address

KEY = bytes.fromhex("5ec7e7")
CONTROL: Address = ("10.0.0.253", wire.UDP_PORT)


class Fabric:
    """Carries everything; control messages go to the engine's control plane, other epochs nowhere."""

    def __init__(self, engine: QueueEngine) -> None:
        self.engine = engine
        self.joins = 0

    def carry(self, network: VirtualNetwork, source: Address, to: Address, datagram: bytes, tos: int) -> None:
        arrival = network.time + DELAY
        if tos == wire.CONTROL_TOS:
            self.joins += datagram[0] == wire.ControlAction.JOIN
            for destination, answer in self.engine.receive(datagram, source):
                network.arrive(arrival, CONTROL, destination, answer)
        elif wire.Olaf.unpack(datagram).epoch == self.engine.epoch:
            network.arrive(arrival, source, to, datagram)


class Lab:
    def __init__(self, key: bytes = b"", segments: int = 2) -> None:
        self.engine = QueueEngine(SERVER, members=4, segments=segments, key=key)
        self.fabric = Fabric(self.engine)
        self.network = VirtualNetwork(self.fabric)
        self.server = ParameterServer(policy=partial(Plain, rate=1.0), port=self.network.port(SERVER))

    def worker(self, number: int = 0, key: str = "", cluster: str = "lander") -> Worker:
        where = f"olaf://{cluster}@{CONTROL[0]}"
        return Worker(where, 100, port=self.network.port(worker_address(number)), key=key, seed=number)

    def run_lab(self, seconds: float) -> None:
        self.network.run(self.network.time + seconds)


def test_the_answer_to_join_says_segments_server_and_epoch() -> None:
    lab = Lab(key=KEY)
    lab.engine.epoch = 6
    lab.server.begin("default", 6)
    worker = lab.worker(key=KEY.hex())
    assert worker.segments.count == 2
    worker.begin(np.zeros(100, np.float32))
    assert worker.wait(5.0)
    worker.offer(np.ones(100, np.float32), 1.0)
    lab.run_lab(1.0)
    assert lab.server.counters().applied == 2


@pytest.mark.parametrize(
    ("key", "cluster", "reason"), [("9e55", "lander", "key"), (KEY.hex(), "mars", "does not exist")]
)
def test_a_refusal_names_its_reason(key: str, cluster: str, reason: str) -> None:
    with pytest.raises(JoinRefused, match=reason):
        Lab(key=KEY).worker(key=key, cluster=cluster)


@pytest.mark.parametrize("reason", sorted(set(wire.Reason) - {wire.Reason.OK}))
def test_every_reason_has_words(reason: wire.Reason, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(
        self: QueueEngine, join: wire.Join, datagram: bytes, source: Address
    ) -> list[tuple[Address, bytes]]:
        return [self._answer(wire.ControlAction.JOIN, reason, join.nonce, source)]

    monkeypatch.setattr(QueueEngine, "_join", refuse)
    with pytest.raises(JoinRefused) as refused:
        Lab().worker()
    assert "reason" not in str(refused.value)


def test_a_worker_without_answers_joins_the_new_epoch() -> None:
    lab = Lab()
    worker = lab.worker()
    worker.begin(np.zeros(100, np.float32))
    assert worker.wait(5.0)
    worker.poll()
    lab.engine.new_job(3)
    lab.server.begin("default", 3)
    for _ in range(60):
        worker.offer(np.ones(100, np.float32), 1.0)
        lab.run_lab(0.1)
    assert worker.counters.joins == 2
    assert lab.server.counters().applied > 0
    newest = np.concatenate([block.values for block in worker.poll()])
    assert np.array_equal(newest, weights_of(lab.server))


def test_a_parameter_server_joins_and_follows_to_the_new_epoch() -> None:
    engine = QueueEngine(SERVER, members=4, segments=2, key=KEY)
    engine.epoch = 5
    network = VirtualNetwork(Fabric(engine))
    where = f"olaf://lander@{CONTROL[0]}"
    server = ParameterServer(
        policy=partial(Plain, rate=1.0), port=network.port(SERVER), cluster=where, key=KEY.hex()
    )
    worker = Worker(where, 100, port=network.port(worker_address(0)), key=KEY.hex())
    worker.begin(np.zeros(100, np.float32))
    assert worker.wait(5.0)
    engine.new_job(6)
    for _ in range(60):
        worker.offer(np.ones(100, np.float32), 1.0)
        network.run(network.time + 0.1)
    assert engine.seen["servers joined"] >= 2
    assert server.counters().applied > 0
    with pytest.raises(JoinRefused, match="key"):
        ParameterServer(port=network.port(("10.0.9.9", 1)), cluster=where, key="9e55")
    with pytest.raises(BadAddress, match="names no cluster"):
        ParameterServer(port=network.port(("10.0.9.8", 1)), cluster="10.0.0.1")


def test_silence_does_not_make_a_storm_of_joins() -> None:
    lab = Lab()
    worker = lab.worker()
    lab.engine.silent = True
    lab.server.close()
    for _ in range(600):
        worker.offer(np.ones(100, np.float32), 1.0)
        lab.run_lab(0.1)
    assert lab.fabric.joins <= 130


def test_a_halted_worker_holds_its_updates_until_resumed() -> None:
    lab = Lab(key=KEY)
    worker = lab.worker(key=KEY.hex())
    worker.begin(np.zeros(100, np.float32))
    assert worker.wait(5.0)
    own, other = worker_address(0), worker_address(1)
    resume = partial(wire.Halt, wire.ControlAction.HALT, 0)
    forged = [(resume(3, bytes(16)), b"forged", own), (resume(3, bytes(16)), KEY, other)]
    replayed = [(resume(1, bytes(16)), KEY, own)]
    halt = (wire.Halt(wire.ControlAction.HALT, 1, 2, bytes(16)), KEY, own)
    for message in (halt, *forged, *replayed):
        worker.receive(of(signed(*message)), CONTROL)
    assert not worker.offer(np.ones(100, np.float32), 1.0)
    worker.receive(of(signed(resume(3, bytes(16)), KEY, own)), CONTROL)
    assert worker.offer(np.ones(100, np.float32), 1.0)
    lab.run_lab(1.0)
    assert weights_of(lab.server) == pytest.approx(np.full(100, 2.0))


def test_closing_leaves() -> None:
    lab = Lab()
    lab.worker().close()
    lab.run_lab(1.0)
    assert lab.engine.seen["left"] == 1


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("10.0.0.254", ("10.0.0.254", 20300)),
        ("10.0.0.254:9", ("10.0.0.254", 9)),
        ("olaf://lander@10.0.0.1", Cluster("lander", ("10.0.0.1", 20300))),
        ("olaf://a@b@10.0.0.1:7", Cluster("a@b", ("10.0.0.1", 7))),
    ],
)
def test_addresses(text: str, meaning: object) -> None:
    assert parse(text) == meaning


@pytest.mark.parametrize(
    "text",
    [
        "",
        "host:port",
        "10.0.0.1:99999",
        "10.0.0..1",
        "x" * 64 + ".example",
        "olaf://10.0.0.1",
        "olaf://@10.0.0.1",
        "olaf://" + "x" * 33 + "@10.0.0.1",
    ],
)
def test_wrong_addresses_are_refused(text: str) -> None:
    with pytest.raises(BadAddress):
        parse(text)
