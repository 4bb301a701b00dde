"""The parameter server of OLAF §2.1: a reward-gated running average of gradients."""

import numpy as np

from olaflab.training import network
from olaflab.training.ppo import LEARNING_RATE


class RunningAverage:
    """Global weights w, the running gradient g_a and the global reward r_g.

    An update (g_i, r_i) counts when r_i > r_g: g_a ← avg(g_a, g_i), w ← w + γ·g_a. The paper leaves open
    how r_g itself moves. A record, once lucky, would refuse everything after it, so r_g is the running
    average of all rewards received: r_g ← avg(r_g, r_i).
    """

    def __init__(self, weights: network.Vector) -> None:
        self.weights = weights.copy()
        self.gradient: network.Vector | None = None
        self.reward = float("-inf")

    def receive(self, gradient: network.Vector, reward: float) -> bool:
        """Take one worker's update; True when it moved the global weights."""
        better = reward > self.reward
        if better:
            mean = (
                gradient if self.gradient is None else np.asarray((self.gradient + gradient) / 2, np.float32)
            )
            self.weights = np.asarray(self.weights + LEARNING_RATE * mean, np.float32)
            self.gradient = mean
        self.reward = reward if self.reward == float("-inf") else (self.reward + reward) / 2
        return better
