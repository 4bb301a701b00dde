"""MARL's figure 8, in three layouts: the time to draw a mini-batch, uniformly and in runs of neighbours."""

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from olaflab.papers.marl.stacks import Arrays, Game, Indices, Joint, Lists, RowStack, make_filled

BATCH = 1024
WAYS = {"uniform": 1, "n=16, ref=64": 16, "n=64, ref=16": 64}
"""The paper's three, by the length of a run."""
ROWS = {3: 300_000, 6: 150_000, 12: 100_000, 24: 30_000, 48: 8_000}
"""Rows of the lists, which take some times the memory of their values."""
ARRAY_ROWS = {3: 1_000_000, 6: 500_000, 12: 300_000, 24: 100_000, 48: 25_000}
"""Rows of arrays and joint rows: 0.6 to 2.6 GB, far beyond any cache."""


@dataclass(frozen=True)
class DrawCost:
    """Median CPU seconds to draw and gather a mini-batch for one trainer, of all agents."""

    predators: int
    agents: int
    layout: str
    way: str
    rows: int
    seconds: float


def measure_costs(
    predators: tuple[int, ...], draws: int, share: float, progress: Callable[[str], None]
) -> Iterator[DrawCost]:
    """Measure costs by number of predators and layout; the ways in turn, ``draws`` of each.

    ``share`` of the usual rows are kept, for a quick look.
    """
    for count in predators:
        game = Game(count)
        few, many = (max(BATCH * 2, int(rows[count] * share)) for rows in (ROWS, ARRAY_ROWS))
        kinds: tuple[tuple[str, type[Lists] | type[Arrays] | type[Joint], int], ...] = (
            ("lists", Lists, few),
            ("arrays", Arrays, many),
            ("joint rows", Joint, many),
        )
        for name, kind, rows in kinds:
            progress(f"{count} predators: filling {name} with {rows} rows")
            stack = make_filled(kind, game, count, rows)
            yield from _measure_stack(game, name, stack, draws)
            del stack
            gc.collect()


def _measure_stack(game: Game, name: str, stack: RowStack, draws: int) -> Iterator[DrawCost]:
    random = np.random.default_rng(1)
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    if isinstance(stack, Joint):
        seconds["contiguous copy"] = []
    for turn in range(draws + 1):
        for way, times in seconds.items():
            start = time.thread_time()
            if way in WAYS:
                stack.gather(draw_rows(random, stack.rows, WAYS[way]))
            elif isinstance(stack, Joint):
                stack.contiguous(int(random.integers(stack.rows - BATCH)), BATCH)
            if turn:  # the first one touches memory that was not used yet
                times.append(time.thread_time() - start)
    for way, times in seconds.items():
        yield DrawCost(game.predators, game.agents, name, way, stack.rows, float(np.median(times)))


def draw_rows(random: np.random.Generator, rows: int, run: int) -> Indices:
    """Draw rows of a mini-batch: uniform starts of runs, in a buffer that is not full."""
    starts = random.integers(0, rows - run + 1, BATCH // run)
    return (starts[:, None] + np.arange(run)).reshape(-1)
