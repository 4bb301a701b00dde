"""Recorded trainings, and the times at which a replay sends their updates."""

import heapq
import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from olafctl.wire.layouts import GRADIENT_OFFSET
from olafswitch.errors import BadInput, OlafError, Problem

Indices = npt.NDArray[np.int64]

FORMAT = "olaf-trace"
VERSION = 1
MOST_KEPT = 1 << 16
"""Rows of the pool that an index can reach."""

_LEVELS = 127

_ARRAYS: dict[str, tuple[str, int]] = {
    "time": ("int64", 2),
    "reward": ("float32", 2),
    "norm": ("float32", 2),
    "steps": ("int32", 2),
    "accepted": ("bool", 2),
    "pool_index": ("uint16", 2),
    "pool": ("int8", 2),
}


@dataclass(frozen=True)
class Trace:
    """Updates of W workers, U each: row w, column u is worker w's update u."""

    header: dict[str, Any]
    """Provenance: environment, seed, workers, versions."""
    time: npt.NDArray[np.int64]
    """(W, U) ns since the training began at which each update was generated; rising along a row."""
    reward: npt.NDArray[np.float32]
    """(W, U) mean episode reward of each update."""
    norm: npt.NDArray[np.float32]
    """(W, U) Euclidean norm of each update's gradient."""
    steps: npt.NDArray[np.int32]
    """(W, U) environment steps behind each update."""
    accepted: npt.NDArray[np.bool_]
    """(W, U) whether the update moved the recorded training's global weights."""
    pool_index: npt.NDArray[np.uint16]
    """(W, U) the row of ``pool`` that stands for each update's direction."""
    pool: npt.NDArray[np.int8]
    """(P, n) recorded gradients, each scaled so that its largest magnitude is 127."""

    @property
    def workers(self) -> int:
        """W."""
        return len(self.time)

    @property
    def updates(self) -> int:
        """U, of each worker."""
        return int(self.time.shape[1])

    @property
    def values(self) -> int:
        """n, gradient values of one update."""
        return int(self.pool.shape[1])

    def gradients(
        self, workers: Indices, updates: Indices, values: int, first: Indices | None = None
    ) -> npt.NDArray[np.float32]:
        """Return ``values`` gradient values of some updates, from ``first`` on (the start when None), shape
        (len, values).

        Each update has its recorded norm (over all n values) and the direction of its row in the pool; a
        gradient longer than n values repeats them.
        """
        rows = self.pool_index[workers, updates]
        lengths = np.sqrt(np.square(self.pool.astype(np.float64)).sum(axis=1))
        scale = self.norm[workers, updates] / lengths[rows]
        begins = np.zeros(len(rows), dtype=np.int64) if first is None else first
        columns = (begins[:, None] + np.arange(values)) % self.values
        return np.asarray(self.pool[rows[:, None], columns] * scale[:, None], dtype=np.float32)


def quantise_gradient(gradient: npt.NDArray[np.float32]) -> npt.NDArray[np.int8]:
    """Quantise a gradient's direction to 8 bits a value: scaled so that the largest magnitude is 127."""
    largest = float(np.abs(gradient).max())
    if largest == 0:
        return np.ones(gradient.shape, dtype=np.int8)  # no direction: its norm of 0 is enough
    return np.asarray(np.rint(gradient * (_LEVELS / largest)), dtype=np.int8)


def save_trace(trace: Trace, path: Path) -> None:
    """Write a trace; ``path`` appears only when it is complete.

    Raises OlafError when it cannot be written.
    """
    header = {"format": FORMAT, "version": VERSION, **trace.header}
    text = np.frombuffer(json.dumps(header, indent=1).encode(), dtype=np.uint8)
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as file:
            np.savez_compressed(file, header=text, **{name: getattr(trace, name) for name in _ARRAYS})
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OlafError(Problem(f"cannot write the trace: {error.strerror}", str(path))) from error


def load_trace(path: Path) -> Trace:
    """Read and check a trace.

    Raises BadInput when the file is missing, is not a trace, or holds what no recording could.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(bytes(file["header"]).decode())
            arrays = {name: file[name] for name in _ARRAYS}
    except OSError as error:
        raise BadInput(Problem(error.strerror or "cannot be read", str(path), "name a trace file")) from error
    except (ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise BadInput(
            Problem("is not an Olaf trace", str(path), "`olaflab record` makes one; see docs/traces.md")
        ) from error
    _check_arrays(path, header, arrays)
    return Trace(header, **arrays)


def _check_arrays(path: Path, header: Any, arrays: dict[str, npt.NDArray[Any]]) -> None:
    where = str(path)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise BadInput(Problem("is not an Olaf trace", where, "`olaflab record` makes one"))
    if header.get("version") != VERSION:
        raise BadInput(
            Problem(f"is of trace version {header.get('version')}, not {VERSION}", where, "record it again")
        )
    for name, (kind, dimensions) in _ARRAYS.items():
        if arrays[name].dtype != np.dtype(kind) or arrays[name].ndim != dimensions:
            raise BadInput(Problem(f"`{name}` is not a {dimensions}-dimensional {kind} array", where))
    shape = arrays["time"].shape
    for name in ("reward", "norm", "steps", "accepted", "pool_index"):
        if arrays[name].shape != shape:
            raise BadInput(Problem(f"`{name}` has shape {arrays[name].shape}, not {shape}", where))
    if 0 in shape or 0 in arrays["pool"].shape:
        raise BadInput(Problem("holds no updates", where))
    if arrays["time"].min() < 0 or np.any(np.diff(arrays["time"], axis=1) <= 0):
        raise BadInput(Problem("holds times that do not rise", where))
    if not (np.isfinite(arrays["reward"]).all() and np.isfinite(arrays["norm"]).all()):
        raise BadInput(Problem("holds rewards or norms that are not numbers", where))
    if arrays["pool_index"].max() >= len(arrays["pool"]) or not arrays["pool"].any(axis=1).all():
        raise BadInput(Problem("points to gradients it does not hold", where))


@dataclass(frozen=True)
class GradientBlocks:
    """A gradient of ``values`` values as segments of ``each`` values; the last one may be shorter."""

    values: int
    each: int

    @property
    def width(self) -> int:
        """Values of the longest segment."""
        return min(self.each, self.values)

    @property
    def count_segments(self) -> int:
        """How many there are."""
        return -(-self.values // self.each)

    @property
    def update_bytes(self) -> int:
        """Bytes of all frames of one update."""
        return int(self.frame_bytes.sum())

    @property
    def frame_bytes(self) -> Indices:
        """Bytes of each segment's frame."""
        values = np.full(self.count_segments, self.width, dtype=np.int64)
        values[-1] = self.values - (self.count_segments - 1) * self.each
        return GRADIENT_OFFSET + 4 * values


@dataclass(frozen=True)
class ReplaySchedule:
    """Frames in the order they are sent, one for each segment of each update; arrays of one length."""

    time: Indices
    """Virtual ns, from 0, never decreasing."""
    worker: Indices
    """Number of the testbed's worker that sends, from 0."""
    seq: Indices
    """The update's number at its worker, from 0."""
    source: Indices
    """The trace's worker that recorded it."""
    update: Indices
    """Its number at that worker."""
    segment: Indices
    """Number of the gradient's block that the frame carries."""
    generated: Indices
    """Virtual ns at which the update's first frame was sent: that is when it was generated."""

    @property
    def updates(self) -> int:
        """How many there are, each of one or several frames."""
        return int(np.count_nonzero(self.segment == 0))

    @property
    def duration(self) -> int:
        """ns from the first frame to the last."""
        return int(self.time[-1] - self.time[0])


@dataclass(frozen=True)
class ReplayLoad:
    """How a trace is put on the wire."""

    offered: float
    """bit/s of all updates together, on average from the first to the last."""
    link: float
    """bit/s of the workers' link into the engine, the most that is ever offered."""
    frame_bytes: int
    """Bytes of a frame; of the last segment's, at most."""
    at_once: int | None = None
    """Clusters that train at a time: the next begins when one has sent its last update. None: all do."""
    order: int | None = None
    """Seed that deals the order in which clusters begin. None: the testbed's."""
    model: int | None = None
    """Values of a whole gradient, sent in segments; None: as many as fit one frame."""

    @property
    def blocks(self) -> GradientBlocks:
        """How a gradient is divided into frames."""
        each = (self.frame_bytes - GRADIENT_OFFSET) // 4
        return GradientBlocks(each if self.model is None else self.model, each)


def schedule_updates(
    trace: Trace, cluster_of: Indices, load: ReplayLoad, updates: int | None = None
) -> ReplaySchedule:
    """Schedule the trace's updates as a testbed's workers send them; ``updates`` keeps each worker's first
    ones.

    ``cluster_of`` has one entry a worker. Time is scaled by one factor, so that all frames together take as
    long as a link of ``load.offered`` would: what is bursty in the training stays bursty, what is uneven
    stays uneven. All workers share one link; an update that finds it busy is finished and sent when the
    link is free, since a worker trains until it may send (OLAF §1). An update of several segments leaves its
    worker at the worker's equal share of the link, so updates sent at one time take turns, frame by frame.
    Raises BadInput when the trace has fewer updates, or a link slower than what it is to carry.
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
    time, source, update = spread_times(trace, len(cluster_of))
    time, update = time[:, :kept], update[:, :kept]
    if load.at_once is not None:
        time = time + _begin_times(time, cluster_of, load.at_once, load.order)[:, None]
    sizes = load.blocks.frame_bytes
    span = time.size * load.blocks.update_bytes * 8 / load.offered * 1e9
    first, last = int(time.min()), int(time.max())
    if last == first:
        raise BadInput(Problem("a single update has no rate", remedy="replay at least two"))
    wanted = np.asarray((time - first) * (span / (last - first)), dtype=np.float64)
    frames = _schedule_frames(wanted, sizes, load.link)
    order = np.argsort(frames, axis=None, kind="stable")
    row, seq, segment = np.unravel_index(order, frames.shape)
    sent = serialise_times(frames.ravel()[order], sizes[segment] * 8 / load.link * 1e9)
    generated = np.empty(wanted.shape, dtype=np.int64)
    generated[row[segment == 0], seq[segment == 0]] = sent[segment == 0]
    return ReplaySchedule(
        time=sent,
        worker=row.astype(np.int64),
        seq=seq.astype(np.int64),
        source=source[row],
        update=update[row, seq],
        segment=segment.astype(np.int64),
        generated=generated[row, seq],
    )


def _schedule_frames(wanted: npt.NDArray[np.float64], sizes: Indices, link: float) -> npt.NDArray[np.float64]:
    """Return when the frames (W, U, segments) of updates (W, U) are ready at their workers."""
    if len(sizes) == 1:
        return wanted[:, :, None]
    width = sizes[0] * 8 / link * 1e9 * len(wanted)
    busy = np.arange(wanted.shape[1]) * len(sizes) * width
    begins = busy + np.maximum.accumulate(wanted - busy, axis=1)
    return np.asarray(begins[:, :, None] + np.arange(len(sizes)) * width, dtype=np.float64)


def _begin_times(time: Indices, cluster_of: Indices, at_once: int, order: int | None) -> Indices:
    """Return when each worker (W) begins, so that ``at_once`` clusters train at a time, in rising order.

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


def serialise_times(wanted: npt.NDArray[np.float64], widths: npt.NDArray[np.float64]) -> Indices:
    """Return rising times no earlier than ``wanted``, each as early as can be ``widths`` ns after its
    predecessor of that width."""
    slots = np.cumsum(widths) - widths
    return np.asarray(np.rint(slots + np.maximum.accumulate(wanted - slots)), dtype=np.int64)


def spread_times(trace: Trace, workers: int) -> tuple[Indices, Indices, Indices]:
    """Return times (workers, U), the recorded worker of each row, and its recorded updates (workers, U).

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
