"""A member whose server is away trains on alone, and nothing of what it learnt meanwhile is lost."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from olaf.policies import Plain
from olaf.server import ParameterServer
from olaf.transport.port import Address
from olaf.transport.virtual import VirtualNetwork
from tests.testnet import SERVER, Lossy, Tap, weights_of, worker_address

pytest.importorskip("torch")

from tests.test_attach import RATE, Trainer, lab

STEP, OUTAGE = 0.05, 15.0


@pytest.mark.parametrize("cause", ["no checkpoint", "checkpoint", "engine"])
@pytest.mark.parametrize("members", [1, 4])
def test_an_outage_keeps_what_members_learnt_alone(
    cause: str, members: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    medium = Lossy()
    network = VirtualNetwork(medium)

    def serve() -> ParameterServer:
        place = tmp_path / "model.npz" if cause == "checkpoint" else None
        port = network.port(SERVER)
        return ParameterServer(policy=partial(Plain, rate=RATE), port=port, checkpoint=place, every=STEP)

    def train(seconds: float) -> None:
        for _ in range(round(seconds / STEP)):
            for trainer in trainers:
                trainer.step()
            network.run(network.time + STEP)

    server = serve()
    trainers = [Trainer(network, number, lr=0.0025) for number in range(members)]
    target = trainers[0].target.numpy()
    train(1.0)
    before = np.abs(weights_of(server) - target).max()
    if cause == "engine":
        medium.loss = 1.0
    else:
        network.remove(SERVER)
    train(OUTAGE)
    alone = max(np.abs(trainer.weights() - target).max() for trainer in trainers)
    medium.loss = 0.0
    server = server if cause == "engine" else serve()
    train(2.0)
    after = np.abs(weights_of(server) - target).max()
    assert alone < before / 3
    assert after < alone * 1.05
    for trainer in trainers:
        assert np.abs(trainer.weights() - target).max() < alone * 1.05
        assert trainer.link.worker.counters.outages == 1
    messages = [record.getMessage() for record in caplog.records]
    assert sum("no answer" in line for line in messages) == members
    assert sum("answers again after 15 s" in line for line in messages) == members


def test_a_second_outage_is_reported_too(caplog: pytest.LogCaptureFixture) -> None:
    medium = Lossy()
    network, _ = lab(medium)
    trainer = Trainer(network, 0)
    for medium.loss in (0.0, 1.0, 0.0, 1.0, 0.0):
        for _ in range(160):
            trainer.step()
            network.run(network.time + STEP)
    messages = [record.getMessage() for record in caplog.records]
    assert ["no answer" in line for line in messages] == [True, False, True, False]


def test_members_do_not_pull_back_those_that_trained_on() -> None:
    apart: set[Address] = set()
    network, server = lab(Tap(lambda source, to, frame: [] if apart & {source, to} else [frame]))
    trainers = [Trainer(network, number, lr=0.0025) for number in range(2)]
    target = trainers[0].target.numpy()
    for cut in (False, True, False):
        apart |= {worker_address(1)}
        if not cut:
            apart.clear()
        for _ in range(300):
            for trainer in trainers:
                trainer.step()
            network.run(network.time + STEP)
    assert np.abs(weights_of(server) - target).max() < 0.05


def test_a_program_that_began_alone_gives_its_present_weights() -> None:
    network = VirtualNetwork(Lossy())
    trainer = Trainer(network, 0, wait=0)
    for _ in range(100):
        trainer.step()
        network.run(network.time + STEP)
    alone = trainer.weights()
    server = ParameterServer(policy=partial(Plain, rate=RATE), port=network.port(SERVER))
    network.run(network.time + 1)
    assert np.abs(weights_of(server) - alone).max() < 1e-6
    trainer.step()
    assert np.abs(trainer.weights() - alone).max() < 0.1


def test_without_a_server_training_goes_on_alone_and_joins_later() -> None:
    network = VirtualNetwork(Lossy())
    with pytest.warns(UserWarning, match="no answer"):
        trainer = Trainer(network, 0, wait=1.0)
    for _ in range(50):
        trainer.step()
        network.run(network.time + 0.01)
    assert not np.array_equal(trainer.weights(), trainer.initial)
    server = ParameterServer(policy=partial(Plain, rate=RATE), port=network.port(SERVER))
    for _ in range(50):
        trainer.step()
        network.run(network.time + 0.05)
    trainer.link.exchange()
    assert trainer.weights() == pytest.approx(weights_of(server), abs=1e-5)
