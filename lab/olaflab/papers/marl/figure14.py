"""MARL's figure 14: lists turned afterwards into one value a step, as the paper does it, beside joint rows.

The paper's replay buffer becomes a hash map from a step's number to the values of all agents, one after the
other, so that a batch of 1024 rows takes 1024 look-ups and not as many for each agent. "Reshaping" gives the
trainer its arrays, one an agent and key, again.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from olaflab.papers.marl.figure8 import ROWS, draw_rows
from olaflab.papers.marl.stacks import ACTIONS, Columns, Game, Indices, Joint, Lists, make_filled

_STEPS_A_ROUND = 100
_TURNED = 2000
"""Steps at a time whose turning is measured."""


class Mapped:
    """The paper's hash map, made of lists."""

    def __init__(self, game: Game) -> None:
        sizes = [size for seen in game.observations for size in (seen, ACTIONS, seen, 1, 1)]
        self._cuts = list(accumulate(sizes))[:-1]
        self._steps: dict[int, npt.NDArray[np.float64]] = {}

    def turn_steps(self, lists: Lists, start: int, stop: int) -> None:
        """Turn these steps' tuples into one value each."""
        for index in range(start, stop):
            flat: list[Any] = [np.atleast_1d(each) for agent in lists.step(index) for each in agent]
            self._steps[index] = np.concatenate(flat)

    def fetch_rows(self, chosen: list[int]) -> list[npt.NDArray[np.float64]]:
        """Fetch rows by one look-up each, and nothing else."""
        return [self._steps[index] for index in chosen]

    def look_up(self, indices: Indices) -> npt.NDArray[np.float64]:
        """Look up rows one by one; returns (rows, values)."""
        return np.array(self.fetch_rows(indices.tolist()))

    def reshape_rows(self, found: npt.NDArray[np.float64]) -> Columns:
        """Return each agent's obs, act, next, reward and done as copies of their own."""
        parts = [np.ascontiguousarray(part) for part in np.split(found, self._cuts, axis=1)]
        return [tuple(parts[first : first + 5]) for first in range(0, len(parts), 5)]


@dataclass(frozen=True)
class Reorganised:
    """Median CPU seconds, for one trainer's batch of all agents."""

    predators: int
    agents: int
    rows: int
    lists: float
    fetched_lists: float
    """Look-ups in the lists alone: a tuple for each row and agent."""
    fetched: float
    """The same in the hash map: a value for each row."""
    looked_up: float
    """From the hash map into one array, without reshaping."""
    reshaped: float
    """Reshaping alone."""
    turned: float
    """To turn one step's tuples into a value."""
    joint: float
    """The SDK's ring, from which nothing is turned or reshaped."""


def measure_layouts(
    predators: tuple[int, ...], draws: int, rows: int, progress: Callable[[str], None]
) -> Iterator[Reorganised]:
    """Measure ``draws`` uniform draws of each layout in turn, from ``rows`` rows at most, by predators."""
    for count in predators:
        game, kept = Game(count), min(rows, ROWS[count])
        progress(f"{count} predators: turning {kept} rows")
        lists, joint = make_filled(Lists, game, count, kept), make_filled(Joint, game, count, kept)
        mapped, turning = Mapped(game), []
        for start in range(0, kept, _TURNED):
            stop = min(start + _TURNED, kept)
            turning.append(_time_call(mapped.turn_steps, lists, start, stop)[0] / (stop - start))
        random, seconds = np.random.default_rng(1), []
        for _ in range(draws):
            drawn_rows = [draw_rows(random, kept, 1) for _ in range(5)]
            from_lists, _ = _time_call(lists.gather, drawn_rows[0])
            fetched_lists, _ = _time_call(lists.fetch, drawn_rows[1].tolist())
            fetched, _ = _time_call(mapped.fetch_rows, drawn_rows[2].tolist())
            looked_up, found = _time_call(mapped.look_up, drawn_rows[3])
            reshaped, _ = _time_call(mapped.reshape_rows, found)
            from_ring, _ = _time_call(joint.gather, drawn_rows[4])
            seconds.append((from_lists, fetched_lists, fetched, looked_up, reshaped, from_ring))
        names = ("lists", "fetched_lists", "fetched", "looked_up", "reshaped", "joint")
        medians = dict(zip(names, np.median(seconds, axis=0).tolist(), strict=True))
        yield Reorganised(count, game.agents, kept, turned=float(np.median(turning)), **medians)


def _time_call(work: Callable[..., Any], *given: Any) -> tuple[float, Any]:
    start = time.thread_time()
    result = work(*given)
    return time.thread_time() - start, result
