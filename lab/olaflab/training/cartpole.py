"""A pole on a cart that is to be kept upright (Barto, Sutton and Anderson 1983), and two learners of it in
numpy alone: advantage actor-critic and deep Q-learning. Small enough for a hundred trainings on a laptop.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

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
        self.states = self._begin(number)
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
        self.states[ended] = self._begin(int(ended.sum()))
        self._steps[ended] = 0
        return after, fell, ended

    def _begin(self, number: int) -> Array:
        return self._random.uniform(-0.05, 0.05, (number, 4))


class Network:
    """One hidden layer; its weights are one vector."""

    def __init__(self, outputs: int, hidden: int = _HIDDEN) -> None:
        self._shapes = ((4, hidden), (hidden,), (hidden, outputs), (outputs,))
        self.size = sum(int(np.prod(shape)) for shape in self._shapes)

    def begin(self, random: np.random.Generator) -> Array:
        """Weights to begin with."""
        first, _, second, _ = self.parts(np.zeros(self.size))
        first, second = random.normal(0, 0.5, first.shape), random.normal(0, 0.1, second.shape)
        zeros = [np.zeros(size) for size in second.shape]
        return np.concatenate([first.ravel(), zeros[0], second.ravel(), zeros[1]])

    def parts(self, weights: Array) -> list[Array]:
        """The layers' weights and biases."""
        found, at = [], 0
        for shape in self._shapes:
            size = int(np.prod(shape))
            found.append(weights[at : at + size].reshape(shape))
            at += size
        return found

    def forward(self, weights: Array, states: Array) -> tuple[Array, Array]:
        """The hidden layer and the outputs, one row a state."""
        first, bias, second, end = self.parts(weights)
        hidden = np.tanh(states @ first + bias)
        return hidden, hidden @ second + end

    def backward(self, weights: Array, states: Array, hidden: Array, slopes: Array) -> Array:
        """The loss's gradient in the weights, from that in the outputs."""
        back = (slopes @ self.parts(weights)[2].T) * (1 - hidden**2)
        parts = (states.T @ back, back.sum(0), hidden.T @ slopes, slopes.sum(0))
        return np.concatenate([part.ravel() for part in parts])


class ActorCritic:
    """Advantage actor-critic: 8 poles, 8 steps a gradient."""

    rate = 3e-3
    _POLES, _STEPS, _ENTROPY = 8, 8, 0.01

    def __init__(self, seed: int, hidden: int = _HIDDEN) -> None:
        self._random = np.random.default_rng(seed)
        self.network, self.poles = Network(3, hidden), Poles(self._POLES, self._random)

    def gradient(self, weights: Array, version: int) -> Array:
        played = []
        for _ in range(self._STEPS):
            states = self.poles.states
            odds = _softmax(self.network.forward(weights, states)[1][:, :2])
            right = (self._random.random(len(states)) < odds[:, 1]).astype(int)
            played.append((states, right, *self.poles.step(right)))
        states, right, after, fell, ended = (np.concatenate(column) for column in zip(*played, strict=True))
        hidden, outputs = self.network.forward(weights, states)
        cut = self.network.forward(weights, after)[1][:, 2].reshape(self._STEPS, -1)
        advantages = self._returns(cut, fell, ended).ravel() - outputs[:, 2]
        odds = _softmax(outputs[:, :2])
        logs = np.log(odds + 1e-12)
        entropy = odds * (logs - (odds * logs).sum(1, keepdims=True))
        actor = (odds - np.eye(2)[right]) * advantages[:, None] + self._ENTROPY * entropy
        slopes = np.concatenate([actor, -0.5 * advantages[:, None]], 1) / len(states)
        return _clipped(self.network.backward(weights, states, hidden, slopes))

    def _returns(self, after: Array, fell: NDArray[np.bool_], ended: NDArray[np.bool_]) -> Array:
        """Returns to the last step's value or to the episode's end; (steps, poles)."""
        found, following = np.zeros_like(after), after[-1]
        ends, falls = ended.reshape(after.shape), fell.reshape(after.shape)
        for step in reversed(range(self._STEPS)):
            going = np.where(ends[step], after[step], following)  # an episode that was long enough goes on
            found[step] = following = 1 + _GAMMA * np.where(falls[step], 0.0, going)
        return found


class DeepQ:
    """Deep Q-learning: 4 poles, a step and 64 rows of a memory of 20,000 a gradient."""

    rate = 1e-3
    _POLES, _ROWS, _MEMORY, _TARGET, _EXPLORE = 4, 64, 20_000, 100, 1500

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self.network, self.poles = Network(2), Poles(self._POLES, self._random)
        self._memory = np.zeros((self._MEMORY, 10))
        self._held = 0
        self._target, self._target_of = np.zeros(self.network.size), -1

    def gradient(self, weights: Array, version: int) -> Array:
        if version // self._TARGET != self._target_of:
            self._target, self._target_of = weights.copy(), version // self._TARGET
        self._play(weights, max(0.05, 1 - version / self._EXPLORE))
        rows = self._memory[self._random.integers(0, min(self._held, self._MEMORY), self._ROWS)]
        states, after, right, fell = rows[:, :4], rows[:, 4:8], rows[:, 8].astype(int), rows[:, 9]
        hidden, outputs = self.network.forward(weights, states)
        best = self.network.forward(weights, after)[1].argmax(1)
        following = self.network.forward(self._target, after)[1][np.arange(len(rows)), best]
        errors = outputs[np.arange(len(rows)), right] - (1 + _GAMMA * following * (1 - fell))
        slopes = np.eye(2)[right] * np.clip(errors, -1, 1)[:, None] / len(rows)
        return _clipped(self.network.backward(weights, states, hidden, slopes))

    def _play(self, weights: Array, explore: float) -> None:
        states = self.poles.states
        wanted = self.network.forward(weights, states)[1].argmax(1)
        random = self._random.random(len(states)) < explore
        right = np.where(random, self._random.integers(0, 2, len(states)), wanted)
        after, fell, _ = self.poles.step(right)
        places = (self._held + np.arange(len(states))) % self._MEMORY
        self._memory[places] = np.column_stack([states, after, right, fell])
        self._held += len(states)


def _softmax(values: Array) -> Array:
    odds = np.exp(values - values.max(1, keepdims=True))
    found: Array = odds / odds.sum(1, keepdims=True)
    return found


def _clipped(gradient: Array, most: float = 0.5) -> Array:
    """To a norm of ``most``."""
    return gradient * min(1.0, most / (float(np.linalg.norm(gradient)) + 1e-12))
