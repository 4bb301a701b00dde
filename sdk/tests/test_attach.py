"""Any torch optimiser trains through a parameter server, its script unchanged."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Callable

import numpy as np
import pytest

from olaf.errors import OtherModel, OtherParameters, Taken
from olaf.policies import Plain
from olaf.server import ParameterServer
from olaf.transport.port import Address
from olaf.transport.segments import Vector
from olaf.transport.udp import UdpPort
from olaf.transport.virtual import Medium, VirtualNetwork
from tests.experience.parts import in_a_fork
from tests.testnet import SERVER, Lossy, Tap, acknowledge, weights_of, worker_address

pytest.importorskip("torch")
import torch

from olaf.torch.link import Link, attach

AT = f"{SERVER[0]}:{SERVER[1]}"
RATE = 0.5


class Trainer:
    """Linear regression towards one fixed target, on data of its own."""

    def __init__(
        self, network: VirtualNetwork, number: int, size: int = 20, lr: float = 0.02, **options: Any
    ) -> None:
        self.network = network
        torch.manual_seed(number)
        self.model = torch.nn.Linear(size, 1)
        self.target = torch.arange(size + 1, dtype=torch.float32) / size
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr)
        self.random = torch.Generator().manual_seed(number)
        self.initial = self.weights()
        options = {"rate": RATE, "port": network.port(worker_address(number)), "seed": number, **options}
        self.link: Link = attach(self.optimizer, AT, **options)

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


def test_worker_and_server_agree_after_each_exchange() -> None:
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


def test_the_reported_reward_travels_and_nan_changes_nothing() -> None:
    rewards: list[float] = []

    def watch(source: Address, to: Address, datagram: bytes) -> Iterable[bytes]:
        from olaf.transport import wire

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


def test_a_server_with_another_model_stops_the_script() -> None:
    network, _ = lab()
    Trainer(network, 0)
    with pytest.raises(OtherModel, match="21 values"):
        Trainer(network, 1, size=30)


@pytest.mark.parametrize("every", [0, -1])
def test_an_interval_that_never_comes_is_refused(every: int) -> None:
    network, _ = lab()
    with pytest.raises(ValueError, match="every"):
        Trainer(network, 0, every=every)


def parameters(*shapes: int) -> list[Any]:
    return [torch.nn.Parameter(torch.zeros(shape)) for shape in shapes]


def step_of(optimizer: Any, gradient: float) -> None:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = torch.full_like(parameter, gradient)
    optimizer.step()


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam])
def test_a_nan_gradient_is_dropped_and_training_goes_on(kind: Any, caplog: pytest.LogCaptureFixture) -> None:
    network, server = lab()
    (parameter,) = parameters(5)
    optimizer = kind([parameter], lr=0.1)
    link = attach(optimizer, AT, rate=RATE, port=network.port(worker_address(0)))
    for gradient in (1.0, float("nan"), float("inf"), 1.0, 1.0):
        step_of(optimizer, gradient)
        network.run(network.time + 0.1)
    link.exchange()
    assert link.worker.counters.broken == 2
    assert caplog.text.count("not finite in binary32") == 1
    assert torch.isfinite(parameter).all()
    assert float(parameter[0].detach()) < -0.2
    assert weights_of(server) == pytest.approx(parameter.detach().numpy(), abs=1e-5)


@pytest.mark.parametrize("reward", [1e300, -1e300, float("inf"), float("nan"), 3.4028236e38])
def test_a_reward_beyond_binary32_is_only_counted(reward: float) -> None:
    network, server = lab()
    trainer = Trainer(network, 0)
    trainer.link.reward(reward)
    trainer.step()
    network.run(network.time + 0.1)
    assert trainer.link.worker.counters.broken == 1
    assert server.counters().applied == 1


def test_several_optimisers_train_one_model_together() -> None:
    network, server = lab()
    one, other = parameters(3), parameters(4)
    first, second = torch.optim.SGD(one, lr=0.5), torch.optim.SGD(other, lr=0.25)
    link = attach([first, second], AT, rate=RATE, port=network.port(worker_address(0)))
    step_of(first, 1.0)
    assert link.worker.counters.offered == 0
    step_of(second, 1.0)
    network.run(network.time + 0.1)
    assert weights_of(server).tolist() == 3 * [-0.5] + 4 * [-0.25]


def test_a_second_optimiser_at_one_address_is_refused() -> None:
    server = ParameterServer("127.0.0.1:0", policy="plain")
    at = f"127.0.0.1:{server.address[1]}"
    first, second = (torch.optim.SGD(parameters(5), lr=0.1) for _ in range(2))
    link = attach(first, at)
    try:
        for spelt in (at, at.replace("127.0.0.1", "localhost")):
            with pytest.raises(Taken, match="trains one model"):
                attach(second, spelt)
        attach(second, at, local="127.0.0.1:0").close()
        link.close()
        link = attach(second, at)
    finally:
        link.close()
        server.close()


@pytest.mark.parametrize("way", ["unfrozen", "added"])
def test_parameters_trained_later_are_refused(way: str) -> None:
    network, _ = lab()
    shared, later = parameters(3, 4)
    later.requires_grad_(way == "added")
    optimizer = torch.optim.SGD([shared] if way == "added" else [shared, later], lr=0.1)
    attach(optimizer, AT, rate=RATE, port=network.port(worker_address(0)))
    step_of(optimizer, 1.0)
    if way == "added":
        optimizer.add_param_group({"params": [later]})
    else:
        later.requires_grad_(True)
    with pytest.raises(OtherParameters, match="4 values"):
        step_of(optimizer, 1.0)


def test_a_parameter_of_another_size_is_refused() -> None:
    network, _ = lab()
    (parameter,) = parameters(3)
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    attach(optimizer, AT, rate=RATE, port=network.port(worker_address(0)))
    parameter.data = torch.zeros(4)
    with pytest.raises(OtherParameters, match="another size"):
        step_of(optimizer, 1.0)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf"), 1e-50])
def test_a_rate_that_no_update_survives_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="γ"):
        attach(torch.optim.SGD(parameters(3), lr=0.1), AT, rate=rate)


def test_what_is_no_optimiser_is_named() -> None:
    with pytest.raises(TypeError, match="Linear is not a torch optimiser"):
        attach(torch.nn.Linear(2, 2), AT)


@pytest.mark.parametrize("narrow", [torch.bfloat16, torch.float16])
def test_the_rounding_of_narrow_parameters_is_no_update(narrow: torch.dtype) -> None:
    network, server = lab()
    trainers = []
    for number in range(3):
        parameter = torch.nn.Parameter(torch.ones(8, dtype=narrow))
        optimizer = torch.optim.SGD([parameter], lr=1e-3)
        port = network.port(worker_address(number))
        trainers.append((parameter, optimizer, attach(optimizer, AT, rate=RATE, port=port)))
    for parameter, optimizer, _ in trainers:
        parameter.grad = torch.linspace(-9, 9, 8).to(narrow)
        optimizer.step()
        network.run(network.time + 0.1)
    for _ in range(3):
        for _, _, link in trainers:
            before = weights_of(server)
            link.exchange()
            network.run(network.time + 0.1)
            assert np.array_equal(weights_of(server), before)
    for parameter, _, _ in trainers:
        assert torch.equal(parameter.detach(), torch.from_numpy(weights_of(server)).to(narrow))


def test_held_updates_that_overflow_do_not_reach_parameters() -> None:
    network, server = lab()
    (parameter,) = parameters(3)
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    link = attach(optimizer, AT, rate=RATE, port=network.port(worker_address(0)))
    draw = link.worker.control.draw
    link.worker.control.draw = lambda now: False  # type: ignore[method-assign]
    for _ in range(2):
        step_of(optimizer, -1e38)
    assert np.isinf(link.worker.held).all()
    acknowledge(link.worker, 1, np.ones(3, np.float32))
    step_of(optimizer, 0.0)
    assert torch.isfinite(parameter).all()
    link.worker.control.draw = draw  # type: ignore[method-assign]
    for _ in range(2):
        step_of(optimizer, 0.0)
        network.run(network.time + 0.1)
    assert (server.counters().unusable, server.counters().applied) == (1, 1)
    assert not link.worker.held.any()


def test_complex_parameters_keep_their_imaginary_part() -> None:
    network, server = lab()
    parameter = torch.nn.Parameter(torch.tensor([1 + 2j, 3 - 4j]))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    attach(optimizer, AT, rate=RATE, port=network.port(worker_address(0)))
    parameter.grad = torch.tensor([1j, 1 + 0j])
    optimizer.step()
    network.run(network.time + 0.1)
    assert weights_of(server).tolist() == [1, 1, 2, -4]


def test_a_step_that_is_compiled_is_shared() -> None:
    network, server = lab()
    optimizer = torch.optim.SGD(parameters(3), lr=1.0)
    attach(optimizer, AT, rate=RATE, port=network.port(worker_address(0)))
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = torch.ones_like(parameter)
    torch.compile(optimizer.step, backend="eager")()
    network.run(network.time + 0.1)
    assert weights_of(server).tolist() == [-1, -1, -1]


REWARDS = [np.float16(2), np.float32(1.5), np.int64(2), np.longdouble(2), np.array(2.0), torch.tensor(2.0)]


@pytest.mark.filterwarnings("error:overflow")
@pytest.mark.parametrize("reward", REWARDS, ids=lambda reward: str(reward.dtype))
@pytest.mark.parametrize("lr", [0.1, 1e-38, 3e38])
def test_a_script_that_raises_numpys_warnings_trains_on(reward: Any, lr: float) -> None:
    network, _ = lab()
    trainer = Trainer(network, 0, lr=lr, wait=30.0)
    with np.errstate(all="raise"):
        for _ in range(5):
            trainer.link.reward(reward)
            trainer.step()
            network.run(network.time + 0.1)
    assert trainer.link.worker.counters.offered == 5
    assert bool(trainer.link.worker.counters.broken) is (lr > 1)


def test_a_forked_process_is_refused_and_may_attach_by_itself() -> None:
    port = UdpPort(("127.0.0.1", 0))
    server = ParameterServer(policy=Plain, port=port)
    at = f"127.0.0.1:{port.address[1]}"
    parameter = torch.nn.Parameter(torch.zeros(4))
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    link = attach(optimizer, at)

    def step() -> None:
        parameter.grad = torch.ones_like(parameter)
        optimizer.step()

    def attach_anew() -> bool:
        link.close()
        other = attach(optimizer, at)
        step()
        return other.worker.drain(10.0)

    try:
        step()
        uses: list[Callable[[], object]] = [
            step,
            link.exchange,
            link.worker.poll,
            lambda: link.worker.wait(1.0),
            server.weights,
        ]
        assert [in_a_fork(use) for use in uses] == ["Taken"] * len(uses)
        assert in_a_fork(attach_anew) == "True"
        step()
        assert link.worker.drain(10.0) and server.counters().duplicates == 0
        assert server.weights().tolist() == [-1.5] * 4  # type: ignore[union-attr]
    finally:
        link.close()
        server.close()
