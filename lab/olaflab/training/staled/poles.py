"""The two learners of :mod:`olaflab.training.cartpole` as workers."""

import numpy as np

from olaflab.training import cartpole
from olaflab.training.staled.layers import Array


class _Poles:
    """A worker that plays on poles."""

    def __init__(self, learner: cartpole.ActorCritic | cartpole.DeepQ) -> None:
        self._learner = learner
        self.rate = learner.rate
        self.returns = learner.poles.returns

    def begin(self, random: np.random.Generator) -> Array:
        """Initial weights of one network."""
        return self._learner.network.begin(random)

    def gradient(self, weights: Array, version: int) -> Array:
        """The learner's."""
        return self._learner.gradient(weights.astype(np.float64, copy=False), version)

    def close(self) -> None:
        """Nothing is open."""


class ActorCritic(_Poles):
    """Advantage actor-critic."""

    def __init__(self, seed: int) -> None:
        super().__init__(cartpole.ActorCritic(seed))


class DeepQ(_Poles):
    """Deep Q-learning."""

    def __init__(self, seed: int) -> None:
        super().__init__(cartpole.DeepQ(seed))
