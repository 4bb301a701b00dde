"""Age-of-Model of a cluster whose model is a run of segments: the age of its oldest segment."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from olafctl.verify.aom import NEVER, Ages, ages, checked_times
from olafswitch.errors import BadInput, Problem

_AFTER_ALL = np.iinfo(np.int64).max
"""The delivery time of what is never delivered."""


def ages_of_oldest_segment(
    segment: ArrayLike,
    generation: ArrayLike,
    delivery: ArrayLike,
    segments: int,
    start: int,
    end: int,
    initial: int | None = None,
) -> Ages:
    """Return Δ of one cluster whose model has ``segments`` segments, over the window (start, end].

    Three integer arrays of one length, one entry a received frame, in any order: its segment (0 up to
    ``segments`` - 1), the ``gen_time`` of its newest constituent and its delivery, both in ns. ``initial``
    is the generation time of the whole model held before the first reception. ``stale`` counts receptions
    that lowered the age of no segment.

    Raises BadInput for a segment outside the model, and as :func:`olafctl.verify.aom.ages` does.
    """
    which, born, seen = _check_receptions(segment, generation, delivery, segments)
    curve = ages(*oldest_segment(which, born, seen, segments, initial), start, end, initial)
    inside = int(np.count_nonzero((seen > start) & (seen <= end)))
    when = _sort_records(which, born, seen, initial)[2]
    fresher = int(np.count_nonzero((when > start) & (when <= end)))
    return replace(curve, stale=inside - fresher)


def oldest_segment(
    segment: ArrayLike,
    generation: ArrayLike,
    delivery: ArrayLike,
    segments: int,
    initial: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the (generation, delivery) pairs of an unsegmented cluster that has the age of the oldest
    segment.

    Arguments as of :func:`ages_of_oldest_segment`; both results ascend. In O(n log n): segment s has
    generation g or a fresher one from time T_s(g) on, and the oldest segment from max_s T_s(g) on. T_s is a
    step function, from the generation before each of the segment's records to that record's delivery, and
    ascends, so the maximum over segments is the running maximum over all steps in order of generation.
    """
    which, born, seen = _check_receptions(segment, generation, delivery, segments)
    floor = NEVER if initial is None else initial
    of, value, time = _sort_records(which, born, seen, initial)
    before = np.full(len(value), floor, dtype=np.int64)
    same = of[1:] == of[:-1]
    before[1:][same] = value[:-1][same]
    last = np.full(segments, floor, dtype=np.int64)
    last[of] = value  # records of a segment ascend, so its last one stays
    steps = np.concatenate((before, last))
    reached = np.concatenate((time, np.full(segments, _AFTER_ALL, dtype=np.int64)))
    order = np.argsort(steps, kind="stable")
    steps, reached = steps[order], np.maximum.accumulate(reached[order])
    real = (steps[1:] > steps[:-1]) & (reached[:-1] < _AFTER_ALL)
    return steps[1:][real], reached[:-1][real]


def _check_receptions(
    segment: ArrayLike, generation: ArrayLike, delivery: ArrayLike, segments: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    which = np.asarray(segment, dtype=np.int64)
    born, seen = checked_times(generation, delivery)
    if which.shape != born.shape:
        raise BadInput(Problem(f"{which.shape} segments for {born.shape} times"))
    if segments < 1:
        raise BadInput(Problem(f"a model of {segments} segments", remedy="at least one"))
    outside = (which < 0) | (which >= segments)
    if outside.any():
        worst = int(np.argmax(outside))
        raise BadInput(
            Problem(f"update {worst} is of segment {which[worst]}, the model has 0 … {segments - 1}")
        )
    return which, born, seen


def _sort_records(
    which: NDArray[np.int64], born: NDArray[np.int64], seen: NDArray[np.int64], initial: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Sort the receptions fresher than all before them in their segment by segment and time, one an instant.

    Returns (segment, generation, delivery)."""
    if initial is not None:
        fresh = born > initial
        which, born, seen = which[fresh], born[fresh], seen[fresh]
    order = np.lexsort((born, seen, which))
    which, born, seen = which[order], born[order], seen[order]
    ranks = np.unique(born, return_inverse=True)[1]
    best = np.maximum.accumulate(which * (len(born) + 1) + ranks)  # segments ascend: a maximum in each
    record = np.ones(len(born), dtype=bool)
    record[1:] = best[1:] > best[:-1]
    which, born, seen = which[record], born[record], seen[record]
    last = np.ones(len(born), dtype=bool)
    last[:-1] = (which[1:] != which[:-1]) | (seen[1:] != seen[:-1])
    return which[last], born[last], seen[last]
