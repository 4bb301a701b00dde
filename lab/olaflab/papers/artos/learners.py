"""Two learners of a pole on a cart, in numpy alone, for :mod:`olaflab.papers.artos.table3`."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from olaf.experience import TERMINATED, Ring, Uniform, sample
from olaf.experience.pipeline import Moments, advantages

from olaflab.training.cartpole import PoleNetwork
from olaflab.training.staled.layers import Array

Rows = Mapping[str, Any]


class TriggerLearner(Protocol):
    """A learner whose policy actors play and which triggers call."""

    weights: Array

    def act(self, weights: Array, seen: Array, random: np.random.Generator) -> tuple[int, float, float]:
        """Return an action, its log-probability, and the observation's value."""

    def advantages(self, rows: Rows) -> Array:
        """Return (steps,) advantages of an actor's consecutive steps, from rewards, values and ends."""

    def learn(self, batches: Sequence[Rows], known: Sequence[Array | None]) -> None:
        """Learn from actors' blocks; ``known`` are advantages that were computed before."""

    def replay(self, ring: Ring) -> bool:
        """Learn from rows that are drawn of all; return False before there are enough."""


class PolicyGradient:
    """The clipped policy gradient of PPO; blocks may be some versions old, which the clipping bounds."""

    _EPOCHS, _PARTS, _CLIP, _ENTROPY, _VALUE, _RATE = 4, 4, 0.2, 0.01, 0.5, 3e-3

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng((seed, 100))
        self._network = PoleNetwork(3)
        self.weights = self._network.begin(self._random)
        self._step = _Adam(self._RATE, len(self.weights))

    def act(self, weights: Array, seen: Array, random: np.random.Generator) -> tuple[int, float, float]:
        outputs = self._network.forward(weights, seen[None])[-1][0]
        odds = _compute_softmax(outputs[None, :2])[0]
        action = int(random.random() < odds[1])
        return action, float(np.log(odds[action])), float(outputs[2])

    def advantages(self, rows: Rows) -> Array:
        return advantages(rows["reward"], rows["value"], rows["end"], rows["beyond"])

    def learn(self, batches: Sequence[Rows], known: Sequence[Array | None]) -> None:
        found = [
            self.advantages(rows) if each is None else each for rows, each in zip(batches, known, strict=True)
        ]
        moments = Moments()
        for each in found:
            moments.add(each)
        advantage = np.concatenate(found)
        obs, act, log, value = (
            np.concatenate([rows[key] for rows in batches]) for key in ("obs", "act", "log", "value")
        )
        wanted, normal = advantage + value, moments.normalise(advantage)
        for _ in range(self._EPOCHS):
            for part in np.array_split(self._random.permutation(len(obs)), self._PARTS):
                self._update_weights(
                    obs[part].astype(float), act[part], log[part], normal[part], wanted[part]
                )

    def replay(self, ring: Ring) -> bool:
        raise TypeError("a policy gradient does not learn from what was drawn")

    def _update_weights(self, obs: Array, act: Array, log: Array, advantage: Array, wanted: Array) -> None:
        found = self._network.forward(self.weights, obs)
        outputs = found[-1]
        odds, chosen = _compute_softmax(outputs[:, :2]), np.eye(2)[act.astype(int)]
        ratio = np.exp(np.log((odds * chosen).sum(1)) - log)
        clipped = np.where(advantage > 0, ratio > 1 + self._CLIP, ratio < 1 - self._CLIP)
        slope = np.where(clipped, 0.0, ratio * advantage)[:, None] * (odds - chosen)
        logs = np.log(odds + 1e-12)
        slope += self._ENTROPY * odds * (logs - (odds * logs).sum(1, keepdims=True))
        value = self._VALUE * (outputs[:, 2] - wanted)[:, None] / 10
        slopes = np.concatenate([slope, value], 1) / len(obs)
        gradient = self._network.gradient(self.weights, found, slopes)
        gradient *= min(1.0, 0.5 / (float(np.linalg.norm(gradient)) + 1e-12))
        self.weights = self._step(self.weights, gradient)


class SoftActorCritic:
    """Discrete soft actor-critic: two critics, targets that follow, rows drawn from the ring."""

    _UPDATES, _ROWS, _DISCOUNT, _FOLLOW, _ENTROPY, _RATE = 8, 128, 0.98, 0.02, 0.05, 2e-3

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng((seed, 100))
        self._random = np.random.default_rng((seed, 101))
        self._network = PoleNetwork(2)
        self.weights = self._network.begin(random)
        self._critics = [self._network.begin(random) for _ in range(2)]
        self._targets = [each.copy() for each in self._critics]
        self._steps = [_Adam(self._RATE, len(self.weights)) for _ in range(3)]
        self._sampler: Uniform | None = None

    def act(self, weights: Array, seen: Array, random: np.random.Generator) -> tuple[int, float, float]:
        odds = _compute_softmax(self._network.forward(weights, seen[None])[-1])[0]
        action = int(random.random() < odds[1])
        return action, float(np.log(odds[action] + 1e-12)), 0.0

    def advantages(self, rows: Rows) -> Array:
        raise TypeError("soft actor-critic has no advantages")

    def learn(self, batches: Sequence[Rows], known: Sequence[Array | None]) -> None:
        raise TypeError("soft actor-critic learns from what is drawn")

    def replay(self, ring: Ring) -> bool:
        if int(ring.count().sum()) < 4 * self._ROWS:
            return False
        self._sampler = self._sampler or Uniform(ring, self._random)
        for _ in range(self._UPDATES):
            self._update_weights(sample(ring, self._sampler, self._ROWS)[0])
        return True

    def _update_weights(self, rows: Any) -> None:
        obs, after = rows["obs"].astype(float), rows["seen"].astype(float)
        chosen = np.eye(2)[rows["act"]]
        odds = _compute_softmax(self._evaluate_network(self.weights, after))
        least = np.minimum(*(self._evaluate_network(each, after) for each in self._targets))
        following = (odds * (least - self._ENTROPY * np.log(odds + 1e-12))).sum(1)
        wanted = rows["reward"] + self._DISCOUNT * (rows["end"] != TERMINATED) * following
        for number, critic in enumerate(self._critics):
            found = self._network.forward(critic, obs)
            slopes = chosen * ((found[-1] * chosen).sum(1) - wanted)[:, None] / len(obs)
            gradient = self._network.gradient(critic, found, slopes)
            self._critics[number] = self._steps[number](critic, gradient)
        least = np.minimum(*(self._evaluate_network(each, obs) for each in self._critics))
        found = self._network.forward(self.weights, obs)
        odds = _compute_softmax(found[-1])
        costs = self._ENTROPY * np.log(odds + 1e-12) - least
        slopes = odds * (costs - (odds * costs).sum(1, keepdims=True)) / len(obs)
        gradient = self._network.gradient(self.weights, found, slopes)
        self.weights = self._steps[2](self.weights, gradient)
        for target, critic in zip(self._targets, self._critics, strict=True):
            target += self._FOLLOW * (critic - target)

    def _evaluate_network(self, weights: Array, states: Array) -> Array:
        return self._network.forward(weights, states)[-1]


class _Adam:
    def __init__(self, rate: float, size: int) -> None:
        self._rate, self._number = rate, 0
        self._first, self._second = np.zeros(size), np.zeros(size)

    def __call__(self, weights: Array, gradient: Array) -> Array:
        """Return the weights after a step."""
        self._number += 1
        self._first += 0.1 * (gradient - self._first)
        self._second += 0.001 * (gradient**2 - self._second)
        first = self._first / (1 - 0.9**self._number)
        second = self._second / (1 - 0.999**self._number)
        found: Array = weights - self._rate * first / (np.sqrt(second) + 1e-8)
        return found


def _compute_softmax(values: Array) -> Array:
    odds = np.exp(values - values.max(1, keepdims=True))
    found: Array = odds / odds.sum(1, keepdims=True)
    return found
