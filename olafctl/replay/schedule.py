"""When which worker sends which recorded update: a trace, spread over a testbed's workers and scaled."""

import heapq
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


@dataclass(frozen=True)
class Load:
    """How a trace is put on the wire."""

    offered: float
    """bit/s of all updates together, on average from the first to the last."""
    link: float
    """bit/s of the workers' link into the engine, the most that is ever offered."""
    frame_bytes: int
    at_once: int | None = None
    """Clusters that train at a time: the next begins when one has sent its last update. None: all do."""
    order: int | None = None
    """Seed that deals the order in which clusters begin. None: the testbed's."""


def schedule(trace: Trace, cluster_of: Indices, load: Load, updates: int | None = None) -> Schedule:
    """The trace's updates as a testbed's workers send them; ``updates`` keeps each worker's first ones.

    ``cluster_of`` has one entry a worker. Time is scaled by one factor, so that all frames together take as
    long as a link of ``load.offered`` would: what is bursty in the training stays bursty, what is uneven
    stays uneven. All workers share one link; an update that finds it busy is finished and sent when the
    link is free, since a worker trains until it may send (OLAF §1). Raises BadInput when the trace has
    fewer updates, or a link slower than what it is to carry.
    """
    kept = trace.updates if updates is None else updates
    if kept > trace.updates:
        raise BadInput(
            Problem(
                f"{kept} updates of each worker, but the trace holds {trace.updates}", remedy="ask for fewer"
            )
        )
    if load.link < load.offered:
        raise BadInput(Problem("the workers' link is slower than what they offer", remedy="raise the link"))
    time, source, update = spread(trace, len(cluster_of))
    time, update = time[:, :kept], update[:, :kept]
    if load.at_once is not None:
        time = time + _begins(time, cluster_of, load.at_once, load.order)[:, None]
    bits = load.frame_bytes * 8
    span = time.size * bits / load.offered * 1e9
    first, last = int(time.min()), int(time.max())
    if last == first:
        raise BadInput(Problem("a single update has no rate", remedy="replay at least two"))
    wanted = np.asarray((time - first) * (span / (last - first)), dtype=np.float64)
    order = np.argsort(wanted, axis=None, kind="stable")
    row, seq = np.unravel_index(order, wanted.shape)
    return Schedule(
        time=_serialised(wanted.ravel()[order], bits / load.link * 1e9),
        worker=row.astype(np.int64),
        seq=seq.astype(np.int64),
        source=source[row],
        update=update.ravel()[order],
    )


def _begins(time: Indices, cluster_of: Indices, at_once: int, order: int | None) -> Indices:
    """When each worker (W) begins, so that ``at_once`` clusters train at a time, in rising order.

    Trainings of different clusters know nothing of each other, so each can begin at any time.
    """
    clusters = np.unique(cluster_of)
    if order is not None:
        clusters = np.random.default_rng(order).permutation(clusters)
    free = [0] * at_once
    begins = np.zeros(len(time), dtype=np.int64)
    for cluster in clusters:
        members = cluster_of == cluster
        begin = heapq.heappop(free)
        begins[members] = begin
        heapq.heappush(free, begin + int(time[members].max()))
    return begins


def _serialised(wanted: npt.NDArray[np.float64], width: float) -> Indices:
    """Rising times no earlier than ``wanted`` and at least ``width`` ns apart, each as early as can be."""
    slots = np.arange(len(wanted)) * width
    return np.asarray(np.rint(slots + np.maximum.accumulate(wanted - slots)), dtype=np.int64)


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
