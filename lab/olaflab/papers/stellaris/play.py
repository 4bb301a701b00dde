"""Rows of continuous control: a Gaussian policy, normalised observations, generalised advantages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from olaf.torch import flat
from olaf.transport.segments import Vector

GAMMA, LAMBDA = 0.99, 0.95
_HIDDEN = 64


class Agent(torch.nn.Module):  # type: ignore[misc]  # torch may not be installed
    """Actor and critic, apart; the deviation is a parameter of its own."""

    def __init__(self, observation: int, action: int) -> None:
        super().__init__()
        self.actor = _layers(observation, action)
        self.critic = _layers(observation, 1)
        self.deviation = torch.nn.Parameter(torch.full((action,), -0.5))

    def policy(self, observations: Any) -> Any:
        """The distribution of actions."""
        normal = torch.distributions.Normal(self.actor(observations), self.deviation.exp())
        return torch.distributions.Independent(normal, 1)

    def log_prob(self, rows: "Rows") -> Any:
        """Log-probabilities of the rows' actions, (n,)."""
        return self.policy(rows.observations).log_prob(rows.actions)

    def values(self, observations: Any) -> Any:
        """Expected returns, (n,)."""
        return self.critic(observations)[..., 0]


@dataclass(frozen=True)
class Rows:
    """What was played; tensors whose first axis is the row."""

    observations: Any
    actions: Any
    behaviour: Any
    """log μ of the actions."""
    advantages: Any
    returns: Any

    def part(self, rows: Any) -> "Rows":
        """Those of these numbers."""
        return Rows(*(column[rows] for column in vars(self).values()))

    @staticmethod
    def joined(parts: "Sequence[Rows]") -> "Rows":
        """One after the other."""
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return Rows(*(torch.cat(column) for column in columns))


class Actors:
    """Environments that are played side by side."""

    def __init__(self, environment: str, actors: int, seed: int) -> None:
        self._environments = gymnasium.vector.SyncVectorEnv(
            [lambda: gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make(environment))] * actors,
            autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP,
        )
        first, _ = self._environments.reset(seed=seed)
        self.sizes = first.shape[1], self._environments.single_action_space.shape[0]
        self._low = self._environments.single_action_space.low
        self._high = self._environments.single_action_space.high
        self._count, self._mean, self._square = 1e-4, np.zeros(self.sizes[0]), np.ones(self.sizes[0])
        self._observations = self._seen(first)

    def play(self, agent: Agent, steps: int) -> tuple[Rows, list[float]]:
        """So many steps of each environment, and the returns of the episodes that ended."""
        columns: list[list[Any]] = []
        ended: list[float] = []
        for _ in range(steps):
            with torch.no_grad():
                policy = agent.policy(self._observations)
                actions = policy.sample()
                row = [
                    self._observations,
                    actions,
                    policy.log_prob(actions),
                    agent.values(self._observations),
                ]
            seen, reward, over, cut, info = self._environments.step(
                np.clip(actions.numpy(), self._low, self._high)
            )
            if "final_info" in info:
                known = info["final_info"]
                ended += known["episode"]["r"][known["_episode"]].tolist()
            self._observations = self._seen(seen)
            columns.append([*row, torch.as_tensor(reward, dtype=torch.float32), torch.as_tensor(over | cut)])
        observations, actions, behaviour, values, rewards, stopped = map(
            torch.stack, zip(*columns, strict=True)
        )
        with torch.no_grad():
            advantages = _advantages(values, rewards, stopped, agent.values(self._observations))
        kept = (observations, actions, behaviour, advantages, advantages + values)
        return Rows(*(column.reshape(-1, *column.shape[2:]) for column in kept)), ended

    def close(self) -> None:
        """End the environments."""
        self._environments.close()

    def _seen(self, observations: Any) -> Any:
        """Normalised by what all have seen so far."""
        count, total = len(observations), self._count + len(observations)
        away = observations.mean(0) - self._mean
        self._square = (
            self._square * self._count + observations.var(0) * count + away**2 * self._count * count / total
        ) / total
        self._mean = self._mean + away * count / total
        self._count = total
        normal = (observations - self._mean) / np.sqrt(self._square + 1e-8)
        return torch.as_tensor(np.clip(normal, -10, 10), dtype=torch.float32)


def weights_of(agent: Agent) -> Vector:
    """As one vector."""
    return flat.read(list(agent.parameters()))


def _layers(inputs: int, outputs: int) -> Any:
    found = []
    for size, following, gain in (
        (inputs, _HIDDEN, 2**0.5),
        (_HIDDEN, _HIDDEN, 2**0.5),
        (_HIDDEN, outputs, 0.01),
    ):
        layer = torch.nn.Linear(size, following)
        torch.nn.init.orthogonal_(layer.weight, gain)
        torch.nn.init.zeros_(layer.bias)
        found += [layer, torch.nn.Tanh()]
    return torch.nn.Sequential(*found[:-1])


def _advantages(values: Any, rewards: Any, stopped: Any, last: Any) -> Any:
    found, running = torch.zeros_like(values), torch.zeros_like(last)
    for step in reversed(range(len(values))):
        going = 1 - stopped[step].float()
        error = rewards[step] + GAMMA * last * going - values[step]
        found[step] = running = error + GAMMA * LAMBDA * going * running
        last = values[step]
    return found
