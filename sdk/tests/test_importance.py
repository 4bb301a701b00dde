"""Importance weights truncated over the versions in flight, kept from the answers that come anyway."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from olaf import Worker
from olaf.transport.virtual import VirtualNetwork
from tests.testnet import SERVER, acknowledge, vector, worker_address

pytest.importorskip("torch")
import torch

from olaf.torch import flat
from olaf.torch.importance import Importance, clipped, truncated

AT = f"{SERVER[0]}:{SERVER[1]}"
INFINITE = math.inf


def logs(*ratios: float) -> Any:
    return torch.tensor(ratios, dtype=torch.float64).log()


def test_the_smallest_ratio_of_all_learners_counts_up_to_rho() -> None:
    one = logs(1.0)
    assert truncated(logs(1.5), one, [logs(0.8), logs(1.2)], rho=1.0).item() == pytest.approx(0.8)
    assert truncated(logs(1.5), one, [logs(1.3)], rho=1.0).item() == 1.0
    assert truncated(logs(1.5), one, [logs(1.3)], rho=INFINITE).item() == pytest.approx(1.3)


def test_the_published_form_bounds_the_smallest_from_below() -> None:
    one = logs(1.0)
    assert truncated(logs(1.5), one, [logs(0.8), logs(1.2)], 1.0, published=True).item() == pytest.approx(1.0)
    for published in (False, True):
        ratio = truncated(logs(0.9), one, [logs(2.0)], 1.0, published)
        assert ratio.item() == pytest.approx(0.9)


Module: Any = torch.nn.Module


class Gaussian(Module):  # type: ignore[misc]
    """A policy with a state-dependent mean and a free deviation: 3 observations, 2 actions, 10 values."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.mean = torch.nn.Linear(3, 2)
        self.deviation = torch.nn.Parameter(torch.zeros(2))
        self.double()

    def forward(self, observations: Any) -> Any:
        spread = self.deviation.exp().expand(len(observations), 2)
        return torch.distributions.Independent(torch.distributions.Normal(self.mean(observations), spread), 1)


ROWS = torch.linspace(-1, 1, 30, dtype=torch.float64).reshape(10, 3)
ACTIONS = torch.linspace(-2, 2, 20, dtype=torch.float64).reshape(10, 2)
ADVANTAGES = torch.linspace(-1, 2, 10, dtype=torch.float64)


def learner(network: VirtualNetwork, versions: int, keep: int = 8) -> tuple[Gaussian, Worker]:
    """Make a learner that ``versions`` other versions of the weights have reached."""
    policy = Gaussian()
    worker = Worker(AT, 8, port=network.port(worker_address(0)), keep=keep)
    weights = flat.read(list(policy.mean.parameters()))
    for version in range(1, versions + 1):
        acknowledge(worker, version, weights + 0.3 * vector(8, version))
    return policy, worker


@pytest.mark.parametrize("rho", [1.0, INFINITE])
def test_the_gradient_is_weight_times_log_probabilitys(rho: float) -> None:
    policy, worker = learner(VirtualNetwork(), versions=2)
    importance = Importance(policy.mean.parameters(), worker, rho)
    behaviour = policy(ROWS).log_prob(ACTIONS).detach() + 0.1
    ratios = importance.ratios(lambda: policy(ROWS).log_prob(ACTIONS), behaviour)
    fixed = ratios.detach()
    assert (fixed < policy(ROWS).log_prob(ACTIONS).sub(behaviour).exp() - 1e-3).any()  # others' are smaller
    (-(ratios * ADVANTAGES).mean()).backward()
    for parameter in policy.mean.parameters():
        values = parameter.data.view(-1)
        for place in range(len(values)):
            sides = []
            for step in (1e-6, -1e-6):
                values[place] += step
                sides.append(-(fixed * ADVANTAGES * policy(ROWS).log_prob(ACTIONS)).mean().item())
                values[place] -= step
            assert parameter.grad.view(-1)[place].item() == pytest.approx(
                (sides[0] - sides[1]) / 2e-6, abs=1e-6
            )


def test_with_equal_versions_and_no_bound_it_is_ppo() -> None:
    policy, worker = learner(VirtualNetwork(), versions=0)
    weights = flat.read(list(policy.mean.parameters()))
    flat.write(list(policy.mean.parameters()), weights)  # as binary32 has them
    acknowledge(worker, 1, weights)
    acknowledge(worker, 2, weights)
    behaviour = policy(ROWS).log_prob(ACTIONS).detach() + torch.linspace(-0.5, 0.5, 10)
    gradients = []
    ratios = Importance(policy.mean.parameters(), worker, INFINITE).ratios(
        lambda: policy(ROWS).log_prob(ACTIONS), behaviour
    )
    plain = (policy(ROWS).log_prob(ACTIONS) - behaviour).exp()
    losses = [clipped(ratio, ADVANTAGES) for ratio in (ratios, plain)]
    assert losses[0].item() == pytest.approx(losses[1].item(), rel=1e-12)
    for loss in losses:
        policy.zero_grad()
        loss.backward()
        gradients.append([parameter.grad.clone() for parameter in policy.mean.parameters()])
    for one, other in zip(*gradients):
        assert torch.allclose(one, other, rtol=1e-12)


def test_other_forward_passes_may_go_backward_afterwards() -> None:
    policy, worker = learner(VirtualNetwork(), versions=3)
    before = flat.read(list(policy.mean.parameters()))
    value = policy.mean(policy.mean(ROWS) @ torch.ones(2, 3, dtype=torch.float64)).square().mean()
    importance = Importance(policy.mean.parameters(), worker)
    behaviour = policy(ROWS).log_prob(ACTIONS).detach()
    ratios = importance.ratios(lambda: policy(ROWS).log_prob(ACTIONS), behaviour)
    (ratios.mean() + value).backward()
    assert np.array_equal(flat.read(list(policy.mean.parameters())), before)
    assert 0 <= importance.small <= 1


def test_a_worker_keeps_the_last_versions_newest_first() -> None:
    network = VirtualNetwork()
    worker = Worker(AT, 8, port=network.port(worker_address(0)), keep=3)
    for version in range(1, 6):
        acknowledge(worker, version, np.full(8, version, np.float32))
    assert [weights.tolist() for weights in worker.versions()] == [[float(v)] * 8 for v in (5, 4, 3)]
    acknowledge(worker, 4, np.full(8, 9, np.float32))  # late
    assert len(worker.versions()) == 3
    assert worker.versions()[0].tolist() == [5.0] * 8


def test_fewer_than_no_versions_cannot_be_kept() -> None:
    with pytest.raises(ValueError, match="-1 versions"):
        Worker("127.0.0.1:1", 8, keep=-1)


@pytest.mark.parametrize("rho", [0.0, -1.0, math.nan])
def test_a_bound_that_is_not_above_0_is_refused(rho: float) -> None:
    with pytest.raises(ValueError, match="give one above 0"):
        truncated(logs(1.0), logs(1.0), rho=rho)


def test_parameters_of_another_model_are_refused() -> None:
    policy, worker = learner(VirtualNetwork(), versions=0)
    with pytest.raises(ValueError, match="10 values for a model of 8"):
        Importance(policy.parameters(), worker)
