"""Drawing rows by priority, such as their TD error: one by one, or with neighbours (MARL §VI-C)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from olaf.experience.ring import Integers, Ring
from olaf.experience.samplers import Draw, Floats, SumTree, Window
from olaf.guards import Dropped, usable


class Prioritised:
    """A row comes in with probability p^α / Σ p^α; new rows have the highest priority that was ever given."""

    def __init__(
        self, ring: Ring, random: np.random.Generator, *, alpha: float = 0.6, smallest: float = 1e-6
    ) -> None:
        """``smallest`` is added to every priority, so that each row can come again.

        A learner that trains on its own errors has a sampler of its own; the rows are common.
        """
        self._ring, self._random, self._alpha, self._smallest = ring, random, alpha, smallest
        self._tree = SumTree(ring.most * ring.rows)
        self._top = 1.0
        """The highest of the tree's numbers, ever."""
        self._steps = np.zeros(ring.most * ring.rows, bool)
        """Rows that can be drawn, as they were when they were given their first priority."""
        self._broken = Dropped("priorities")
        self._known = np.zeros((2, ring.most), np.int64)
        """From where to where rows have a priority."""

    def draw(self, rows: int) -> Draw:
        """Draw independent rows."""
        window = self._follow_ring()
        actors, positions = self._draw_references(window, rows)
        slots = self._ring.slots(actors, positions)
        probability = self._tree.leaves[slots] / self._tree.total
        return Draw(actors, positions, probability, np.arange(rows), window.total)

    def update(self, draw: Draw, priorities: npt.ArrayLike) -> None:
        """Give the rows of a draw, (rows,), new priorities; those that are overwritten by now keep none.

        A priority that is not finite is dropped and counted in ``broken``: its row keeps the one it had.
        """
        window = self._follow_ring()
        there = draw.positions >= window.first[draw.actors]
        with np.errstate(all="ignore"):
            values = (np.abs(np.asarray(priorities, np.float64)) + self._smallest) ** self._alpha
        good = usable(values)
        self._broken.add(int(len(good) - good.sum()))
        there &= good
        slots = self._ring.slots(draw.actors, draw.positions)
        self._top = max(self._top, float(values[there].max(initial=0.0)))
        self._set_priorities(slots[there], values[there])

    @property
    def broken(self) -> int:
        """How many priorities were dropped because they were not finite."""
        return self._broken.count

    def _set_priorities(self, slots: Integers, values: npt.ArrayLike) -> None:
        self._tree.set_leaves(slots, values)

    def _follow_ring(self) -> Window:
        """Give what was written since the last look a priority, and take it from what was overwritten."""
        window = Window(self._ring)
        for actor, (first, stop) in enumerate(zip(window.first.tolist(), window.stop.tolist())):
            known_first, known_stop = self._known[:, actor].tolist()
            gone = np.arange(known_first, min(first, known_stop))
            new = np.arange(max(first, known_stop), stop)
            for positions, value in ((gone, 0.0), (new, self._top)):
                if len(positions):
                    actors = np.full(len(positions), actor)
                    steps = window.usable(actors, positions) if value else np.zeros(len(positions), bool)
                    slots = self._ring.slots(actors, positions)
                    self._steps[slots] = steps
                    self._set_priorities(slots, np.where(steps, value, 0.0))
            self._known[:, actor] = first, stop
        return window

    def _draw_references(self, window: Window, count: int) -> tuple[Integers, Integers]:
        if self._tree.total <= 0:
            raise IndexError("the ring has no row to draw")
        slots = self._tree.find_leaves(self._random.random(count) * self._tree.total)
        while len(none := np.flatnonzero(self._tree.leaves[slots] <= 0)):  # a sum that was rounded
            slots[none] = self._tree.find_leaves(self._random.random(len(none)) * self._tree.total)
        actors = slots // self._ring.rows
        last = window.stop[actors] - 1
        return actors, last - (last - slots) % self._ring.rows


class PrioritisedRuns(Prioritised):
    """Rows by priority, each with more of those that follow it the more important it is (MARL §VI-C).

    How many, k, is the one of ``neighbours`` that belongs to the row's priority relative to the highest ever:
    the first up to the first of ``thresholds``, and so on. A row also comes in as a neighbour, so its
    probability is q(i) ∝ Σ_d P(i−d)·[k(i−d) ≥ d]: its own, not that of the row which brought it.
    """

    def __init__(
        self,
        ring: Ring,
        random: np.random.Generator,
        *,
        alpha: float = 0.6,
        smallest: float = 1e-6,
        thresholds: tuple[float, ...] = (0.33, 0.66),
        neighbours: tuple[int, ...] = (1, 2, 4),
    ) -> None:
        """Raises ValueError unless there is one more of ``neighbours`` than of ``thresholds``."""
        if len(neighbours) != len(thresholds) + 1:
            raise ValueError(f"{len(neighbours)} neighbours; {len(thresholds)} thresholds need one more")
        super().__init__(ring, random, alpha=alpha, smallest=smallest)
        self._thresholds, self._neighbours = np.asarray(thresholds), np.asarray(neighbours)
        self._most = int(self._neighbours.max())
        self._lengths = SumTree(ring.most * ring.rows)
        """Each row's weight as a reference: its number times the rows it brings."""
        self._measured = self._top

    def draw(self, rows: int) -> Draw:
        """Draw runs of different lengths; the last is cut."""
        window = self._follow_ring()
        actors, positions = self._draw_references(window, rows)  # each brings at least itself
        counts = self._count_neighbours(self._ring.slots(actors, positions))
        table = np.full((len(actors), self._most + 1), -1, np.int64)
        table[:, 0] = positions
        for step in range(1, self._most + 1):
            more = np.flatnonzero((counts >= step) & (table[:, step - 1] >= 0))
            following = self._row_after(actors[more], table[more, step - 1])
            table[more, step] = np.where(following < window.stop[actors[more]], following, -1)
        run, nth = (index[:rows] for index in np.nonzero(table >= 0))
        drawn, places = actors[run], table[run, nth]
        return Draw(drawn, places, self._compute_probability(window, drawn, places), run, window.total)

    def _row_after(self, actors: Integers, positions: Integers) -> Integers:
        """Return the next row that can be drawn, or the window's end, without a second look at the ring."""
        return positions + 1 + ~self._steps[self._ring.slots(actors, positions + 1)]

    def _row_before(self, actors: Integers, positions: Integers) -> Integers:
        """Return the row before each; it may lie before the window."""
        return positions - 1 - ~self._steps[self._ring.slots(actors, positions - 1)]

    def _count_neighbours(self, slots: Integers) -> Integers:
        """Count the neighbours that each row brings."""
        relative = self._tree.leaves[slots] / self._top
        counts: Integers = self._neighbours[np.searchsorted(self._thresholds, relative, side="left")]
        return counts

    def _compute_probability(self, window: Window, actors: Integers, positions: Integers) -> Floats:
        weight, reference = np.zeros(len(positions)), positions
        within = np.ones(len(positions), bool)
        for step in range(self._most + 1):
            slots = self._ring.slots(actors, reference)
            weight += np.where(
                within & (self._count_neighbours(slots) >= step), self._tree.leaves[slots], 0.0
            )
            reference = self._row_before(actors, reference)
            within &= reference >= window.first[actors]
        return weight / (self._lengths.total - self._sum_cut_off(window))

    def _sum_cut_off(self, window: Window) -> float:
        """Sum the weights of neighbours that the write head cuts off each actor's last rows."""
        actors = np.flatnonzero(window.sizes > 0)
        position, there = window.stop[actors].copy(), np.ones(len(actors), bool)
        missing = 0.0
        for left in range(min(self._most, int(window.sizes.max(initial=0)))):
            position = self._row_before(actors, position)
            there &= position >= window.first[actors]
            slots = self._ring.slots(actors, position)
            short = np.maximum(self._count_neighbours(slots) - left, 0) * self._tree.leaves[slots]
            missing += float(short[there].sum())
        return missing

    def _set_priorities(self, slots: Integers, values: npt.ArrayLike) -> None:
        super()._set_priorities(slots, values)
        if self._measured != self._top:  # all are relative to it
            self._measured = self._top
            every = np.arange(len(self._tree.leaves))
            self._lengths.fill_leaves(self._tree.leaves * (1 + self._count_neighbours(every)))
        else:
            self._lengths.set_leaves(slots, self._tree.leaves[slots] * (1 + self._count_neighbours(slots)))
