"""HalfCheetah by deep deterministic policy gradients, in numpy: smaller networks than the paper's."""

import numpy as np

from olaflab.training.staled.layers import Array, LayeredNetwork


class Deterministic:
    """HalfCheetah: a step and 64 rows of a memory of 100,000 a gradient, after some random steps."""

    rate = 1e-3
    _NAME, _INPUTS, _ACTIONS = "HalfCheetah-v5", 17, 6
    _HIDDEN, _ROWS, _MEMORY, _RANDOM = 64, 64, 100_000, 1000
    _GAMMA, _TARGET, _NOISE = 0.95, 0.005, 0.2
    _UNITS = np.repeat(np.array([1.0, 0.1], np.float32), (8, 9))
    """Units of places and angles, and of speeds."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        hidden = (self._HIDDEN, self._HIDDEN)
        self._actor = LayeredNetwork(self._INPUTS, *hidden, self._ACTIONS, rectified=True)
        self._critic = LayeredNetwork(self._INPUTS + self._ACTIONS, *hidden, 1, rectified=True)
        import gymnasium  # here, because who shows what was learnt need not have it

        self._environment = gymnasium.make(self._NAME, disable_env_checker=True)
        self._state = self._replay_rows(self._environment.reset(seed=seed)[0])
        self._return = 0.0
        width = 2 * self._INPUTS + self._ACTIONS + 1
        self._memory, self._held = np.zeros((self._MEMORY, width), np.float32), 0
        self._target: Array | None = None
        self.returns: list[float] = []

    def begin(self, random: np.random.Generator) -> Array:
        """Draw the weights of two networks."""
        parts = self._actor.begin(random, 0.01), self._critic.begin(random, 0.01)
        return np.concatenate(parts).astype(np.float32)

    def close(self) -> None:
        """End the environment."""
        self._environment.close()

    def gradient(self, weights: Array, version: int) -> Array:
        """Return the gradient after one step more."""
        if self._target is None:
            self._target = weights.copy()
            # Not as many in all, so that the workers' episodes do not end together.
            for _ in range(self._random.integers(self._RANDOM, 2 * self._RANDOM)):
                self._step_environment(self._random.uniform(-1, 1, self._ACTIONS).astype(np.float32))
        actor, critic = self._split_weights(weights)
        noise = self._NOISE * self._random.standard_normal(self._ACTIONS).astype(np.float32)
        self._step_environment((np.tanh(self._actor.forward(actor, self._state)[-1]) + noise).clip(-1, 1))
        rows = self._memory[self._random.integers(0, min(self._held, self._MEMORY), self._ROWS)]
        states, after, others = np.split(rows, (self._INPUTS, 2 * self._INPUTS), axis=1)
        gradient = np.zeros_like(weights)
        of_actor, of_critic = self._split_weights(gradient)
        layers = self._critic.forward(critic, np.hstack([states, others[:, :-1]]))
        errors = layers[-1] - others[:, -1:] - self._GAMMA * self._follow_targets(after)
        self._critic.backward(critic, layers, errors / self._ROWS, of_critic)
        layers = self._actor.forward(actor, states)
        actions = np.tanh(layers[-1])
        judged = self._critic.forward(critic, np.hstack([states, actions]))
        slopes = self._critic.backward(critic, judged, np.full_like(errors, -1 / self._ROWS))
        self._actor.backward(actor, layers, slopes[:, self._INPUTS :] * (1 - actions**2), of_actor)
        self._target += self._TARGET * (weights - self._target)
        return gradient

    def _follow_targets(self, after: Array) -> Array:
        assert self._target is not None
        actor, critic = self._split_weights(self._target)
        actions = np.tanh(self._actor.forward(actor, after)[-1])
        return self._critic.forward(critic, np.hstack([after, actions]))[-1]

    def _step_environment(self, action: Array) -> None:
        """Step the environment; an episode only ends by its length, so what follows always counts."""
        after, reward, _, cut, _ = self._environment.step(action)
        after = self._replay_rows(after)
        place = self._held % self._MEMORY
        self._memory[place] = np.concatenate([self._state, after, action, np.array([reward], np.float32)])
        self._held += 1
        self._return += float(reward)
        self._state = after
        if cut:
            self.returns.append(self._return)
            self._state, self._return = self._replay_rows(self._environment.reset()[0]), 0.0

    def _replay_rows(self, state: Array) -> Array:
        found: Array = state.astype(np.float32) * self._UNITS
        return found

    def _split_weights(self, weights: Array) -> tuple[Array, Array]:
        return weights[: self._actor.size], weights[self._actor.size :]
