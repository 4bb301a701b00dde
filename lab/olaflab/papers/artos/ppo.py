"""PPO on LunarLander for :mod:`olaflab.papers.artos.overlap`: actors and learner of ``olaflab train``."""

import numpy as np

from olaflab.training import network, players
from olaflab.training.experience import Experience
from olaflab.training.ppo import LEARNING_RATE, PpoLearner


class LanderPolicy:
    """Eight actors and a learner, which learns from a round's blocks once."""

    def __init__(self, seed: int, *, actors: int = 8, block: int = 64) -> None:
        self._weights = network.initial_parameters(np.random.default_rng(seed))
        self._players = [players.ActorPlayer((seed, number)) for number in range(actors)]
        self._learner = PpoLearner(seed, len(self._weights))
        self._block = block
        self._waiting: list[Experience] = []
        self._scores: list[float] = []
        self._published = self._weights

    def weights(self) -> network.Vector:
        return self._published

    def publish(self) -> None:
        self._published = self._weights

    def play(self, weights: network.Vector, version: int) -> None:
        parts = []
        for each in self._players:
            rows, ends = each.play_steps(weights, self._block)
            parts.append({**rows, "end": ends})
            self._scores += rows["score"][~np.isnan(rows["score"])].tolist()
        self._waiting.append(players.join_blocks(parts))

    def learn(self) -> None:
        gradient = self._learner.gradient(self._weights, self._waiting.pop(0))
        self._weights = self._weights + np.float32(LEARNING_RATE) * gradient

    def score(self) -> float:
        return float(np.mean(self._scores[-max(1, len(self._scores) // 4) :])) if self._scores else np.nan
