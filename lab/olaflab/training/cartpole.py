"""A pole on a cart that is to be kept upright (Barto, Sutton and Anderson 1983), and two learners of it in
numpy alone: advantage actor-critic and deep Q-learning. Small enough for a hundred trainings on a laptop.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from olaflab.training.staled import layers
from olaflab.training.staled.layers import Array

LONGEST = 500
"""Steps of an episode, each of reward 1."""
_GRAVITY, _CART, _POLE, _HALF, _FORCE, _SECONDS = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
_FURTHEST, _STEEPEST = 2.4, np.radians(12)
_GAMMA = 0.99
_HIDDEN = 64


class Poles:
    """Several at once; one that fell, or has stood for ``LONGEST`` steps, begins again."""

    def __init__(self, number: int, random: np.random.Generator) -> None:
        self._random = random
        self.states = self._begin_episodes(number)
        """(number, 4): place, speed, angle and its speed."""
        self._steps = np.zeros(number, int)
        self.returns: list[float] = []
        """Returns of the episodes that ended."""

    def step(self, right: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_]]:
        """Push each to the right or the left: the states after it, which fell, and which begin again."""
        _, speed, angle, turn = self.states.T
        force = np.where(right == 1, _FORCE, -_FORCE)
        sine, cosine, mass = np.sin(angle), np.cos(angle), _CART + _POLE
        push = (force + _POLE * _HALF * turn**2 * sine) / mass
        turning = (_GRAVITY * sine - cosine * push) / (_HALF * (4 / 3 - _POLE * cosine**2 / mass))
        moving = push - _POLE * _HALF * turning * cosine / mass
        after = self.states + _SECONDS * np.stack([speed, moving, turn, turning], 1)
        self._steps += 1
        fell = (np.abs(after[:, 0]) > _FURTHEST) | (np.abs(after[:, 2]) > _STEEPEST)
        ended = fell | (self._steps >= LONGEST)
        self.returns += [float(steps) for steps in self._steps[ended]]
        self.states = after.copy()
        self.states[ended] = self._begin_episodes(int(ended.sum()))
        self._steps[ended] = 0
        return after, fell, ended

    def _begin_episodes(self, number: int) -> Array:
        return self._random.uniform(-0.05, 0.05, (number, 4))


class PoleNetwork(layers.LayeredNetwork):
    """A pole's network: one hidden layer."""

    def __init__(self, outputs: int, hidden: int = _HIDDEN) -> None:
        super().__init__(4, hidden, outputs)
        self._last = 0.1 * hidden**0.5

    def begin(self, random: np.random.Generator, last: float | None = None) -> Array:
        """Draw the weights to begin with: 0.5 and 0.1 are their deviations."""
        return super().begin(random, self._last if last is None else last)

    def gradient(self, weights: Array, found: Sequence[Array], slopes: Array) -> Array:
        """Return the loss's gradient in the weights, from the slopes in the outputs of what ``forward``
        found."""
        gradient = np.zeros(self.size)
        self.backward(weights, found, slopes, gradient)
        return gradient


class _Learner:
    """A worker of several poles."""

    rate: float

    def __init__(self, network: PoleNetwork, poles: Poles) -> None:
        self.network, self.poles, self.returns = network, poles, poles.returns

    def begin(self, random: np.random.Generator) -> Array:
        """Draw the initial weights."""
        return self.network.begin(random)

    def close(self) -> None:
        """Close nothing: nothing is open."""


class ActorCritic(_Learner):
    """Advantage actor-critic: 8 poles, 8 steps a gradient."""

    rate = 3e-3
    _POLES, _STEPS, _ENTROPY = 8, 8, 0.01

    def __init__(self, seed: int, hidden: int = _HIDDEN) -> None:
        self._random = np.random.default_rng(seed)
        super().__init__(PoleNetwork(3, hidden), Poles(self._POLES, self._random))

    def gradient(self, weights: Array, version: int) -> Array:
        weights = weights.astype(np.float64, copy=False)
        played = []
        for _ in range(self._STEPS):
            states = self.poles.states
            odds = _take_softmax(self.network.forward(weights, states)[-1][:, :2])
            right = (self._random.random(len(states)) < odds[:, 1]).astype(int)
            played.append((states, right, *self.poles.step(right)))
        states, right, after, fell, ended = (np.concatenate(column) for column in zip(*played, strict=True))
        found = self.network.forward(weights, states)
        outputs = found[-1]
        cut = self.network.forward(weights, after)[-1][:, 2].reshape(self._STEPS, -1)
        advantages = self._compute_returns(cut, fell, ended).ravel() - outputs[:, 2]
        odds = _take_softmax(outputs[:, :2])
        logs = np.log(odds + 1e-12)
        entropy = odds * (logs - (odds * logs).sum(1, keepdims=True))
        actor = (odds - np.eye(2)[right]) * advantages[:, None] + self._ENTROPY * entropy
        slopes = np.concatenate([actor, -0.5 * advantages[:, None]], 1) / len(states)
        return layers.clip_norm(self.network.gradient(weights, found, slopes))

    def _compute_returns(self, after: Array, fell: NDArray[np.bool_], ended: NDArray[np.bool_]) -> Array:
        """Compute returns (steps, poles) to the last step's value or to the episode's end."""
        found, following = np.zeros_like(after), after[-1]
        ends, falls = ended.reshape(after.shape), fell.reshape(after.shape)
        for step in reversed(range(self._STEPS)):
            going = np.where(ends[step], after[step], following)  # an episode that was long enough goes on
            found[step] = following = 1 + _GAMMA * np.where(falls[step], 0.0, going)
        return found


class DeepQ(_Learner):
    """Deep Q-learning: 4 poles, a step and 64 rows of a memory of 20,000 a gradient."""

    rate = 1e-3
    _POLES, _ROWS, _MEMORY, _TARGET, _EXPLORE = 4, 64, 20_000, 100, 1500

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        super().__init__(PoleNetwork(2), Poles(self._POLES, self._random))
        self._memory = np.zeros((self._MEMORY, 10))
        self._held = 0
        self._target: Array = np.zeros(self.network.size)
        self._target_of = -1

    def gradient(self, weights: Array, version: int) -> Array:
        weights = weights.astype(np.float64, copy=False)
        if version // self._TARGET != self._target_of:
            self._target, self._target_of = weights.copy(), version // self._TARGET
        self._play_steps(weights, max(0.05, 1 - version / self._EXPLORE))
        rows = self._memory[self._random.integers(0, min(self._held, self._MEMORY), self._ROWS)]
        states, after, right, fell = rows[:, :4], rows[:, 4:8], rows[:, 8].astype(int), rows[:, 9]
        found = self.network.forward(weights, states)
        outputs, best = found[-1], self.network.forward(weights, after)[-1].argmax(1)
        following = self.network.forward(self._target, after)[-1][np.arange(len(rows)), best]
        errors = outputs[np.arange(len(rows)), right] - (1 + _GAMMA * following * (1 - fell))
        slopes = np.eye(2)[right] * np.clip(errors, -1, 1)[:, None] / len(rows)
        return layers.clip_norm(self.network.gradient(weights, found, slopes))

    def _play_steps(self, weights: Array, explore: float) -> None:
        states = self.poles.states
        wanted = self.network.forward(weights, states)[-1].argmax(1)
        random = self._random.random(len(states)) < explore
        right = np.where(random, self._random.integers(0, 2, len(states)), wanted)
        after, fell, _ = self.poles.step(right)
        places = (self._held + np.arange(len(states))) % self._MEMORY
        self._memory[places] = np.column_stack([states, after, right, fell])
        self._held += len(states)


def _take_softmax(values: Array) -> Array:
    odds = np.exp(values - values.max(1, keepdims=True))
    found: Array = odds / odds.sum(1, keepdims=True)
    return found
