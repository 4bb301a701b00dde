"""Steps of several agents in three layouts: lists of tuples (MARL's baseline), arrays, the SDK's joint rows.

All hold the same values; :meth:`gather` copies the rows of a batch that one trainer needs, of all agents.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from olaf.experience import Ring, Writer, agents

Indices = npt.NDArray[np.int64]
Values = npt.NDArray[np.float32]
Columns = list[tuple[npt.NDArray[Any], ...]]
"""For each agent obs, act, next, reward and done."""

_BLOCK = 1024
"""Rows that are made at a time."""
ACTIONS, EPISODE = 5, 25


@dataclass(frozen=True)
class Game:
    """Predator and prey: a prey and a landmark for three predators each, at least two landmarks (MARL §VI).

    Or cooperative navigation: as many landmarks as agents.
    """

    predators: int
    """Number of predators, or of navigators."""
    navigation: bool = False

    @property
    def prey(self) -> int:
        """Number of prey."""
        return 0 if self.navigation else self.predators // 3

    @property
    def observations(self) -> list[int]:
        """Number of values that each agent observes, the predators first."""
        if self.navigation:
            return [6 * self.predators] * self.predators
        landmarks, others = max(2, self.prey), self.predators + self.prey - 1
        common = 4 + 2 * landmarks + 2 * others
        return [common + 2 * self.prey] * self.predators + [common + 2 * (self.prey - 1)] * self.prey

    @property
    def agents(self) -> int:
        """Number of agents."""
        return self.predators + self.prey

    @property
    def row_bytes(self) -> int:
        """Values of a step, in binary32: every agent's obs, act, next, reward and done."""
        return 4 * (2 * sum(self.observations) + self.agents * (ACTIONS + 2))


class RowStack(Protocol):
    """A layout, for a number of rows that is given when it is made."""

    rows: int
    """Number of rows."""

    def add(self, block: Values) -> None:
        """Add steps as :func:`make_steps` makes them; an episode has 25."""

    def gather(self, indices: Indices) -> Columns:
        """Return copies or views of these rows, for each agent."""


Kind = TypeVar("Kind", bound=RowStack)


def make_steps(game: Game, seed: int, rows: int) -> Iterator[Values]:
    """Yield blocks of at most 1024 steps: (steps, values), obs of all agents | act | next | reward | done.

    What is next is observed at the following step, but where an episode ends.
    """
    random = np.random.default_rng(seed)
    seen = sum(game.observations)
    rest = game.agents * (ACTIONS + 2)
    last = random.random(seen, np.float32)
    for start in range(0, rows, _BLOCK):
        count = min(_BLOCK, rows - start)
        obs = random.random((count + 1, seen), np.float32)
        obs[0] = last
        after = obs[1:].copy()
        after[episode_ends(start, count)] = random.random(
            (int(episode_ends(start, count).sum()), seen), np.float32
        )
        act, end = np.split(random.random((count, rest), np.float32), [game.agents * ACTIONS], axis=1)
        yield np.concatenate([obs[:-1], act, after, end], axis=1)
        last = obs[-1]


def make_filled(kind: Callable[[Game, int], Kind], game: Game, seed: int, rows: int) -> Kind:
    """Make a stack filled by :func:`make_steps`."""
    stack = kind(game, rows)
    for block in make_steps(game, seed, rows):
        stack.add(block)
    return stack


def episode_ends(start: int, count: int) -> npt.NDArray[np.bool_]:
    """Return which steps from ``start`` on are the last of an episode (count,)."""
    last: npt.NDArray[np.bool_] = (np.arange(start, start + count) + 1) % EPISODE == 0
    return last


def _cut_block(game: Game, block: Values) -> dict[str, list[Values]]:
    """Cut a block's values by key and agent."""
    single = [1] * game.agents
    sizes = {
        "obs": game.observations,
        "act": [ACTIONS] * game.agents,
        "next": game.observations,
        "reward": single,
        "done": single,
    }
    flat = [size for each in sizes.values() for size in each]
    parts = iter(np.split(block, np.cumsum(flat)[:-1], axis=1))
    return {key: [next(parts) for _ in each] for key, each in sizes.items()}


class Lists:
    """Per agent a list of tuples with a vector each, as the reference implementation of MADDPG keeps them.

    Observations are in binary64, as the games give them, and what is next in a tuple is the very object that
    is observed in the following one: a run of neighbours finds half of its vectors in the cache.
    """

    def __init__(self, game: Game, rows: int) -> None:
        """Begin empty; the lists grow whatever ``rows`` is."""
        self.rows = 0
        self._game = game
        self._agents: list[list[tuple[Any, ...]]] = [[] for _ in range(game.agents)]

    def add(self, block: Values) -> None:
        """Add a tuple an agent and step."""
        cut, last = _cut_block(self._game, block), episode_ends(self.rows - 1, len(block))
        for step in range(len(block)):
            begins = self.rows == 0 or bool(last[step])
            for agent, kept in enumerate(self._agents):
                obs = cut["obs"][agent][step].astype(np.float64) if begins else kept[-1][2]
                act, after = cut["act"][agent][step].copy(), cut["next"][agent][step].astype(np.float64)
                reward, done = (float(cut[key][agent][step, 0]) for key in ("reward", "done"))
                kept.append((obs, act, after, reward, done))
            self.rows += 1

    def step(self, index: int) -> list[tuple[Any, ...]]:
        """Return all agents' tuples of one step."""
        return [kept[index] for kept in self._agents]

    def fetch(self, chosen: list[int]) -> list[list[tuple[Any, ...]]]:
        """Return each agent's tuples, and nothing else."""
        return [[kept[index] for index in chosen] for kept in self._agents]

    def gather(self, indices: Indices) -> Columns:
        """Gather row by row and key by key, agent by agent."""
        chosen = indices.tolist()
        return [self.of(agent, chosen) for agent in range(len(self._agents))]

    def of(self, agent: int, chosen: list[int]) -> tuple[npt.NDArray[Any], ...]:
        """Return one agent's rows."""
        kept = self._agents[agent]
        columns: tuple[list[Any], ...] = ([], [], [], [], [])
        for index in chosen:
            for column, value in zip(columns, kept[index], strict=True):
                column.append(np.asarray(value))
        return tuple(np.array(column) for column in columns)


class Arrays:
    """Per agent and key an array of its own."""

    def __init__(self, game: Game, rows: int) -> None:
        self.rows = 0
        self._game = game
        self._agents = [
            tuple(np.empty((rows, size), np.float32) for size in (seen, ACTIONS, seen, 1, 1))
            for seen in game.observations
        ]

    def add(self, block: Values) -> None:
        """Add a block to every array."""
        for key, parts in zip(range(5), _cut_block(self._game, block).values(), strict=True):
            for agent, part in zip(self._agents, parts, strict=True):
                agent[key][self.rows : self.rows + len(block)] = part
        self.rows += len(block)

    def gather(self, indices: Indices) -> Columns:
        """Gather ``array[indices]`` of each."""
        return [tuple(array[indices] for array in agent) for agent in self._agents]


class Joint:
    """The SDK's ring: one row a step; what is gathered are views of one copy."""

    def __init__(self, game: Game, rows: int) -> None:
        self.rows = 0
        self._game = game
        layout = agents(game.observations, [ACTIONS] * game.agents, following=False)
        self.ring = Ring(layout, rows)
        self._parts = layout.parts
        self._writer = Writer(self.ring, 0)
        self._into = self.ring.buffers(_BLOCK)
        self._actor = np.zeros(_BLOCK, np.int64)

    def add(self, block: Values) -> None:
        """Add a row a step."""
        cut = _cut_block(self._game, block)
        self._writer.write({key: np.concatenate(values, axis=1) for key, values in cut.items()})
        self.rows += len(block)

    def gather(self, indices: Indices) -> Columns:
        """Gather by one copy of the rows."""
        count = len(indices)
        batch = self.ring.gather(self._actor[:count], indices, [each[:count] for each in self._into])
        parts = list(self._parts.items())
        return [tuple(batch[key][:, part[agent]] for key, part in parts) for agent in range(len(parts[0][1]))]

    def contiguous(self, start: int, rows: int) -> None:
        """Copy neighbouring rows at once: what no layout can undercut."""
        self._into[0][:rows] = self.ring.regions[0][start : start + rows]
