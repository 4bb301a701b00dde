"""Drawing rows from a ring: each sampler knows how likely every row comes in, so that weights are right.

Runs of neighbours are MARL's (its algorithm 1): rows that lie side by side cost fewer jumps in memory. Rows
of a run resemble each other, so a batch of them is worth fewer independent rows: :func:`effective_rows`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from olaf.experience.ring import Array, Batch, Integers, Ring
from olaf.experience.window import Window

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Draw:
    """Rows that were drawn: (rows,) each."""

    actors: Integers
    positions: Integers
    probability: Floats
    """q(i): of one row of a batch to be this one. Over all rows that can be drawn it adds up to one."""
    runs: Integers
    """The number of the run in which a row came in, from 0 on."""
    population: int
    """How many rows could be drawn."""

    def weights(self, beta: float = 1.0) -> npt.NDArray[np.float32]:
        """Importance weights (L·q(i))^−β: at β = 1 the weighted mean of a batch is the ring's, on average."""
        weights: npt.NDArray[np.float32] = ((self.population * self.probability) ** -beta).astype(np.float32)
        return weights

    def __len__(self) -> int:
        return len(self.positions)


class Sampler(Protocol):
    """Any way to draw rows."""

    def draw(self, rows: int) -> Draw:
        """Exactly so many rows. Raises IndexError before there are enough in the ring."""


class Uniform:
    """Each row is as likely as any other, whatever came before."""

    def __init__(self, ring: Ring, random: np.random.Generator) -> None:
        self._ring, self._random = ring, random

    def draw(self, rows: int) -> Draw:
        """Independent rows."""
        window = Window(self._ring)
        actors, positions = window.spread(self._random, rows)
        return Draw(actors, positions, np.full(rows, 1 / window.total), np.arange(rows), window.total)


class Runs:
    """Runs of ``n`` neighbours from starts that are equally likely; a run stays within an actor's rows.

    Every row is about equally likely; only the n − 1 at either end of an actor's rows are less so.
    """

    def __init__(self, ring: Ring, n: int, random: np.random.Generator) -> None:
        """``n`` counts the start. Raises ValueError for less than one."""
        if n < 1:
            raise ValueError(f"runs of {n} rows; give 1 or more")
        self._ring, self._n, self._random = ring, n, random

    def draw(self, rows: int) -> Draw:
        """``rows`` / n runs. Raises ValueError if ``rows`` is not a multiple of n."""
        n = self._n
        if rows % n:
            raise ValueError(f"{rows} rows are not a multiple of runs of {n} rows")
        window = Window(self._ring)
        starts, first = window.spread(self._random, rows // n, n)
        positions = np.empty((len(first), n), np.int64)
        positions[:, 0] = first
        for step in range(1, n):
            positions[:, step] = window.after(starts, positions[:, step - 1])
        actors, flat = np.repeat(starts, n), positions.reshape(-1)
        sizes, place = window.sizes[actors], window.ordinal(actors, flat)
        ways = np.minimum(np.minimum(place + 1, sizes - place), np.minimum(n, sizes - n + 1))
        every = n * np.maximum(window.sizes - n + 1, 0).sum()
        return Draw(actors, flat, ways / every, np.repeat(np.arange(len(starts)), n), window.total)


def sample(ring: Ring, sampler: Sampler, rows: int, out: list[Array] | None = None) -> tuple[Batch, Draw]:
    """Draw and gather. Rows that a writer overwrote meanwhile are drawn again, so that all are whole."""
    draw = sampler.draw(rows)
    while True:
        batch = ring.gather(draw.actors, draw.positions, out)
        if batch.intact.all():
            return batch, draw
        lost, fresh = np.flatnonzero(~batch.intact), sampler.draw(rows)
        arrays: dict[str, Any] = {}
        for name in ("actors", "positions", "probability", "runs"):
            arrays[name] = getattr(draw, name).copy()
            arrays[name][lost] = getattr(fresh, name)[lost]
        arrays["runs"][lost] += draw.runs.max() + 1  # not neighbours of the rows that stay
        draw = replace(fresh, **arrays)


def effective_rows(values: npt.ArrayLike, runs: Integers, weights: npt.ArrayLike | None = None) -> float:
    """How many independent rows a batch is worth, (rows, …) values of it and the run of each row.

    The variance of the batch's weighted mean is compared with that of as many independent rows: rows of one
    run are taken to depend on each other, those of different runs not. The mean over all values.
    """
    table = np.asarray(values, np.float64).reshape(len(runs), -1)
    weight = np.ones(len(runs)) if weights is None else np.asarray(weights, np.float64)
    weight = weight / weight.sum()
    away = table - weight @ table
    _, which = np.unique(runs, return_inverse=True)
    groups = int(which.max()) + 1
    sums = np.zeros((groups, table.shape[1]))
    np.add.at(sums, which, weight[:, None] * away)
    clustered = (sums**2).sum(axis=0) * (groups / max(groups - 1, 1))
    single = weight @ away**2
    varies = single > 0
    if not varies.any():
        return float(len(runs))
    return float(min(1 / np.mean(clustered[varies] / single[varies]), len(runs)))
