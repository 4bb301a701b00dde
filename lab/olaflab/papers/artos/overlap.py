"""Playing and learning side by side, against one after the other: as many updates, in stated time.

What is learnt is real, with weights as old as the times make them; the times are those of the ratio.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from olaf.transport.virtual import VirtualNetwork

_AHEAD = 2
"""Blocks of all actors that may be played or being played, and not learnt: more would only be older."""


class Algorithm(Protocol):
    """An algorithm that plays and learns."""

    def weights(self) -> Any:
        """Return the weights that were published last; they stay as they are."""

    def play(self, weights: Any, version: int) -> None:
        """Play a block of every actor with these weights of this version."""

    def learn(self) -> None:
        """Make a round's updates from the oldest blocks, without publishing them."""

    def publish(self) -> None:
        """Publish the learnt weights."""

    def score(self) -> float:
        """Return the mean return of the last quarter of episodes."""


@dataclass(frozen=True)
class OverlapRun:
    """Outcome of one training."""

    seconds: float
    score: float
    lag: int
    """Rounds by which the oldest block's weights were behind when it was learnt."""


def run_training(
    algorithm: Algorithm, rounds: int, play: float, learn: float, jitter: float, seed: int, *, beside: bool
) -> OverlapRun:
    """Train ``rounds`` blocks, with a round of updates for each, of ``play`` and ``learn`` seconds.

    Each time is scaled by up to ``jitter``. Not ``beside``, each waits for the other.
    """
    factors = 1 + jitter * np.random.default_rng((seed, 7)).uniform(-1, 1, (rounds, 2))
    network = VirtualNetwork()
    there: list[int] = []
    """The version with which each block was played."""
    learnt = lag = 0
    playing = learning = False
    most = _AHEAD if beside else 1

    def go_on() -> None:
        nonlocal playing, learning
        if not learning and learnt < len(there):
            learning = True
            algorithm.learn()
            network.at(network.time + learn * float(factors[learnt, 1]), learning_ends)
        if not playing and len(there) < min(rounds, learnt + most):
            playing = True
            weights, version = algorithm.weights(), learnt
            seconds = play * float(factors[len(there), 0])
            network.at(network.time + seconds, lambda: playing_ends(weights, version))

    def playing_ends(weights: Any, version: int) -> None:
        nonlocal playing
        algorithm.play(weights, version)
        there.append(version)
        playing = False
        go_on()

    def learning_ends() -> None:
        nonlocal learning, learnt, lag
        algorithm.publish()
        lag = max(lag, learnt - there[learnt])
        learnt += 1
        learning = False
        go_on()

    go_on()
    network.run()
    return OverlapRun(network.time, algorithm.score(), lag)


def saving_bound(play: float, learn: float) -> float:
    """Return the most that overlapping can save: 1 - max/sum, never more than a half."""
    return 1 - max(play, learn) / (play + learn)
