"""MADDPG and MATD3 on predator and prey or cooperative navigation: torch, numpy, ``olaf.experience``.

    python maddpg.py                                  # alone
    python maddpg.py --matd3 --sampler runs:16
    python maddpg.py --game tag --server 10.0.0.254:20300 --addresses 10.0.1.1 10.0.1.3 10.0.1.5 10.0.2.1

Every agent has an actor, which sees what it observes, and a critic, which sees what all do. Rewards are
opposed, so through the network each agent is a cluster of its own, whose other members are the same agent on
other machines: one address an agent, all over one socket (``testbeds/predator-prey.yaml``).
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np
import torch
from particles import ACTIONS, STEPS, Hunt, Particles, Spread, Tag
from torch import Tensor

import olaf
from olaf.experience import (
    CUT,
    Batch,
    Draw,
    Prioritised,
    PrioritisedRuns,
    Ring,
    Runs,
    Uniform,
    Writer,
    agents,
    sample,
)  # fmt: skip
from olaf.transport.aliases import share


@dataclass
class Settings:
    """As MARL and the reference implementations have them."""

    batch: int = 1024
    rows: int = 1_000_000
    hidden: int = 64
    rate: float = 0.01
    discount: float = 0.95
    polyak: float = 0.01
    warm_up: int = 25_600
    """Steps before the first round of learning."""
    matd3: bool = False
    delay: int = 2
    """MATD3: actors and targets learn in every second round."""
    noise: float = 0.0
    """MATD3: spread of what is added to the targets' choices, at most 0.5; the reference leaves it out."""
    sampler: str = "uniform"
    """``uniform``, ``runs:N``, ``priority``, or ``priority-runs``."""
    one_batch: bool = False
    """All trainers learn from one batch: another algorithm than MADDPG, and less work."""


def network(inputs: int, hidden: int, outputs: int) -> torch.nn.Sequential:
    """Make a network of two hidden layers, in TensorFlow's initial distribution."""
    sizes, layers = [inputs, hidden, hidden, outputs], []
    for number in range(3):
        linear = torch.nn.Linear(sizes[number], sizes[number + 1])
        torch.nn.init.xavier_uniform_(linear.weight)
        torch.nn.init.zeros_(linear.bias)
        layers += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def relaxed(logits: Tensor, uniform: Tensor) -> Tensor:
    """Relax a choice of one action: add Gumbel noise from ``uniform`` in (0, 1), then apply softmax."""
    return torch.softmax(logits - torch.log(-torch.log(uniform)), dim=-1)


def target_values(reward: Tensor, done: Tensor, following: Sequence[Tensor], discount: float) -> Tensor:
    """Return r + γ·(1 − done)·min Q': of one critic, or the smaller of two."""
    return reward + discount * (1 - done) * torch.stack(list(following)).min(dim=0).values


def critic_loss(values: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Return the weighted mean squared error."""
    return (weights * (values - targets) ** 2).mean()


def actor_loss(values: Tensor, logits: Tensor) -> Tensor:
    """Return −Q, and a little for large logits, which keeps choices soft."""
    return -values.mean() + 1e-3 * (logits**2).mean()


def follow(target: torch.nn.Module, network: torch.nn.Module, polyak: float) -> None:
    """Move the target: target ← (1 − τ)·target + τ·network."""
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), network.parameters()):
            slow.lerp_(fast, polyak)


def step(optimizer: torch.optim.Optimizer, loss: Tensor, parameters: Sequence[Tensor]) -> None:
    """Step once, with the gradient of each variable cut to a norm of 0.5."""
    gradients = torch.autograd.grad(loss, parameters)
    for parameter, gradient in zip(parameters, gradients):
        norm = torch.linalg.vector_norm(gradient)
        parameter.grad = gradient * (0.5 / norm.clamp(min=0.5))
    optimizer.step()


class Agent:
    """An actor and its critic, or two, each with a target that follows slowly."""

    def __init__(self, seen: int, joint: int, settings: Settings) -> None:
        """``seen`` values are observed; ``joint`` are all agents' observations and actions."""
        self.actor = network(seen, settings.hidden, ACTIONS)
        self.critics = [network(joint, settings.hidden, 1) for _ in range(1 + settings.matd3)]
        self.target_actor, self.target_critics = copy.deepcopy((self.actor, self.critics))
        self.actor_parameters = list(self.actor.parameters())
        self.critic_parameters = [value for critic in self.critics for value in critic.parameters()]
        self.actor_optimizer = torch.optim.Adam(self.actor_parameters, lr=settings.rate)
        self.critic_optimizer = torch.optim.Adam(self.critic_parameters, lr=settings.rate)


class Team:
    """All agents of one machine: their games, what they remember, and how they learn."""

    def __init__(self, game: Particles | Hunt, settings: Settings, seed: int) -> None:
        self.game, self.settings = game, settings
        self.random = torch.Generator().manual_seed(seed)
        torch.manual_seed(seed)
        seen = game.observations
        row = agents(seen, [ACTIONS] * game.agents)
        self.seen, self.acted = row.parts["obs"], row.parts["act"]
        self.joint = sum(seen) + ACTIONS * game.agents
        self.agents = [Agent(each, self.joint, settings) for each in seen]
        self.ring = Ring(row, max(settings.rows // game.worlds, 2 * STEPS), game.worlds)
        self.writers = [Writer(self.ring, world) for world in range(game.worlds)]
        draws = np.random.default_rng(seed)
        self.samplers = [sampler(settings.sampler, self.ring, draws) for _ in self.agents]
        self.steps = self.rounds = 0
        self.memory = self.ring.buffers(settings.batch)

    def play(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Play and remember one episode in every world; return each agent's mean return (agents,)."""
        worlds, count = self.game.worlds, self.game.agents
        rows: dict[str, list[Any]] = {"obs": [], "act": [], "reward": []}
        observed = self.game.reset()
        for _ in range(STEPS):
            actions = self._act(torch.from_numpy(observed).float()).numpy()
            rows["obs"].append(observed)
            rows["act"].append(actions)
            observed, rewards = self.game.step(actions)
            rows["reward"].append(rewards)
        whole = {key: np.stack(values, axis=1).astype(np.float32) for key, values in rows.items()}
        whole["done"] = np.zeros((worlds, STEPS, count), np.float32)  # cut, never over: values go on
        ends = [0] * (STEPS - 1) + [CUT]
        for world, writer in enumerate(self.writers):
            writer.write({key: values[world] for key, values in whole.items()}, end=ends)
            writer.finish(obs=observed[world])
        self.steps += worlds * STEPS
        returns: np.ndarray[Any, np.dtype[np.float64]] = np.stack(rows["reward"]).sum(axis=0).mean(axis=0)
        return returns

    def learn(self) -> None:
        """Learn one round: every agent from a batch of its own, or all from one."""
        self.rounds += 1
        shared = self._targets(self._sampled(0)) if self.settings.one_batch else None
        for index in range(len(self.agents)):
            self._improve(index, shared or self._targets(self._sampled(index)))

    def _act(self, observed: Tensor) -> Tensor:
        with torch.no_grad():
            logits = [agent.actor(observed[:, part]) for agent, part in zip(self.agents, self.seen)]
            return torch.cat([relaxed(each, self._uniform(each)) for each in logits], dim=1)

    def _uniform(self, like: Tensor) -> Tensor:
        return torch.rand(like.shape, generator=self.random).clamp(1e-7, 1 - 1e-7)

    def _sampled(self, index: int) -> Sampled:
        batch, draw = sample(self.ring, self.samplers[index], self.settings.batch, self.memory)
        return Sampled(batch, draw)

    def _targets(self, sampled: Sampled) -> Sampled:
        """Add what all will do next, by their targets."""
        settings = self.settings
        with torch.no_grad():
            actions = []
            for agent, part in zip(self.agents, self.seen):
                logits = agent.target_actor(sampled.following[:, part])
                if settings.noise:
                    noise = settings.noise * torch.randn(logits.shape, generator=self.random)
                    logits = logits + noise.clamp(-0.5, 0.5)
                actions.append(relaxed(logits, self._uniform(logits)))
            sampled.next_joint = torch.cat([sampled.following, *actions], dim=1)
        return sampled

    def _improve(self, index: int, sampled: Sampled) -> None:
        agent, settings = self.agents[index], self.settings
        with torch.no_grad():
            following = [critic(sampled.next_joint)[:, 0] for critic in agent.target_critics]
            reward, done = sampled.reward[:, index], sampled.done[:, index]
            targets = target_values(reward, done, following, settings.discount)
        errors = [critic(sampled.joint)[:, 0] for critic in agent.critics]
        loss = torch.stack([critic_loss(each, targets, sampled.weights) for each in errors]).sum()
        step(agent.critic_optimizer, loss, agent.critic_parameters)
        if settings.matd3 and self.rounds % settings.delay:
            self._prioritise(index, sampled, errors[0].detach() - targets)
            return
        logits = agent.actor(sampled.observed[:, self.seen[index]])
        mine, own = relaxed(logits, self._uniform(logits)), self.acted[index]
        before, after = sampled.actions[:, : own.start], sampled.actions[:, own.stop :]
        joint = torch.cat([sampled.observed, before, mine, after], dim=1)
        step(agent.actor_optimizer, actor_loss(agent.critics[0](joint), logits), agent.actor_parameters)
        follow(agent.target_actor, agent.actor, settings.polyak)
        for target, critic in zip(agent.target_critics, agent.critics):
            follow(target, critic, settings.polyak)
        self._prioritise(index, sampled, errors[0].detach() - targets)

    def _prioritise(self, index: int, sampled: Sampled, errors: Tensor) -> None:
        chosen = self.samplers[0 if self.settings.one_batch else index]
        if isinstance(chosen, Prioritised):
            chosen.update(sampled.draw, errors.abs().numpy())


@dataclass
class Sampled:
    """A batch as tensors, all of them views of the rows that were gathered."""

    batch: Batch
    draw: Draw
    next_joint: Tensor = field(default_factory=lambda: torch.empty(0))

    def __post_init__(self) -> None:
        self.joint = torch.from_numpy(self.batch.together("obs", "act"))
        """(rows, values) all observations, then all actions: a critic's input."""
        self.observed, self.actions, self.following, self.reward, self.done = (
            torch.from_numpy(self.batch[key]) for key in ("obs", "act", "next", "reward", "done")
        )
        self.weights = torch.from_numpy(self.draw.weights())


def sampler(name: str, ring: Ring, random: np.random.Generator) -> Uniform | Runs | Prioritised:
    """Make the sampler that Settings names. Raises ValueError for another."""
    kind, _, length = name.partition(":")
    if kind == "runs" and length.isdigit():
        return Runs(ring, int(length), random)
    makers: dict[str, Callable[..., Any]] = {
        "uniform": Uniform,
        "priority": Prioritised,
        "priority-runs": PrioritisedRuns,
    }
    if name not in makers:
        raise ValueError(f"no sampler {name!r}: uniform, runs:N, priority or priority-runs")
    made: Uniform | Prioritised = makers[name](ring, random)
    return made


def attach(team: Team, server: str, ports: Sequence[Any], actors_only: bool, **options: Any) -> list[Any]:
    """Connect each agent's optimisers to the cluster that its port's address is in.

    ``actors_only`` keeps critics here: with 24 predators all networks are 3210 frames, the actors 160.
    """
    links = []
    for agent, port in zip(team.agents, ports):
        both = [agent.actor_optimizer] if actors_only else [agent.critic_optimizer, agent.actor_optimizer]
        links.append(olaf.attach(both, server, port=port, **options))
    return links


def train(team: Team, episodes: int, links: Sequence[Any] = ()) -> Iterator[np.ndarray[Any, Any]]:
    """Play one episode in each world and learn once, again and again; yields the agents' mean returns.

    With as many worlds as 4 a round follows 100 steps, as in the reference. An update travels while the
    next agent's batch is drawn: neither waits for the other.
    """
    for _ in range(0, episodes, team.game.worlds):
        returns = team.play()
        for link, mean in zip(links, returns):
            link.reward(float(mean))
        if team.steps >= max(team.settings.warm_up, team.settings.batch):
            team.learn()
        yield returns


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    games: dict[str, type[Hunt | Tag | Spread]] = {"hunt": Hunt, "tag": Tag, "spread": Spread}
    parser.add_argument("--game", choices=tuple(games), default="hunt", help="in tag the prey learn, too")
    parser.add_argument("--agents", type=int, default=3, help="predators, or navigators")
    parser.add_argument("--episodes", type=int, default=60_000)
    parser.add_argument(
        "--worlds", type=int, default=4, help="played side by side, a round for an episode in each"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--matd3", action="store_true")
    parser.add_argument("--sampler", default="uniform", help="uniform, runs:N, priority or priority-runs")
    parser.add_argument("--one-batch", action="store_true", help="all trainers learn from one batch")
    parser.add_argument("--batch", type=int, default=Settings.batch)
    parser.add_argument("--rows", type=int, default=Settings.rows)
    parser.add_argument("--warm-up", type=int, default=Settings.warm_up, help="steps before learning begins")
    parser.add_argument("--server", help="train through this parameter server")
    parser.add_argument("--addresses", nargs="+", default=[], help="this machine's, one an agent")
    parser.add_argument("--udp-port", type=int, default=20300, help="at these addresses")
    parser.add_argument("--actors-only", action="store_true", help="critics do not travel")
    args = parser.parse_args()

    torch.set_num_threads(1)
    random = np.random.default_rng(args.seed)
    game = games[args.game](args.agents, args.worlds, random)
    same = ("batch", "rows", "warm_up", "matd3", "sampler", "one_batch")
    team = Team(game, Settings(**{name: getattr(args, name) for name in same}), args.seed)
    links = []
    if args.server:
        if len(args.addresses) != game.agents:
            parser.error(f"{game.agents} agents need as many --addresses")
        links = attach(team, args.server, share(*args.addresses, port=args.udp_port), args.actors_only)
    for number, returns in enumerate(train(team, args.episodes, links)):
        if number % 100 == 0:
            shown = " ".join(f"{mean:8.2f}" for mean in returns)
            print(f"episode {number * args.worlds:6d}  returns {shown}", flush=True)
    for link in links:
        link.close()


if __name__ == "__main__":
    main()
