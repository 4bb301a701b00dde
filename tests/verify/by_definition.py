"""Age-of-Model by its definition, a reception at a time in exact numbers, to compare with the arrays."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple


class Tooth(NamedTuple):
    """A jump of Δ at ``time``: from ``peak`` (None at the first reception without ``initial``) to ``age``."""

    time: int
    peak: int | None
    age: int


@dataclass(frozen=True)
class Sawtooth:
    """Δ over the window (start, end]: ``age`` holds at ``start`` (None: nothing held yet), then jumps."""

    start: int
    end: int
    age: int | None
    teeth: tuple[Tooth, ...]
    stale: int
    """The receptions in the window that lowered nothing."""

    @property
    def points(self) -> tuple[tuple[int, int], ...]:
        """(time, age) corners of the curve in order, two at a jump, for drawing it."""
        corners = [] if self.age is None else [(self.start, self.age)]
        for tooth in self.teeth:
            if tooth.peak is not None:
                corners.append((tooth.time, tooth.peak))
            corners.append((tooth.time, tooth.age))
        if corners:
            time, age = corners[-1]
            corners.append((self.end, age + self.end - time))
        return tuple(corners)


def sawtooth(
    receptions: Iterable[tuple[int, int]], start: int, end: int, initial: int | None = None
) -> Sawtooth:
    """Return Δ of one cluster from its (generation, delivery) pairs in ns, in any order."""
    freshest = initial
    age_at_start = None if initial is None else start - initial
    teeth: list[Tooth] = []
    stale = 0
    for time, group in groupby(sorted(receptions, key=itemgetter(1)), key=itemgetter(1)):
        generations = [generation for generation, _ in group]
        best = max(generations)
        if time > end:
            break
        fresher = freshest is None or best > freshest
        if time <= start:
            freshest = best if fresher else freshest
            age_at_start = None if freshest is None else start - freshest
            continue
        stale += len(generations) - fresher
        if fresher:
            teeth.append(Tooth(time, None if freshest is None else time - freshest, time - best))
            freshest = best
    return Sawtooth(start, end, age_at_start, tuple(teeth), stale)


def average(curve: Sawtooth) -> Fraction | None:
    """Return the time average of Δ in ns, over the part of the window where Δ is defined; None if nowhere."""
    points = curve.points
    if not points or points[0][0] == curve.end:
        return None
    doubled = sum((later - time) * (age + peak) for (time, age), (later, peak) in pairwise(points))
    return Fraction(doubled, 2 * (curve.end - points[0][0]))


def peaks(curve: Sawtooth) -> tuple[int, ...]:
    """Return the peak ages Δ_p in ns, in order: Δ just before each reception that lowers it (OLAF §6)."""
    return tuple(tooth.peak for tooth in curve.teeth if tooth.peak is not None)


def age_of_oldest_segment(
    receptions: Iterable[tuple[int, int, int]], segments: int, time: int, initial: int | None
) -> int | None:
    """Return Δ at ``time`` from (segment, generation, delivery): the largest age; None: undefined."""
    known = list(receptions)
    freshest = []
    for segment in range(segments):
        held = [] if initial is None else [initial]
        held += [born for which, born, seen in known if which == segment and seen <= time]
        if not held:
            return None
        freshest.append(max(held))
    return max(time - newest for newest in freshest)
