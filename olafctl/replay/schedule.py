"""When which worker sends which recorded update: a trace, spread over a testbed's workers and scaled."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from olafctl.errors import BadInput, Problem
from olafctl.replay.trace import Trace

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Schedule:
    """Updates in the order they are sent; arrays of one length."""

    time: Indices
    """Virtual ns, from 0, never decreasing."""
    worker: Indices
    """Which of the testbed's workers sends, from 0."""
    seq: Indices
    """The update's number at its worker, from 0."""
    source: Indices
    """The trace's worker that recorded it."""
    update: Indices
    """Its number at that worker."""

    @property
    def duration(self) -> int:
        """ns from the first update to the last."""
        return int(self.time[-1] - self.time[0])


def schedule(
    trace: Trace, workers: int, offered: float, frame_bytes: int, updates: int | None = None
) -> Schedule:
    """The trace's updates as ``workers`` workers send them, at a mean rate of ``offered`` bit/s.

    Time is scaled by one factor, so that all frames of ``frame_bytes`` together take as long as a link of
    ``offered`` bit/s would: what is bursty in the training stays bursty, what is uneven stays uneven.
    ``updates`` keeps only each worker's first ones. Raises BadInput when the trace has fewer.
    """
    kept = trace.updates if updates is None else updates
    if kept > trace.updates:
        raise BadInput(
            Problem(
                f"{kept} updates of each worker, but the trace holds {trace.updates}", remedy="ask for fewer"
            )
        )
    time, source, update = spread(trace, workers)
    time, update = time[:, :kept], update[:, :kept]
    span = time.size * frame_bytes * 8 / offered * 1e9
    first, last = int(time.min()), int(time.max())
    if last == first:
        raise BadInput(
            Problem("a trace of a single instant has no rate", remedy="replay at least two updates")
        )
    scaled = np.rint((time - first) * (span / (last - first))).astype(np.int64)
    order = np.argsort(scaled, axis=None, kind="stable")
    row, seq = np.unravel_index(order, scaled.shape)
    return Schedule(
        time=scaled.ravel()[order],
        worker=row.astype(np.int64),
        seq=seq.astype(np.int64),
        source=source[row],
        update=update.ravel()[order],
    )


def spread(trace: Trace, workers: int) -> tuple[Indices, Indices, Indices]:
    """Times (workers, U), the recorded worker of each row, and its recorded updates (workers, U).

    Up to W workers are the recorded ones. Beyond, worker k is recorded worker k mod W turned round by
    ⌊k/W⌋ · U / ⌈workers/W⌉ updates: it begins in the middle of that training, with the recorded gaps,
    rewards and gradients, and ends with its beginning. No two workers then move in step.
    """
    index = np.arange(workers)
    source = index % trace.workers
    rounds = -(-workers // trace.workers)
    turn = index // trace.workers * trace.updates // rounds
    update = (np.arange(trace.updates) + turn[:, None]) % trace.updates
    gaps = np.diff(trace.time, axis=1, prepend=0)
    time = np.cumsum(gaps[source[:, None], update], axis=1)
    return time, source.astype(np.int64), update.astype(np.int64)
