"""Any torch optimiser trains as a replica, its script unchanged: every member has the same weights and
moments.
"""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

from olaf.errors import JoinRefused, OtherParameters
from olaf.replicas.replica import Replica
from olaf.transport.port import Address
from olaf.transport.segments import Vector
from olaf.transport.udp import UdpPort
from olaf.transport.virtual import VirtualNetwork
from tests.engines import SumEngine, SumNetwork
from tests.testnet import SERVER, gradient, worker_address

pytest.importorskip("torch")
import torch

from olaf.torch.link import attach
from olaf.torch.replicated import Optimized
from tests.ddp_replicated import OPTIONS, STEPS, Heads, make, play
from tests.test_distributed import job

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.01),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.01),
    "rmsprop": lambda parameters: torch.optim.RMSprop(parameters, lr=0.01),
}


class EnginePort:
    """An engine behind a real socket, and a task of 8 values for each of its members."""

    def __init__(self, members: list[Address]) -> None:
        self.members = members
        self.port = UdpPort(("127.0.0.1", 0))
        self.engine = SumEngine(len(members), 1)
        self.port.serve(self)

    def receive(self, run: Any, source: Address) -> None:
        for datagram in run:
            left = self.engine.update(source, bytes(datagram))
            if left is not None:
                for member in self.members:
                    self.port.send(member, bytes([left[0] & 0xF0 | 4]) + left[1:])

    def tick(self) -> None:
        return None


def model(seed: int) -> Any:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))


def train(
    number: int, make: Callable[[Any], Any], ports: list[UdpPort], server: Address, ends: dict[int, Any]
) -> None:
    net = model(number)
    optimizer = make(net.parameters())
    others = [port.address for port in ports if port is not ports[number]]
    link = attach(
        optimizer,
        f"{server[0]}:{server[1]}",
        mode="replica",
        peers=others,
        port=ports[number],
        until=40,
        staleness=2,
    )
    random = torch.Generator().manual_seed(number)
    while not link.done:
        inputs = torch.randn(32, 8, generator=random)
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(inputs)[:, 0], inputs.sum(1))
        loss.backward()
        optimizer.step()
    link.close()
    ends[number] = net.state_dict(), optimizer.state_dict()


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_scripts_end_with_the_same_weights_and_optimiser_states(name: str) -> None:
    torch.set_num_threads(1)
    ports = [UdpPort(("127.0.0.1", 0)) for _ in range(3)]
    engine = EnginePort([port.address for port in ports])
    ends: dict[int, Any] = {}
    scripts = [
        threading.Thread(target=train, args=(number, OPTIMIZERS[name], ports, engine.port.address, ends))
        for number in range(3)
    ]
    try:
        for script in scripts:
            script.start()
        for script in scripts:
            script.join(120)
    finally:
        engine.port.close()
    assert sorted(ends) == [0, 1, 2]
    assert same(ends[0], ends[1]) and same(ends[0], ends[2])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_state_that_was_saved_steps_on_bit_for_bit(name: str) -> None:
    one, other = (Optimized([OPTIMIZERS[name](model(seed).parameters())]) for seed in (1, 2))
    assert one.manifest == other.manifest
    for seed in range(3):
        one.step(gradient(seed, 61))
    other.load(one.save())
    for seed in range(3, 6):
        one.step(gradient(seed, 61))
        other.step(gradient(seed, 61))
    assert np.array_equal(one.weights, other.weights)
    assert one.save() == other.save()


@pytest.mark.parametrize("state", [b"", b"garbage", b"PK\x03\x04"])
def test_what_is_no_state_is_refused(state: bytes) -> None:
    with pytest.raises(ValueError):
        Optimized([OPTIMIZERS["sgd"](model(1).parameters())]).load(state)


def pair(second: Callable[[Any], Any], net: Any) -> tuple[VirtualNetwork, Replica]:
    """Make a member that founded a training of Adam, and another one that asks to join it."""
    addresses = [worker_address(number) for number in range(3)]
    network = VirtualNetwork(SumNetwork(SERVER, [addresses], 3))
    at = f"{SERVER[0]}:{SERVER[1]}"
    replicas = [
        Replica(
            at,
            Optimized([make(net_.parameters())]),
            peers=[other for other in addresses if other != address],
            port=network.port(address),
        )
        for address, make, net_ in zip(
            addresses, (OPTIMIZERS["adam"], OPTIMIZERS["adam"], second), (model(1), model(1), net)
        )
    ]
    network.run(5.0)
    assert replicas[0].joined and replicas[1].joined
    return network, replicas[2]


@pytest.mark.parametrize(
    ("second", "net", "message"),
    [
        (lambda p: torch.optim.Adam(p, lr=0.02), model(1), "lr=0.01"),
        (OPTIMIZERS["sgd"], model(1), "torch.optim.sgd.SGD' here"),
        (OPTIMIZERS["adam"], torch.nn.Linear(60, 1), "float32 [6, 8]' there"),
        (OPTIMIZERS["adam"], torch.nn.Linear(8, 1), "1 segments of 61 values' there"),
    ],
)
def test_another_model_or_optimiser_is_refused_with_what_differs(second: Any, net: Any, message: str) -> None:
    _, refused = pair(second, net)
    assert isinstance(refused.failure, JoinRefused)
    assert message in str(refused.failure) and "\n" not in str(refused.failure)
    assert refused.version == 0 and not refused.joined


def test_changed_settings_end_a_members_training() -> None:
    addresses = [worker_address(0)]
    network = VirtualNetwork(SumNetwork(SERVER, [addresses], 1))
    net = model(3)
    optimizer = OPTIMIZERS["adam"](net.parameters())
    link = attach(
        optimizer, f"{SERVER[0]}:{SERVER[1]}", mode="replica", port=network.port(addresses[0]), staleness=0
    )
    before: list[Vector] = []
    for step in range(5):
        optimizer.zero_grad()
        net(torch.ones(4, 8)).sum().backward()
        optimizer.step()
        before.append(link.replica.weights()[1])
        assert link.version == step + 1
    optimizer.param_groups[0]["lr"] = 0.5
    with pytest.raises(OtherParameters, match="settings"):
        optimizer.step()
    assert np.array_equal(link.replica.weights()[1], before[-1])
    link.close()
    optimizer.step()  # its own again
    with pytest.raises(ValueError, match="either 'server' or 'replica'"):
        attach(optimizer, "10.0.0.1", mode="other")  # type: ignore[call-overload]


def members(count: int, script: Callable[[int, Any], None], **options: Any) -> None:
    """Run ``script(number, attach)`` in a thread for each member of one training."""
    ports = [UdpPort(("127.0.0.1", 0)) for _ in range(count)]
    engine = EnginePort([port.address for port in ports])
    failed: list[BaseException] = []

    def run_member(number: int) -> None:
        others = [port.address for port in ports if port is not ports[number]]
        at = f"127.0.0.1:{engine.port.address[1]}"
        try:
            script(number, partial(
                attach, server=at, mode="replica", peers=others, port=ports[number], staleness=0, **options
            ))  # fmt: skip
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run_member, args=(number,)) for number in range(count)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
    finally:
        engine.port.close()
    if failed:
        raise failed[0]


def test_any_optimiser_steps_as_under_ddp_over_gloo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer without a gradient at one member or at both, closures, groups, and each optimiser's options."""
    # A member gives its gradient a second time if the engine is silent for a second, as on a busy machine.
    monkeypatch.setattr("olaf.replicas.gaps._DOUBT", 600.0)
    torch.set_num_threads(1)
    cases = 2 * len(OPTIONS)
    job(["tests.ddp_replicated", str(cases), str(tmp_path)], "127.0.0.1:1")
    expected = [torch.load(tmp_path / f"{rank}.pt") for rank in range(2)]
    for case in range(cases):
        models = [Heads(case), Heads(case)]

        def script(number: int, attach: Any, case: int = case, models: list[Heads] = models) -> None:
            optimizer = make(case, models[number])
            link = attach(optimizer, until=STEPS)
            play(case, number, models[number], optimizer)
            link.close()

        members(2, script)
        for rank in range(2):
            ends = dict(models[rank].state_dict())
            assert same(ends, expected[rank][case]), (case, list(OPTIONS)[case % len(OPTIONS)])


def test_each_optimiser_steps_with_the_gradients_that_it_found() -> None:
    """Gradients added before the last one steps do not count, nor those of one that did not step."""

    def script(number: int, attach: Any) -> None:
        (actor, critic), (own, other) = ([torch.nn.Parameter(torch.ones(3)) for _ in range(2)] for _ in "ab")
        alone = [torch.optim.Adam([actor]), torch.optim.SGD([critic], lr=0.1, momentum=0.9)]
        shared = [torch.optim.Adam([own]), torch.optim.SGD([other], lr=0.1, momentum=0.9)]
        seen: list[str] = []
        for optimizer in (alone[1], shared[1]):
            optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
            optimizer.register_step_post_hook(lambda *_: seen.append("after"))
        link = attach(shared)
        for step in range(6):
            for (first, second), (one, two) in ((alone, (actor, critic)), (shared, (own, other))):
                if step % 2:  # the actor's policy is delayed
                    first.zero_grad()
                    (one * (step + 1)).sum().backward()
                    first.step()
                second.zero_grad()
                (two * 3 + one * 7).sum().backward()
                second.step()
            assert torch.equal(actor, own) and torch.equal(critic, other)
        assert seen == ["before", "after"] * 12
        shared[0].step()
        with pytest.raises(OtherParameters, match="optimiser 0 stepped twice"):
            shared[0].step()
        with pytest.raises(OtherParameters, match="optimiser 0 was given a closure"):
            shared[0].step(lambda: torch.zeros(1))
        link.close()

    members(1, script)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda p: torch.optim.LBFGS(p), "LBFGS evaluates its loss within a step"),
        (lambda p: torch.optim.SparseAdam(list(p)), "SparseAdam needs sparse gradients"),
        (lambda p: torch.optim.SGD(p, lr=0.1, differentiable=True), "SGD is differentiable=True"),
    ],
)
def test_what_cannot_step_along_sums_is_refused_by_name(make: Callable[[Any], Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        attach(make(model(1).parameters()), "127.0.0.1:9", mode="replica", members=1)


def test_parameters_that_change_after_attaching_are_refused() -> None:
    def script(number: int, attach: Any) -> None:
        net = model(1)
        net[0].bias.requires_grad_(False)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        link = attach(optimizer)

        def step() -> None:
            optimizer.zero_grad()
            net(torch.ones(4, 8)).sum().backward()
            optimizer.step()

        def later() -> None:
            optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(1))]})

        def replaced() -> None:
            optimizer.param_groups[0]["params"][0] = torch.nn.Parameter(torch.zeros(6, 8))

        step()
        params = list(optimizer.param_groups[0]["params"])
        for change in (lambda: net[0].bias.requires_grad_(True), replaced, later):
            change()
            with pytest.raises(OtherParameters):
                step()
            optimizer.param_groups[0]["params"][:] = params
            net[0].bias.requires_grad_(False)
        del optimizer.param_groups[1]
        net[0].weight.requires_grad_(False)  # its gradient is none from now on
        step()
        link.close()

    members(1, script)
