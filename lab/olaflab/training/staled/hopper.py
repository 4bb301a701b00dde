"""Hopper by proximal policy optimisation, in numpy: two networks of the paper's size (iSwitch §5.1)."""

import numpy as np

from olaflab.training.staled.layers import Array, LayeredNetwork, clip_norm


class Normal:
    """Numbers by the mean and deviation of what was seen so far."""

    def __init__(self, size: int) -> None:
        self._count, self._mean, self._square = 1e-4, np.zeros(size), np.ones(size)

    def add_row(self, value: Array) -> None:
        """Add one more row."""
        self._count += 1
        away = value - self._mean
        self._mean = self._mean + away / self._count
        self._square = self._square + (away * (value - self._mean) - self._square) / self._count

    def normalise(self, value: Array) -> Array:
        """Normalise a value to deviations from the mean, ten at most."""
        return ((value - self._mean) / np.sqrt(self._square + 1e-8)).clip(-10, 10).astype(np.float32)


class HopperPolicy:
    """Hopper: 512 steps, ten times in parts of 64 rows, a part a gradient.

    A worker plays again with the weights that it has then, and normalises observations by what it has seen.
    """

    rate = 1e-3
    _NAME, _INPUTS, _ACTIONS = "Hopper-v5", 11, 3
    _STEPS, _EPOCHS, _ROWS = 512, 10, 64
    _GAMMA, _LAMBDA, _CLIP, _SCALE = 0.99, 0.95, 0.2, 0.05

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._actor = LayeredNetwork(self._INPUTS, 64, 64, self._ACTIONS)
        self._critic = LayeredNetwork(self._INPUTS, 64, 64, 1)
        self._normal = Normal(self._INPUTS)
        import gymnasium  # here, because who shows what was learnt need not have it

        self._environment = gymnasium.make(self._NAME, disable_env_checker=True)
        self._state = self._environment.reset(seed=seed)[0]
        self._return = 0.0
        self._parts: list[tuple[Array, ...]] = []
        self.returns: list[float] = []

    def begin(self, random: np.random.Generator) -> Array:
        """Draw the weights of two networks, and the logarithms of deviations."""
        parts = (self._actor.begin(random, 0.01), self._critic.begin(random, 1.0))
        return np.concatenate([*parts, np.full(self._ACTIONS, -0.5)]).astype(np.float32)

    def close(self) -> None:
        """End the environment."""
        self._environment.close()

    def gradient(self, weights: Array, version: int) -> Array:
        """Return the gradient of the next part."""
        if not self._parts:
            rows = self._play_steps(weights)
            for _ in range(self._EPOCHS):
                order = self._random.permutation(self._STEPS).reshape(-1, self._ROWS)
                self._parts += [tuple(column[part] for column in rows) for part in order]
        return self._learn_rows(weights, *self._parts.pop(0))

    def _learn_rows(
        self, weights: Array, states: Array, actions: Array, before: Array, gains: Array, returns: Array
    ) -> Array:
        actor, critic, deviation = self._split_weights(weights)
        gradient = np.zeros_like(weights)
        of_actor, of_critic, of_deviation = self._split_weights(gradient)
        layers = self._actor.forward(actor, states)
        away = (actions - layers[-1]) / np.exp(deviation)
        ratio = np.exp(self._log_likelihood(away, deviation) - before)
        gains = (gains - gains.mean()) / (gains.std() + 1e-8)
        used = ratio * gains <= ratio.clip(1 - self._CLIP, 1 + self._CLIP) * gains
        likely = (-gains * ratio * used / len(states))[:, None]
        of_deviation[:] = (likely * (away**2 - 1)).sum(0)
        self._actor.backward(actor, layers, likely * away / np.exp(deviation), of_actor)
        layers = self._critic.forward(critic, states)
        errors = 0.5 * (layers[-1] - returns[:, None]) / len(states)
        self._critic.backward(critic, layers, errors, of_critic)
        return clip_norm(gradient)

    def _play_steps(self, weights: Array) -> tuple[Array, ...]:
        actor, critic, deviation = self._split_weights(weights)
        states = np.zeros((self._STEPS + 1, self._INPUTS), np.float32)
        noise = self._random.standard_normal((self._STEPS, self._ACTIONS)).astype(np.float32)
        actions, rewards = np.zeros_like(noise), np.zeros(self._STEPS, np.float32)
        fell, ended = np.zeros((2, self._STEPS), bool)
        after = np.zeros((self._STEPS, self._INPUTS), np.float32)
        states[0] = self._normal.normalise(self._state)
        for step in range(self._STEPS):
            mean = self._actor.forward(actor, states[step])[-1]
            actions[step] = mean + noise[step] * np.exp(deviation)
            self._state, reward, fell[step], cut, _ = self._environment.step(actions[step].clip(-1, 1))
            self._normal.add_row(self._state)
            after[step] = states[step + 1] = self._normal.normalise(self._state)
            rewards[step] = reward * self._SCALE
            self._return += float(reward)
            ended[step] = fell[step] or cut
            if ended[step]:
                self.returns.append(self._return)
                self._state, self._return = self._environment.reset()[0], 0.0
                states[step + 1] = self._normal.normalise(self._state)
        values = self._critic.forward(critic, states[:-1])[-1][:, 0]
        following = self._critic.forward(critic, after)[-1][:, 0] * ~fell
        errors = rewards + self._GAMMA * following - values
        gains, gain = np.zeros_like(errors), 0.0
        for step in reversed(range(self._STEPS)):
            gains[step] = gain = errors[step] + self._GAMMA * self._LAMBDA * gain * (not ended[step])
        return states[:-1], actions, self._log_likelihood(noise, deviation), gains, gains + values

    def _log_likelihood(self, away: Array, deviation: Array) -> Array:
        """Return the logarithm of the likelihood of actions so many deviations away, but for a constant."""
        found: Array = (-0.5 * away**2 - deviation).sum(1)
        return found

    def _split_weights(self, weights: Array) -> tuple[Array, Array, Array]:
        middle = self._actor.size
        end = middle + self._critic.size
        return weights[:middle], weights[middle:end], weights[end:]
