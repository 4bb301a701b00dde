"""The example's MADDPG and MATD3: each formula by closed form or finite differences, and whole rounds."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Callable

import numpy as np
import pytest

pytest.importorskip("torch")
import maddpg
import torch
from particles import Spread, Tag

from olaf import ParameterServer
from olaf.transport.virtual import VirtualNetwork

SMALL: dict[str, Any] = {"batch": 64, "rows": 2000, "hidden": 8, "warm_up": 64}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Use one thread: sums in one order, and no waiting for another processor."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def team(seed: int = 1, predators: int = 3, **options: Any) -> Any:
    made = maddpg.Team(Tag(predators, 4, np.random.default_rng(seed)), settings(**options), seed)
    for _ in range(3):
        made.play()
    return made


def settings(**options: Any) -> Any:
    return maddpg.Settings(**{**SMALL, **options})


def weights(of: Any) -> Any:
    networks = [net for a in of.agents for net in (a.actor, *a.critics, a.target_actor, *a.target_critics)]
    return torch.cat([value.detach().reshape(-1) for net in networks for value in net.parameters()])


def first_of(network: Any) -> Any:
    return next(iter(network.parameters())).detach().clone()


def differences(function: Callable[[Any], Any], at: Any, step: float = 1e-6) -> Any:
    """Return the gradient of a scalar function at a double vector, by central differences."""
    slopes = torch.zeros_like(at)
    for number in range(len(at)):
        move = torch.zeros_like(at)
        move[number] = step
        slopes[number] = (function(at + move) - function(at - move)) / (2 * step)
    return slopes


def test_networks_have_the_papers_numbers_of_values() -> None:
    """Actor and critic of a predator among 3 + 1 agents: 5573 and 9537; of 12 + 4: 7749 and 60097."""
    for predators, actor, critic in ((3, 5573, 9537), (12, 7749, 60097)):
        agent = maddpg.Team(
            Tag(predators, 1, np.random.default_rng(1)), settings(hidden=64, rows=100), 1
        ).agents[0]
        assert sum(value.numel() for value in agent.actor.parameters()) == actor
        assert sum(value.numel() for value in agent.critics[0].parameters()) == critic


def test_a_relaxed_choice_is_gumbels() -> None:
    """As large a share of choices falls on an action as its softmax says; each is a distribution."""
    logits = torch.tensor([0.0, 1.0, 2.0]).expand(200_000, 3)
    uniform = torch.rand(logits.shape, generator=torch.Generator().manual_seed(1))
    chosen: Any = maddpg.relaxed(logits, uniform)
    assert torch.allclose(chosen.sum(dim=1), torch.ones(len(chosen)))
    shares = torch.bincount(chosen.argmax(dim=1)) / len(chosen)
    assert torch.allclose(shares, torch.softmax(logits[0], 0), atol=0.005)


def test_target_values_use_the_smaller_critic_until_an_end() -> None:
    reward, done = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.0, 0.0, 1.0])
    one, other = torch.tensor([10.0, 4.0, 7.0]), torch.tensor([8.0, 6.0, 7.0])
    assert torch.allclose(maddpg.target_values(reward, done, [one], 0.5), torch.tensor([6.0, 4.0, 3.0]))
    assert torch.allclose(
        maddpg.target_values(reward, done, [one, other], 0.5), torch.tensor([5.0, 4.0, 3.0])
    )


def test_losses_slope_as_differences_say() -> None:
    random = torch.Generator().manual_seed(2)
    values, targets, rows = torch.randn(3, 6, generator=random, dtype=torch.double)
    weight = rows.abs()

    def critic(q: Any) -> Any:
        return maddpg.critic_loss(q, targets, weight)

    q = values.clone().requires_grad_()
    (slope,) = torch.autograd.grad(critic(q), q)
    assert torch.allclose(slope, differences(critic, values), atol=1e-7)
    assert torch.allclose(slope, 2 * weight * (values - targets) / 6)


@pytest.mark.parametrize("agent", [0, 3])
def test_an_actors_gradient_runs_through_its_own_action_alone(agent: int) -> None:
    """-Q(o, a₁ … π(oᵢ) … aₙ) + 10⁻³·logits²: the whole expression by differences, in double precision."""
    made = team()
    sampled = made._sampled(agent)
    uniform = made._uniform(torch.empty(64, 5, dtype=torch.double))
    actor, critic = (
        copy.deepcopy(net).double() for net in (made.agents[agent].actor, made.agents[agent].critics[0])
    )
    own = made.acted[agent]
    last = list(actor.parameters())[-1]

    def loss(bias: Any) -> Any:
        hidden = actor[:-1](sampled.observed[:, made.seen[agent]].double())
        logits = hidden @ actor[-1].weight.T + bias
        joint = sampled.joint.double().clone()
        start = sampled.observed.shape[1]
        mine = maddpg.relaxed(logits, uniform)
        joint = torch.cat([joint[:, : start + own.start], mine, joint[:, start + own.stop :]], dim=1)
        return -critic(joint)[:, 0].mean() + 1e-3 * (logits**2).mean()

    made._uniform = lambda like: uniform.to(like.dtype)
    before = last.detach().clone()
    with torch.no_grad():
        slopes = differences(loss, before)
    mine = made.agents[agent]
    for name in ("actor_optimizer", "critic_optimizer"):
        setattr(mine, name, torch.optim.SGD(getattr(mine, name).param_groups[0]["params"], lr=0.0))
    made._improve(agent, made._targets(sampled))
    found = mine.actor_parameters[-1].grad
    norm = float(slopes.norm())
    assert torch.allclose(found.double(), slopes * min(1.0, 0.5 / norm), rtol=1e-3, atol=1e-6)


def test_each_variables_gradient_is_cut_to_half() -> None:
    small, large = torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(2))
    optimizer = torch.optim.SGD([small, large], lr=1.0)
    maddpg.step(
        optimizer, (small * torch.tensor([0.3, 0.0]) + large * torch.tensor([3.0, 4.0])).sum(), [small, large]
    )
    assert torch.allclose(small.detach(), torch.tensor([-0.3, 0.0]))
    assert torch.allclose(large.detach(), torch.tensor([-0.3, -0.4]))


def test_targets_follow_by_a_hundredth() -> None:
    made = team()
    agent = made.agents[0]
    slow = [value.detach().clone() for value in agent.target_actor.parameters()]
    with torch.no_grad():
        for value in agent.actor.parameters():
            value.add_(1.0)
    maddpg.follow(agent.target_actor, agent.actor, 0.01)
    for before, after in zip(slow, agent.target_actor.parameters()):
        assert torch.allclose(after.detach(), before + 0.01, atol=1e-6)


def test_a_critics_target_is_made_of_all_agents_next_actions() -> None:
    made = team()
    sampled = made._sampled(1)
    uniform = made._uniform(torch.empty(64, 5))
    made._uniform = lambda like: uniform
    joint = made._targets(sampled).next_joint
    assert torch.equal(joint[:, : sampled.following.shape[1]], sampled.following)
    for agent, part, acted in zip(made.agents, made.seen, made.acted):
        logits = agent.target_actor(sampled.following[:, part])
        found = joint[:, sampled.following.shape[1] :][:, acted]
        assert torch.allclose(found, maddpg.relaxed(logits, uniform))


def test_matd3s_actors_and_targets_learn_in_every_second_round() -> None:
    made = team(matd3=True)
    agent = made.agents[0]
    moved = []
    for _ in range(4):
        networks = agent.actor, agent.target_critics[0], agent.critics[0], agent.critics[1]
        before = [first_of(each) for each in networks]
        made.learn()
        moved.append([not torch.equal(was, first_of(now)) for was, now in zip(before, networks)])
    assert moved == [[False, False, True, True], [True, True, True, True]] * 2


def test_critics_learn_what_returns_are() -> None:
    """A round of the navigators lowers the error of a fixed target many times over."""
    made = maddpg.Team(Spread(3, 4, np.random.default_rng(1)), settings(discount=0.0, hidden=32), 1)
    for _ in range(10):
        made.play()

    def error() -> float:
        sampled = made._sampled(0)
        with torch.no_grad():
            return float(
                ((made.agents[0].critics[0](sampled.joint)[:, 0] - sampled.reward[:, 0]) ** 2).mean()
            )

    before = error()
    for _ in range(60):
        made.learn()
    assert error() < before / 5


def test_the_next_batch_is_drawn_while_an_update_travels() -> None:
    """Nothing is answered while a round is made, in which time stands still: no draw waits for an ACK."""
    network = VirtualNetwork()
    clusters = {f"10.0.1.{number}": f"agent {number}" for number in range(4)}
    server = ParameterServer("10.0.0.254:20300", policy="plain", members=clusters,
                             port=network.port(("10.0.0.254", 20300)))  # fmt: skip
    made = team()
    ports = [network.port((address, 20300)) for address in clusters]
    links = maddpg.attach(made, "10.0.0.254:20300", ports, actors_only=False, seed=1)
    network.run(network.time + 1)
    inner, on_their_way = made._sampled, []

    def sampled(index: int) -> Any:
        counted = [link.worker.counters for link in links]
        on_their_way.append([each.offered for each in counted])
        assert [each.acks for each in counted] == answered
        return inner(index)

    made._sampled = sampled
    for turn in range(3):
        answered = [link.worker.counters.acks for link in links]
        made.learn()
        drawn = [[turn + (agent < index) for agent in range(4)] for index in range(4)]
        assert on_their_way[-4:] == drawn
        network.run(network.time + 1)
        assert all(link.worker.counters.acks > before for link, before in zip(links, answered))
    for cluster in clusters.values():
        assert set(server.versions(cluster)) == {3}
    for link in links:
        link.close()
    server.close()


def test_an_unknown_sampler_is_named() -> None:
    with pytest.raises(ValueError, match="no sampler 'newest'"):
        team(sampler="newest")
