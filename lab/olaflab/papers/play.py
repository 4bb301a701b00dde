"""Rows that an agent plays: continuous control, or the screens of an Atari game; generalised advantages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium
import numpy as np
import torch
from olaf.torch import flat
from olaf.transport.segments import Vector

from olaflab.papers.screens import GAMES, Screens

GAMMA, LAMBDA = 0.99, 0.95
_HIDDEN = 256


class ActorCriticAgent(torch.nn.Module):  # type: ignore[misc]  # torch may not be installed
    """Actor and critic, of the same features.

    Actions are normal with a deviation, a parameter of its own, or categories.
    """

    def __init__(self, features: Any, actor: Any, critic: Any, deviation: Any | None = None) -> None:
        super().__init__()
        self.features, self.actor, self.critic, self.deviation = features, actor, critic, deviation

    def policy(self, observations: Any) -> Any:
        """Return the distribution of actions."""
        return self._distribution(self.features(observations))

    def both(self, observations: Any) -> tuple[Any, Any]:
        """Return the distribution of actions, and expected returns (n,)."""
        features = self.features(observations)
        return self._distribution(features), self.critic(features)[..., 0]

    def log_prob(self, rows: "Rows") -> Any:
        """Return log-probabilities of the rows' actions, (n,)."""
        return self.policy(rows.observations).log_prob(rows.actions)

    def values(self, observations: Any) -> Any:
        """Return expected returns, (n,)."""
        return self.critic(self.features(observations))[..., 0]

    def _distribution(self, features: Any) -> Any:
        found = self.actor(features)
        if self.deviation is None:
            return torch.distributions.Categorical(logits=found)
        return torch.distributions.Independent(torch.distributions.Normal(found, self.deviation.exp()), 1)


class Games(Protocol):
    """Environments that are played side by side."""

    observations: Any
    """A tensor whose first axis is the environment."""

    def agent(self) -> ActorCriticAgent:
        """Make a new agent for these environments."""

    def step(self, actions: Any) -> tuple[Any, Any, list[float]]:
        """Play a step; return rewards, which environments begin again, and returns of ended episodes."""

    def close(self) -> None:
        """End the environments."""


@dataclass(frozen=True)
class Rows:
    """Played rows; tensors whose first axis is the row."""

    observations: Any
    actions: Any
    behaviour: Any
    """log μ of the actions."""
    advantages: Any
    returns: Any

    def select_rows(self, rows: Any) -> "Rows":
        """Return the rows with these numbers."""
        return Rows(*(column[rows] for column in vars(self).values()))

    @staticmethod
    def join_rows(parts: "Sequence[Rows]") -> "Rows":
        """Join parts one after the other."""
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return Rows(*(torch.cat(column) for column in columns))


def make_games(environment: str, number: int, seed: int) -> Games:
    """Make ``number`` copies of an environment. Raises ImportError where ``ale-py`` is missing for a game."""
    if environment in GAMES:
        return _Screened(environment, number, seed)
    return _Controlled(environment, number, seed)


def play_steps(games: Games, agent: ActorCriticAgent, steps: int) -> tuple[Rows, list[float]]:
    """Play ``steps`` steps in each environment; return the rows and the finished episodes' returns."""
    columns: list[list[Any]] = []
    ended: list[float] = []
    for _ in range(steps):
        seen = games.observations
        with torch.no_grad():
            policy, values = agent.both(seen)
            actions = policy.sample()
            row = [seen, actions, policy.log_prob(actions), values]
        reward, stopped, returns = games.step(actions.numpy())
        ended += returns
        columns.append([*row, torch.as_tensor(reward, dtype=torch.float32), torch.as_tensor(stopped)])
    observations, actions, behaviour, values, rewards, stopped = map(torch.stack, zip(*columns, strict=True))
    with torch.no_grad():
        advantages = _compute_advantages(values, rewards, stopped, agent.values(games.observations))
    kept = (observations, actions, behaviour, advantages, advantages + values)
    return Rows(*(column.reshape(-1, *column.shape[2:]) for column in kept)), ended


def weights_of(agent: ActorCriticAgent) -> Vector:
    """Return an agent's weights as one vector."""
    return flat.read(list(agent.parameters()))


class _Controlled:
    """Gymnasium's, with normalised observations."""

    def __init__(self, environment: str, number: int, seed: int) -> None:
        self._environments = gymnasium.vector.SyncVectorEnv(
            [lambda: gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make(environment))] * number,
            autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP,
        )
        first, _ = self._environments.reset(seed=seed)
        self._sizes = first.shape[1], self._environments.single_action_space.shape[0]
        self._low = self._environments.single_action_space.low
        self._high = self._environments.single_action_space.high
        self._count, self._mean, self._square = 1e-4, np.zeros(self._sizes[0]), np.ones(self._sizes[0])
        self.observations = self._seen(first)

    def agent(self) -> ActorCriticAgent:
        observation, action = self._sizes
        actor, critic = _make_layers(observation, action), _make_layers(observation, 1)
        return ActorCriticAgent(
            torch.nn.Identity(), actor, critic, torch.nn.Parameter(torch.full((action,), -0.5))
        )

    def step(self, actions: Any) -> tuple[Any, Any, list[float]]:
        within = np.clip(actions, self._low, self._high)
        seen, reward, over, cut, info = self._environments.step(within)
        known = info.get("final_info")
        ended = known["episode"]["r"][known["_episode"]].tolist() if known else []
        self.observations = self._seen(seen)
        return reward, over | cut, ended

    def close(self) -> None:
        self._environments.close()

    def _seen(self, observations: Any) -> Any:
        """Normalise observations by the mean and variance of all so far."""
        count, total = len(observations), self._count + len(observations)
        away = observations.mean(0) - self._mean
        self._square = (
            self._square * self._count + observations.var(0) * count + away**2 * self._count * count / total
        ) / total
        self._mean = self._mean + away * count / total
        self._count = total
        normal = (observations - self._mean) / np.sqrt(self._square + 1e-8)
        return torch.as_tensor(np.clip(normal, -10, 10), dtype=torch.float32)


class _Screened:
    """An Atari game's screens, as bytes."""

    def __init__(self, game: str, number: int, seed: int) -> None:
        self._screens = Screens(game, number, seed)
        self.observations = torch.from_numpy(self._screens.seen)

    def agent(self) -> ActorCriticAgent:
        actor, critic = torch.nn.Linear(_HIDDEN, self._screens.actions), torch.nn.Linear(_HIDDEN, 1)
        return ActorCriticAgent(
            _make_convolutions(), _initialise_layer(actor, 0.01), _initialise_layer(critic, 1.0)
        )

    def step(self, actions: Any) -> tuple[Any, Any, list[float]]:
        found = self._screens.step(actions)
        self.observations = torch.from_numpy(self._screens.seen)
        return found

    def close(self) -> None:
        self._screens.close()


class _Scaled(torch.nn.Module):  # type: ignore[misc]  # torch may not be installed
    """Bytes of screens as numbers from 0 to 1, with the channels last: a core needs half as long for them."""

    def forward(self, screens: Any) -> Any:
        return screens.float().contiguous(memory_format=torch.channels_last) / 255


def _make_layers(inputs: int, outputs: int) -> Any:
    found = []
    for size, following, gain in (
        (inputs, _HIDDEN, 2**0.5),
        (_HIDDEN, _HIDDEN, 2**0.5),
        (_HIDDEN, outputs, 0.01),
    ):
        found += [_initialise_layer(torch.nn.Linear(size, following), gain), torch.nn.Tanh()]
    return torch.nn.Sequential(*found[:-1])


def _make_convolutions() -> Any:
    """Make Stellaris' network of Atari (table II), for screens of half the width: 3 × 3 places of 11 × 11."""
    nn, gain = torch.nn, 2**0.5
    layers = nn.Conv2d(4, 16, 8, stride=4), nn.Conv2d(16, 32, 4, stride=2), nn.Linear(32 * 3 * 3, _HIDDEN)
    first, second, last = (_initialise_layer(layer, gain) for layer in layers)
    found = nn.Sequential(_Scaled(), first, nn.ReLU(), second, nn.ReLU(), nn.Flatten(), last, nn.ReLU())
    return found.to(memory_format=torch.channels_last)


def _initialise_layer(layer: Any, gain: float) -> Any:
    torch.nn.init.orthogonal_(layer.weight, gain)
    torch.nn.init.zeros_(layer.bias)
    return layer


def _compute_advantages(values: Any, rewards: Any, stopped: Any, last: Any) -> Any:
    found, running = torch.zeros_like(values), torch.zeros_like(last)
    for step in reversed(range(len(values))):
        going = 1 - stopped[step].float()
        error = rewards[step] + GAMMA * last * going - values[step]
        found[step] = running = error + GAMMA * LAMBDA * going * running
        last = values[step]
    return found
