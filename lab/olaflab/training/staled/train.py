"""Training of several workers whose gradients are computed on weights of a given age."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from olaflab.training.staled.layers import Array

WORKERS = 4


class DelayedLearner(Protocol):
    """One worker."""

    rate: float
    """Rate of Adam."""
    returns: list[float]
    """Returns of the episodes that ended and are not counted yet."""

    def begin(self, random: np.random.Generator) -> Array:
        """Draw the weights to begin with."""

    def gradient(self, weights: Array, version: int) -> Array:
        """Play with ``weights``, of this version, and learn from it: the loss's gradient there."""

    def close(self) -> None:
        """End what it plays."""


@dataclass(frozen=True)
class DelayedTask:
    """A task to learn, and when it is learnt."""

    make: Callable[[int], DelayedLearner]
    """A worker, with its seed."""
    goal: float
    """Mean return of the newest episodes of all workers."""
    episodes: int
    """Number of episodes."""
    gradients: int
    """At most."""
    every: int
    """Iterations between two points of the curve."""
    times: int = 1
    """As many trainings as of the others, for one that is cheap."""


@dataclass(frozen=True)
class Learnt:
    """One training."""

    iterations: int | None
    """Until the goal; None if it was never reached."""
    curve: list[float]
    """The mean return, every ``Task.every`` iterations."""


def train_with_delay(
    task: DelayedTask, each: int, stale: Callable[[np.random.Generator], int], seed: int
) -> Learnt:
    """Train until the goal. An iteration applies the mean of ``each`` gradients by Adam.

    ``stale`` draws how many versions old the weights of a gradient are.
    """
    random = np.random.default_rng([seed, 1])
    learners = [task.make(1000 * seed + number) for number in range(WORKERS)]
    try:
        return _train_steps(task, learners, each, stale, random)
    finally:
        for learner in learners:
            learner.close()


def _train_steps(
    task: DelayedTask,
    learners: list[DelayedLearner],
    each: int,
    stale: Callable[[np.random.Generator], int],
    random: np.random.Generator,
) -> Learnt:
    versions = [learners[0].begin(random)]
    first, second = np.zeros_like(versions[0]), np.zeros_like(versions[0])
    turn, curve, reached = 0, list[float](), None
    newest = list[float]()
    for number in range(1, task.gradients // each + 1):
        total = np.zeros_like(first)
        for _ in range(each):
            learner = learners[turn % WORKERS]
            turn += 1
            old = min(stale(random), len(versions) - 1)
            total += learner.gradient(versions[-1 - old], number - 1 - old)
            newest += learner.returns
            learner.returns.clear()
        mean = total / each
        first, second = 0.9 * first + 0.1 * mean, 0.999 * second + 0.001 * mean**2
        step = (first / (1 - 0.9**number)) / (np.sqrt(second / (1 - 0.999**number)) + 1e-8)
        versions = [*versions[-63:], (versions[-1] - learners[0].rate * step).astype(first.dtype)]
        newest = newest[-task.episodes :]
        score = float(np.mean(newest)) if len(newest) == task.episodes else None
        if number % task.every == 0:
            curve.append(round(score, 3) if score is not None else 0.0)
        if reached is None and score is not None and score >= task.goal:
            reached = number
        if reached is not None and number % task.every == 0:
            break
    return Learnt(reached, curve)
