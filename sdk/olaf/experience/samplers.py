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

Floats = npt.NDArray[np.float64]


class SumTree:
    """A binary tree whose inner nodes are the sums of what is below them."""

    def __init__(self, size: int) -> None:
        """``size`` zeros."""
        self._base = 1 << max(size - 1, 1).bit_length()
        self._nodes = np.zeros(2 * self._base)
        self.leaves: Floats = self._nodes[self._base : self._base + size]
        """(size,) To be read; :meth:`set_leaves` writes."""

    @property
    def total(self) -> float:
        """The sum."""
        return float(self._nodes[1])

    def set_leaves(self, places: Integers, values: npt.ArrayLike) -> None:
        """Write numbers; of a place that is named twice, the last counts."""
        leaves = places + self._base
        self._nodes[leaves] = values
        nodes = np.sort(leaves)
        while len(nodes) and nodes[0] > 1:
            nodes = nodes >> 1
            nodes = nodes[np.append(True, nodes[1:] != nodes[:-1])]  # still sorted: each parent once
            self._nodes[nodes] = self._nodes[2 * nodes] + self._nodes[2 * nodes + 1]

    def fill_leaves(self, values: Floats) -> None:
        """Write all numbers, (size,)."""
        self.leaves[:] = values
        level = self._base
        while level > 1:
            below = self._nodes[level : 2 * level]
            level //= 2
            np.add(below[::2], below[1::2], out=self._nodes[level : 2 * level])

    def find_leaves(self, sums: Floats) -> Integers:
        """Find for each of ``sums``, in [0, total), the place at which the running sum exceeds it."""
        left, nodes = sums.copy(), np.ones(len(sums), np.int64)
        for _ in range(self._base.bit_length() - 1):
            nodes *= 2
            below = self._nodes[nodes]
            right = left >= below
            left -= np.where(right, below, 0.0)
            nodes += right
        places: Integers = np.minimum(nodes - self._base, len(self.leaves) - 1)
        return places


class Window:
    """From the oldest whole row of each actor to the newest whose successor is there, closing rows left out.

    Rows are counted by *ordinal*: how many that can be drawn lie before it in its actor's window. The write
    head is the end of every window, so nothing that is counted on from a row runs across it.
    """

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._following = ring.layout.following is not None
        begin = ring.first()
        moved = np.arange(len(begin))
        self.stop: Integers = np.zeros_like(begin)
        """(actors,) After the last row."""
        self.first: Integers = np.zeros_like(begin)
        """(actors,) The first row."""
        self.sizes: Integers = np.zeros_like(begin)
        """(actors,) How many rows."""
        self._closed: Integers = np.zeros_like(begin)
        while len(moved):
            begin[moved] = ring.first()[moved]
            self.stop[moved] = np.maximum(ring.count()[moved] - self._following, 0)
            self.first[moved] = np.minimum(begin[moved], self.stop[moved])
            self._closed[moved] = self._count_closings(moved, self.first[moved])
            self.sizes[moved] = self.ordinal(moved, self.stop[moved])
            # What a writer has overwritten since belongs to another window.
            moved = np.flatnonzero(ring.first()[: len(begin)] != begin)

    @property
    def total(self) -> int:
        """How many rows, of all actors."""
        return int(self.sizes.sum())

    def ordinal(self, actors: Integers, positions: Integers) -> Integers:
        """Number the rows; at the window's end, the number is that of the rows before it."""
        passed = positions - self.first[actors]
        if not self._following:
            return passed
        return passed - (self._count_closings(actors, positions) - self._closed[actors]) % (1 << 32)

    def usable(self, actors: Integers, positions: Integers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return which rows within the window do not close an episode."""
        if not self._following:
            return np.ones(len(positions), bool)
        return ~self._ring.closing(actors, positions)

    def after(self, actors: Integers, positions: Integers) -> Integers:
        """Return the next row that can be drawn after each; it may be the window's end."""
        return positions + 1 + ~self.usable(actors, positions + 1)

    def draw_spread(
        self, random: np.random.Generator, count: int, apart: int = 1
    ) -> tuple[Integers, Integers]:
        """Draw ``count`` rows, with as many as ``apart`` from each to its window's end, all equally likely.

        Raises IndexError where there is none.
        """
        spans = np.where(self.sizes >= apart, np.maximum(self.stop - self.first - apart + 1, 0), 0)
        ends = np.cumsum(spans)
        if not len(ends) or not ends[-1]:
            raise IndexError(f"no {apart} rows to draw: all actors have {self.total}")
        actors, positions = np.empty(count, np.int64), np.empty(count, np.int64)
        have = 0
        while have < count:
            spots = random.integers(0, ends[-1], count - have)
            drawn = np.searchsorted(ends, spots, side="right")
            places = self.first[drawn] + spots - (ends[drawn] - spans[drawn])
            if self._following:
                fits = self.ordinal(drawn, places) <= self.sizes[drawn] - apart
                fits &= self.usable(drawn, places)
                drawn, places = drawn[fits], places[fits]
            actors[have : have + len(drawn)], positions[have : have + len(drawn)] = drawn, places
            have += len(drawn)
        return actors, positions

    def _count_closings(self, actors: Integers, positions: Integers) -> Integers:
        """Count the rows before each that close an episode, modulo 2³²."""
        return self._ring.column("episode")[self._ring.slots(actors, positions)].astype(np.int64)


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
        """Weigh by (L·q(i))^−β: at β = 1 the weighted mean of a batch is the ring's, on average."""
        weights: npt.NDArray[np.float32] = ((self.population * self.probability) ** -beta).astype(np.float32)
        return weights

    def __len__(self) -> int:
        return len(self.positions)


class Sampler(Protocol):
    """Any way to draw rows."""

    def draw(self, rows: int) -> Draw:
        """Draw exactly so many rows. Raises IndexError before there are enough in the ring."""


class Uniform:
    """Each row is as likely as any other, whatever came before."""

    def __init__(self, ring: Ring, random: np.random.Generator) -> None:
        self._ring, self._random = ring, random

    def draw(self, rows: int) -> Draw:
        """Draw independent rows."""
        window = Window(self._ring)
        actors, positions = window.draw_spread(self._random, rows)
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
        """Draw ``rows`` / n runs. Raises ValueError if ``rows`` is not a multiple of n."""
        n = self._n
        if rows % n:
            raise ValueError(f"{rows} rows are not a multiple of runs of {n} rows")
        window = Window(self._ring)
        starts, first = window.draw_spread(self._random, rows // n, n)
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
    """Estimate how many independent rows a batch is worth, from values (rows, …) and the run of each row.

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


class SampleToInsertRatio:
    """Holds the learner back when it would use rows too often, and actors when it cannot keep up."""

    def __init__(self, ring: Ring, ratio: float, tolerance: float, minimum: int = 1) -> None:
        """``ratio`` samples a row, give or take ``tolerance`` samples, once ``minimum`` rows are there.

        Raises ValueError for a tolerance below one insertion's samples: both sides could wait for ever.
        """
        if not ratio > 0 or tolerance < max(1.0, ratio) or minimum < 1:
            raise ValueError(
                f"ratio {ratio}, tolerance {tolerance} (at least {max(1.0, ratio)}), minimum {minimum}"
            )
        self._ring, self._ratio, self._tolerance, self._minimum = ring, ratio, tolerance, minimum

    @property
    def inserted(self) -> int:
        """Rows, of all actors."""
        return int(self._ring.count().sum())

    @property
    def sampled(self) -> int:
        """Rows drawn, by all processes."""
        return int(self._ring.control["sampled"][0])

    def may_insert(self, rows: int = 1) -> bool:
        """Return whether so many rows more do not leave the learner too far behind."""
        after = self.inserted + rows
        return (
            after <= self._minimum
            or after * self._ratio - self.sampled <= self._owed_samples + self._tolerance
        )

    def may_sample(self, rows: int = 1) -> bool:
        """Return whether so many samples more do not use the rows too often."""
        inserted = self.inserted
        if inserted < self._minimum:
            return False
        return inserted * self._ratio - self.sampled - rows >= self._owed_samples - self._tolerance

    def drew(self, rows: int) -> None:
        """Count samples."""
        with self._ring.locks.hold():
            self._ring.control["sampled"][0] += rows

    @property
    def _owed_samples(self) -> float:
        """The rows that are there before the first sample are not owed to the learner."""
        return self._minimum * self._ratio
