"""Any torch optimiser trains through a parameter server, its script unchanged."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
import pytest

from olaf.errors import OtherModel
from olaf.policies import Plain
from olaf.port import Address
from olaf.segments import Vector
from olaf.server import ParameterServer
from olaf.virtual import Medium, VirtualNetwork
from tests.network import SERVER, Lossy, Tap, acknowledge, weights_of, worker_address

torch = pytest.importorskip("torch")
from olaf.optimizer import Link, attach  # noqa: E402 - needs torch

AT = f"{SERVER[0]}:{SERVER[1]}"
RATE = 0.5


class Trainer:
    """Linear regression towards one fixed target, on data of its own."""

    def __init__(self, network: VirtualNetwork, number: int, size: int = 20, **options: object) -> None:
        self.network = network
        torch.manual_seed(number)
        self.model = torch.nn.Linear(size, 1)
        self.target = torch.arange(size + 1, dtype=torch.float32) / size
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.02)
        self.random = torch.Generator().manual_seed(number)
        self.initial = self.weights()
        options = {"rate": RATE, "port": network.port(worker_address(number)), "seed": number, **options}
        self.link: Link = attach(self.optimizer, AT, **options)  # type: ignore[arg-type]

    def step(self) -> None:
        inputs = torch.randn(16, self.model.in_features, generator=self.random)
        wanted = inputs @ self.target[:-1] + self.target[-1]
        self.optimizer.zero_grad()
        torch.nn.functional.mse_loss(self.model(inputs)[:, 0], wanted).backward()
        self.optimizer.step()

    def weights(self) -> Vector:
        flat: Vector = torch.cat([p.detach().reshape(-1) for p in self.model.parameters()]).numpy().copy()
        return flat


def lab(medium: Medium | None = None) -> tuple[VirtualNetwork, ParameterServer]:
    network = VirtualNetwork(medium or Lossy())
    return network, ParameterServer(policy=partial(Plain, rate=RATE), port=network.port(SERVER))


@pytest.mark.parametrize("loss", [0.0, 0.3])
def test_workers_train_one_model_together(loss: float) -> None:
    network, server = lab(Lossy(loss=loss, spread=0.01, seed=2))
    trainers = [Trainer(network, number, every=2, wait=30.0) for number in range(3)]
    for _ in range(300):
        for trainer in trainers:
            trainer.step()
        network.run(network.time + 0.02)
    weights = weights_of(server)
    target = trainers[0].target.numpy()
    assert np.abs(weights - target).max() < 0.02
    for trainer in trainers:
        assert np.abs(trainer.weights() - target).max() < 0.05


def test_a_lone_worker_trains_as_if_it_were_alone() -> None:
    (network, _), (elsewhere, _) = lab(), lab()
    attached, alone = Trainer(network, 0), Trainer(elsewhere, 0, every=None)
    for _ in range(50):
        for trainer in (attached, alone):
            trainer.step()
        network.run(network.time + 0.1)
        assert attached.weights() == pytest.approx(alone.weights(), abs=1e-5)


def test_one_worker_and_the_server_have_the_same_weights_after_each_exchange() -> None:
    network, server = lab()
    trainer = Trainer(network, 0)
    for _ in range(20):
        trainer.step()
        network.run(network.time + 0.1)
        trainer.link.exchange()
        assert trainer.weights() == pytest.approx(weights_of(server), abs=1e-5)


def test_all_begin_with_the_first_ones_weights() -> None:
    network, server = lab()
    first, second = Trainer(network, 0), Trainer(network, 1)
    assert not np.array_equal(first.initial, second.initial)
    assert np.array_equal(first.weights(), first.initial)
    assert np.array_equal(second.weights(), first.initial)
    assert np.array_equal(weights_of(server), first.initial)


def test_updates_are_offered_every_so_many_steps() -> None:
    network, _ = lab()
    trainer = Trainer(network, 0, every=4)
    for _ in range(11):
        trainer.step()
    assert trainer.link.worker.counters.offered == 2


def test_progress_that_was_held_back_stays_on_top_of_new_weights() -> None:
    network, server = lab()
    held, other = Trainer(network, 0), Trainer(network, 1)
    held.link.worker.control.draw = lambda now: False  # type: ignore[method-assign]
    start = held.weights()
    held.step()
    progress = held.weights() - start
    other.step()
    network.run(network.time + 0.1)
    acknowledge(held.link.worker, server.versions()[0], weights_of(server))
    held.link.exchange()
    assert held.weights() == pytest.approx(weights_of(server) + progress, abs=1e-6)


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


def test_the_reported_reward_travels_and_no_number_changes_nothing() -> None:
    rewards: list[float] = []

    def watch(source: Address, to: Address, datagram: bytes) -> Iterable[bytes]:
        from olaf import wire

        header = wire.Olaf.unpack(datagram)
        if header.frame_type == wire.FrameType.UPDATE:
            rewards.append(header.reward)
        return [datagram]

    network, _ = lab(Tap(watch))
    trainer = Trainer(network, 0)
    for reward in (None, -200.5, float("nan"), 17.0):
        if reward is not None:
            trainer.link.reward(reward)
        trainer.step()
    assert rewards == [float("-inf"), -200.5, -200.5, 17.0]


def test_closing_leaves_the_optimiser_as_it_was() -> None:
    network, _ = lab()
    trainer = Trainer(network, 0)
    trainer.link.close()
    trainer.step()
    assert trainer.link.worker.counters.offered == 0


def test_a_server_with_another_model_stops_the_script_before_it_trains() -> None:
    network, _ = lab()
    Trainer(network, 0)
    with pytest.raises(OtherModel, match="21 values"):
        Trainer(network, 1, size=30)


@pytest.mark.parametrize("every", [0, -1])
def test_an_interval_that_never_comes_is_refused(every: int) -> None:
    network, _ = lab()
    with pytest.raises(ValueError, match="every"):
        Trainer(network, 0, every=every)
