"""Two games of OpenAI's multi-agent particle environments in numpy, many worlds at a time.

``Tag`` is predator and prey (simple_tag), ``Hunt`` the same with prey of the environment, ``Spread``
cooperative navigation (simple_spread), with the rules of the original, which MARL's figures stand on. Its
successor mpe2 differs from it: it moves before it accelerates, swaps the signs of actions, and mixes the
navigators' rewards otherwise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

ACTIONS = 5
"""Nothing, +x, −x, +y, −y: a relaxed choice of one, of which the differences push."""
STEPS = 25
"""Steps of an episode, which is cut there and never terminates."""
_SECONDS, _DAMPING, _FORCE, _MARGIN = 0.1, 0.25, 100.0, 1e-3


class Particles(ABC):
    """Discs that push each other and observe all others. Arrays have a world on their first axis."""

    def __init__(
        self,
        worlds: int,
        random: np.random.Generator,
        *,
        sizes: npt.ArrayLike,
        push: npt.ArrayLike,
        fastest: npt.ArrayLike,
        landmarks: int,
        within: float,
        obstacles: float | None,
    ) -> None:
        """``sizes``, ``push`` and ``fastest`` are each agent's radius, acceleration and speed limit.

        ``landmarks`` lie within ±``within`` at first; as ``obstacles`` they have that radius.
        """
        self._random, self._within = random, within
        self._sizes = np.asarray(sizes, float)
        self._push, self._fastest = np.asarray(push, float)[:, None], np.asarray(fastest, float)
        self.agents, self.worlds = len(self._sizes), worlds
        self.at: Values = np.zeros((worlds, self.agents, 2))
        self.speed: Values = np.zeros((worlds, self.agents, 2))
        self.landmarks: Values = np.zeros((worlds, landmarks, 2))
        self._touching = self._sizes
        if obstacles is not None:
            self._touching = np.concatenate([self._sizes, np.full(landmarks, obstacles)])
        self.reset()

    @property
    def observations(self) -> list[int]:
        """How many values each agent observes."""
        return [sum(part.shape[-1] for part in self._seen(agent)) for agent in range(self.agents)]

    def reset(self) -> Values:
        """Begin all worlds again; what is observed, as :meth:`observe`."""
        self.at = self._random.uniform(-1, 1, self.at.shape)
        self.speed = np.zeros_like(self.speed)
        self.landmarks = self._random.uniform(-self._within, self._within, self.landmarks.shape)
        return self.observe()

    def observe(self) -> Values:
        """Return every agent's observation (worlds, values), one after the other."""
        return np.concatenate([part for agent in range(self.agents) for part in self._seen(agent)], axis=1)

    def step(self, actions: npt.ArrayLike) -> tuple[Values, Values]:
        """Move by ``actions``, (worlds, agents · 5); what is observed, and rewards (worlds, agents)."""
        action = np.asarray(actions, float).reshape(self.worlds, self.agents, ACTIONS)
        force = self._push * (action[..., 1::2] - action[..., 2::2]) + self._contacts()
        speed = self.speed * (1 - _DAMPING) + force * _SECONDS
        fast = np.sqrt((speed**2).sum(axis=-1))
        over = fast > self._fastest
        limited = np.where(over, self._fastest / np.where(over, fast, 1), 1.0)
        self.speed = speed * limited[..., None]
        self.at = self.at + self.speed * _SECONDS
        return self.observe(), self.rewards()

    @abstractmethod
    def rewards(self) -> Values:
        """Return the rewards (worlds, agents) of where everyone is."""

    def _contacts(self) -> Values:
        """Return the forces (worlds, agents, 2) between discs, nearly 0 until they overlap."""
        bodies = len(self._touching)
        places = np.concatenate([self.at, self.landmarks], axis=1)[:, :bodies]
        away = self.at[:, :, None] - places[:, None]
        distance = np.sqrt((away**2).sum(axis=-1))
        distance[:, range(self.agents), range(self.agents)] = np.inf
        reach = self._sizes[:, None] + self._touching
        depth = np.logaddexp(0, -(distance - reach) / _MARGIN) * _MARGIN
        force: Values = ((_FORCE * depth / distance)[..., None] * away).sum(axis=2)
        return force

    def _collide(self) -> npt.NDArray[np.bool_]:
        """Return who touches whom (worlds, agents, agents); everyone touches themselves."""
        apart = np.sqrt(((self.at[:, :, None] - self.at[:, None]) ** 2).sum(axis=-1))
        touches: npt.NDArray[np.bool_] = apart < self._sizes[:, None] + self._sizes
        return touches

    def _seen(self, agent: int) -> list[Values]:
        """Own speed and place, landmarks and other agents from there, and what the game adds."""
        here = self.at[:, agent]
        others = np.delete(self.at, agent, axis=1)
        marks, around = self.landmarks - here[:, None], others - here[:, None]
        flat = [each.reshape(self.worlds, -1) for each in (marks, around, self._more(agent))]
        return [self.speed[:, agent], here, *flat]

    @abstractmethod
    def _more(self, agent: int) -> Values:
        """Return the observed values (worlds, values) of one game alone."""


class Tag(Particles):
    """Predators, the first ``predators`` agents, hunt faster prey among obstacles (simple_tag)."""

    def __init__(self, predators: int, worlds: int, random: np.random.Generator) -> None:
        """A prey for three predators, and as many obstacles, but two at least (MARL §VI)."""
        self.predators, self.prey = predators, max(1, predators // 3)

        def each(predator: float, prey: float) -> list[float]:
            return [predator] * predators + [prey] * self.prey

        obstacles: dict[str, Any] = {"landmarks": max(2, self.prey), "within": 0.9, "obstacles": 0.2}
        sizes, push, fastest = each(0.075, 0.05), each(3.0, 4.0), each(1.0, 1.3)
        super().__init__(worlds, random, sizes=sizes, push=push, fastest=fastest, **obstacles)

    def rewards(self) -> Values:
        """Give 10 to every predator for each touch of a prey, −10 to that prey; prey pay for leaving the
        field."""
        touches = self._collide()[:, self.predators :, : self.predators]
        out = np.abs(self.at[:, self.predators :])
        near = np.where(out < 0.9, 0.0, (out - 0.9) * 10)
        fine = np.where(out < 1.0, near, np.minimum(np.exp(2 * np.minimum(out, 5) - 2), 10)).sum(axis=-1)
        prey = -10.0 * touches.sum(axis=2) - fine
        predator = np.repeat(10.0 * touches.sum(axis=(1, 2))[:, None], self.predators, axis=1)
        return np.concatenate([predator, prey], axis=1)

    def _more(self, agent: int) -> Values:
        """Return the speeds of other prey."""
        prey = [other for other in range(self.predators, self.agents) if other != agent]
        return self.speed[:, prey]


class Hunt:
    """Predator and prey whose prey the environment moves (MARL §II-B): predators alone act and learn.

    The paper does not give the rule. A prey runs from the nearest predator and from the border, weighed by
    their squared distance, with half of its force: with all of it no predator catches one.
    """

    def __init__(self, predators: int, worlds: int, random: np.random.Generator) -> None:
        """As :class:`Tag`."""
        self._tag = Tag(predators, worlds, random)
        self.agents, self.worlds = predators, worlds

    @property
    def observations(self) -> list[int]:
        """How many values each predator observes."""
        return self._tag.observations[: self.agents]

    def reset(self) -> Values:
        """Begin again as :meth:`Particles.reset` does."""
        return self._own(self._tag.reset())

    def step(self, actions: npt.ArrayLike) -> tuple[Values, Values]:
        """Step as :meth:`Particles.step` does, with actions and rewards of predators alone."""
        observed, rewards = self._tag.step(np.concatenate([np.asarray(actions), self._flight()], axis=1))
        return self._own(observed), rewards[:, : self.agents]

    def _own(self, observed: Values) -> Values:
        return observed[:, : sum(self.observations)]

    def _flight(self) -> Values:
        """Return the actions (worlds, prey · 5) of fleeing prey."""
        at = self._tag.at
        prey = at[:, self.agents :]
        apart = prey[:, :, None] - at[:, None, : self.agents]
        distance = np.linalg.norm(apart, axis=-1, keepdims=True)
        nearest = distance == distance.min(axis=2, keepdims=True)
        away = np.where(nearest, apart / distance**3, 0.0).sum(axis=2)
        border = np.maximum(1.1 - np.abs(prey), 0.05) ** -2
        push = away - np.sign(prey) * border
        push = 0.5 * push / np.linalg.norm(push, axis=-1, keepdims=True)
        action = np.zeros((*prey.shape[:2], ACTIONS))
        action[..., 1::2], action[..., 2::2] = np.maximum(push, 0), np.maximum(-push, 0)
        return action.reshape(self.worlds, -1)


class Spread(Particles):
    """Agents that are to cover as many landmarks without touching each other (simple_spread)."""

    def __init__(self, agents: int, worlds: int, random: np.random.Generator) -> None:
        """As many landmarks as ``agents``."""
        sizes, push, fastest = [0.15] * agents, [5.0] * agents, [np.inf] * agents
        marks: dict[str, Any] = {"landmarks": agents, "within": 1.0, "obstacles": None}
        super().__init__(worlds, random, sizes=sizes, push=push, fastest=fastest, **marks)

    def rewards(self) -> Values:
        """Give all the same: the sum of agents' distances to landmarks and of touches, also of oneself."""
        apart = np.sqrt(((self.at[:, :, None] - self.landmarks[:, None]) ** 2).sum(axis=-1))
        uncovered = apart.min(axis=1).sum(axis=1)
        total = -self.agents * uncovered - self._collide().sum(axis=(1, 2))
        return np.repeat(total[:, None], self.agents, axis=1)

    def _more(self, agent: int) -> Values:
        """Return the others' messages: silence, two values each."""
        return np.zeros((self.worlds, 2 * (self.agents - 1)))
