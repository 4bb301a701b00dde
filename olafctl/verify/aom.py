"""Age-of-Model: one definition (OLAF §2.2, §6), from arrays: a million receptions in milliseconds.

Δ(t), the age at time t, is t minus the generation time of the freshest update the parameter server has
received by t. A reception that is no fresher than what was received before leaves Δ alone: it is
*stale*. All times are integer nanoseconds on one clock, constant delays included or left out by the
caller (they shift Δ, OLAF §6).

What the paper leaves open is defined here once:

* The observation is the window (start, end]: a reception at ``start`` or before only sets the age the
  window begins with, a reception after ``end`` is ignored.
* ``initial`` is the generation time of the model held before the first reception. With ``initial=None``
  nothing is held: Δ begins at the first reception, which is then no peak.
* Receptions at one instant are one jump, to the freshest of them.
* A merged update is as old as its newest constituent, whose ``gen_time`` it carries.
* The age of a model of several segments is the age of its oldest segment: each segment has an age of its
  own, and the cluster's Δ(t) is the largest of them. It begins when every segment has been received once.

Where generation times are unknown, arrival times at the engine stand for them (OLAF §6).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from olafswitch.errors import BadInput, Problem

NEVER = int(np.iinfo(np.int64).min)
"""The generation time of an update that is not held."""

_UNDEFINED = -1
"""The age where nothing has been received and nothing was held."""


@dataclass(frozen=True)
class Ages:
    """Δ of one cluster over a window (start, end], all in ns.

    ``times``, ``peaks`` and ``after`` are int64 arrays of one length, a jump each: when, from what, to
    what. Without an initial model the first jump's peak is -1, and ``valid_peaks`` leaves it out.
    """

    start: int
    end: int
    age_at_start: int | None
    """The age at the start; None where nothing is held yet."""
    times: NDArray[np.int64]
    peaks: NDArray[np.int64]
    after: NDArray[np.int64]
    stale: int
    """The receptions in the window that lowered nothing."""

    @property
    def valid_peaks(self) -> NDArray[np.int64]:
        """The peak ages Δ_p: Δ just before each reception that lowers it (OLAF §6)."""
        return self.peaks[self.peaks >= 0]

    @property
    def mean_peak(self) -> float | None:
        """The mean of the peak ages, None without a peak."""
        valid = self.valid_peaks
        return float(valid.mean()) if len(valid) else None

    @property
    def average(self) -> float | None:
        """The time average of Δ over the part of the window where it is defined; None if nowhere."""
        times, ages = self.corners
        if len(times) == 0 or times[0] == times[-1]:
            return None
        width = np.diff(times).astype(np.float64)
        area = (width * (ages[:-1] + ages[1:].astype(np.float64)) / 2).sum()
        return float(area / (times[-1] - times[0]))

    @property
    def corners(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(times, ages) of the curve's corners in order, two at a jump; empty where undefined."""
        times, ages = np.repeat(self.times, 2), np.empty(2 * len(self.times), dtype=np.int64)
        ages[::2], ages[1::2] = self.peaks, self.after
        if self.age_at_start is not None:
            times, ages = np.append(self.start, times), np.append(self.age_at_start, ages)
        else:
            times, ages = times[1:], ages[1:]
        if len(times) == 0:
            return times, ages
        return np.append(times, self.end), np.append(ages, ages[-1] + self.end - times[-1])


def ages(
    generation: ArrayLike, delivery: ArrayLike, start: int, end: int, initial: int | None = None
) -> Ages:
    """Return Δ of one cluster from two integer arrays of one length, in any order.

    Times lie within ±2**62 ns. Raises BadInput when the window is empty, ``initial`` lies after ``start``,
    the arrays differ in length, or an update is delivered before it was generated.
    """
    if end <= start:
        raise BadInput(Problem(f"the window ({start}, {end}] ns is empty", remedy="end after start"))
    if initial is not None and initial > start:
        raise BadInput(
            Problem(f"the initial model's generation, {initial} ns, lies after the start, {start} ns")
        )
    born, seen = checked_times(generation, delivery)
    before = seen <= start
    held = [int(born[before].max())] if before.any() else []
    held += [] if initial is None else [initial]
    inside = ~before & (seen <= end)
    freshest = max(held, default=None)
    times, peaks, after = _find_jumps(born[inside], seen[inside], NEVER if freshest is None else freshest)
    return Ages(
        start=start,
        end=end,
        age_at_start=None if freshest is None else start - freshest,
        times=times,
        peaks=peaks,
        after=after,
        stale=int(np.count_nonzero(inside)) - len(times),
    )


def age_at(
    generation: ArrayLike, delivery: ArrayLike, times: ArrayLike, initial: int | None = None
) -> NDArray[np.int64]:
    """Return Δ in ns at each of ``times``, with a reception at that very time; -1 where it is undefined.

    Raises BadInput for the two arrays as :func:`ages` does.
    """
    born, seen = checked_times(generation, delivery)
    order = np.argsort(seen, kind="stable")
    floor = NEVER if initial is None else initial
    freshest = np.maximum.accumulate(np.append(np.int64(floor), born[order]))
    when = np.asarray(times, dtype=np.int64)
    held = freshest[np.searchsorted(seen[order], when, side="right")]
    return np.where(held == NEVER, _UNDEFINED, when - np.where(held == NEVER, 0, held))


def checked_times(generation: ArrayLike, delivery: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return both as arrays. Raises BadInput when lengths differ, or a delivery precedes its generation."""
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
    return born, seen


def _find_jumps(
    born: NDArray[np.int64], seen: NDArray[np.int64], held: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the times at which Δ jumps, the ages before (-1: undefined) and the ages after."""
    order = np.lexsort((born, seen))  # at one instant the freshest comes last
    born, seen = born[order], seen[order]
    last = np.ones(len(seen), dtype=bool)
    last[:-1] = seen[1:] != seen[:-1]
    times = seen[last]
    freshest = np.maximum.accumulate(np.append(np.int64(held), born[last]))
    fresher = freshest[1:] > freshest[:-1]
    times, now, previous = times[fresher], freshest[1:][fresher], freshest[:-1][fresher]
    known = previous != NEVER
    peaks = np.where(known, times - np.where(known, previous, 0), _UNDEFINED)
    return times, peaks, times - now
