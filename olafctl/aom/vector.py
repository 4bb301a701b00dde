"""The same Δ from arrays: a million receptions in milliseconds, and the averages still exact."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from olafctl.aom.exact import check_window
from olafctl.errors import BadInput, Problem

_LIMB = 21  # three limbs hold a non-negative int64, and 2**21 products of two sum below 2**63


@dataclass(frozen=True)
class Ages:
    """Δ of one cluster over a window (start, end], all in ns.

    ``times``, ``peaks`` and ``after`` are int64 arrays of one length, a jump each: when, from what, to
    what. Without an initial model the first jump's peak is -1, and ``valid_peaks`` leaves it out.
    """

    start: int
    end: int
    times: NDArray[np.int64]
    peaks: NDArray[np.int64]
    after: NDArray[np.int64]
    stale: int
    average: Fraction | None
    """The exact time average, None when Δ is defined nowhere in the window."""

    @property
    def valid_peaks(self) -> NDArray[np.int64]:
        """The peak ages Δ_p (OLAF §6)."""
        return self.peaks[self.peaks >= 0]

    @property
    def mean_peak(self) -> Fraction | None:
        """The exact mean of the peak ages, None when there is none."""
        valid = self.valid_peaks
        return Fraction(sum(valid.tolist()), len(valid)) if len(valid) else None


def ages(
    generation: ArrayLike, delivery: ArrayLike, start: int, end: int, initial: int | None = None
) -> Ages:
    """Δ of one cluster from two integer arrays of one length, in any order.

    Times lie within ±2**62 ns. Raises BadInput as :func:`olafctl.aom.exact.sawtooth` does, and when the
    arrays differ in length.
    """
    check_window(start, end, initial)
    born = np.asarray(generation, dtype=np.int64)
    seen = np.asarray(delivery, dtype=np.int64)
    if born.shape != seen.shape or born.ndim != 1:
        raise BadInput(Problem(f"{born.shape} generation times for {seen.shape} delivery times"))
    if np.any(born > seen):
        worst = int(np.argmax(born > seen))
        raise BadInput(
            Problem(
                f"update {worst} generated at {born[worst]} ns was delivered at {seen[worst]} ns, before that"
            )
        )
    before = seen <= start
    held = [int(born[before].max())] if before.any() else []
    held += [] if initial is None else [initial]
    inside = ~before & (seen <= end)
    return _jumps(born[inside], seen[inside], start, end, max(held, default=None))


def _jumps(born: NDArray[np.int64], seen: NDArray[np.int64], start: int, end: int, held: int | None) -> Ages:
    order = np.lexsort((born, seen))  # at one instant the freshest comes last
    born, seen = born[order], seen[order]
    last = np.ones(len(seen), dtype=bool)
    last[:-1] = seen[1:] != seen[:-1]
    times, best = seen[last], born[last]
    floor = np.iinfo(np.int64).min if held is None else held
    freshest = np.maximum.accumulate(np.concatenate(([floor], best)).astype(np.int64))
    fresher = freshest[1:] > freshest[:-1]
    times, now, previous = times[fresher], freshest[1:][fresher], freshest[:-1][fresher]
    peaks = times - np.where(previous == np.iinfo(np.int64).min, times + 1, previous)
    after = times - now
    first = start if held is not None else int(times[0]) if len(times) else end
    corners = np.concatenate(([first], times, [end])) if held is not None else np.append(times, end)
    low = after if held is None else np.concatenate(([start - held], after))
    average = None
    if first < end:
        width = np.diff(corners)
        average = Fraction(_dot(width, 2 * low + width), 2 * (end - first))
    return Ages(start, end, times, peaks, after, len(born) - len(times), average)


def ages_by_cluster(
    cluster: ArrayLike,
    generation: ArrayLike,
    delivery: ArrayLike,
    start: int,
    end: int,
    initial: int | None = None,
) -> dict[int, Ages]:
    """:func:`ages` of each cluster index that occurs, in ascending order; three arrays of one length."""
    which = np.asarray(cluster, dtype=np.int64)
    born = np.asarray(generation, dtype=np.int64)
    seen = np.asarray(delivery, dtype=np.int64)
    if not which.shape == born.shape == seen.shape:
        raise BadInput(Problem(f"{which.shape} clusters for {born.shape} and {seen.shape} times"))
    return {
        int(index): ages(born[which == index], seen[which == index], start, end, initial)
        for index in np.unique(which)
    }


def _dot(left: NDArray[np.int64], right: NDArray[np.int64]) -> int:
    """The exact sum of products of non-negative int64: squares of nanoseconds overflow one word."""
    total = 0
    for begin in range(0, len(left), 1 << _LIMB):
        rows = _limbs(left[begin : begin + (1 << _LIMB)])
        columns = _limbs(right[begin : begin + (1 << _LIMB)])
        total += sum(
            int(row @ column) << _LIMB * (i + j)
            for i, row in enumerate(rows)
            for j, column in enumerate(columns)
        )
    return total


def _limbs(values: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [values >> _LIMB * place & ((1 << _LIMB) - 1) for place in range(3)]
