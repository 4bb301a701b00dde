"""Iterations of one distributed training in virtual time: a parameter server, a ring all-reduce, or iSwitch's
sums in the queue's own rules, synchronous and asynchronous (iSwitch §2, §3, §4), over the same links.

What takes time: each frame on each link of its way, the engine, and the hosts' software. Of the latter a host
has one processor, which costs a time for each message, each frame and each byte that it sends or receives.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from olafctl.wire.geometry import ADDER_LATENCY, BEATS, MEMBERS, SLOTS, segment_values
from olafctl.wire.layouts import GRADIENT_OFFSET
from olafctl.wire.modes import Mode
from olaflab.model import library
from olafswitch.errors import BadInput, OlafError, Problem

_STALENESS = 64
"""Entries of the histogram; native/training.h has the same."""


class Approach(IntEnum):
    """How gradients become one; the numbers are those of ``native/training.h``."""

    SERVER = 0
    """Synchronous parameter server: it sends the weights when it has every worker's gradient."""
    SERVER_ASYNC = 1
    """It sends a worker the weights when it has that one's gradient."""
    RING = 2
    """All-reduce: each message in 2·(N - 1) steps from neighbour to neighbour."""
    ENGINE = 3
    """iSwitch: sums in the switch, of each segment on its own."""
    ENGINE_ASYNC = 4
    """iSwitch's algorithm 1: each node contributes a gradient when it has one."""


_SUMS = (Approach.ENGINE, Approach.ENGINE_ASYNC)


@dataclass(frozen=True)
class Software:
    """What a host's software takes, at the sender and again at the receiver; ns."""

    message: float = 0.0
    frame: float = 0.0
    byte: float = 0.0
    """Time of a byte of payload."""
    whole: bool = False
    """A message is handled at once, before its first frame leaves and after its last one came, not frame by
    frame. Sums in the switch are always frame by frame (iSwitch figure 8)."""
    duplex: bool = False
    """One processor sends and another one receives, at the same time."""


@dataclass(frozen=True)
class IterationNetwork:
    """Full-duplex links of each worker to its rack's switch, and of each rack to the root."""

    each_rack: int = 0
    """Workers; 0 has all in one rack, without a root above."""
    rate: float = 10e9
    """bit/s of a worker's link, and of the parameter server's."""
    trunk: float = 40e9
    """bit/s of a rack's link to the root, where the parameter server is then."""
    delay: float = 500.0
    """ns of each link, its two ends included."""
    beats: int = BEATS.default
    """Most beats of 64 bytes in a frame."""
    slots: int = SLOTS.greatest
    quota: int = SLOTS.greatest - 23
    """Slots of each engine for sums that are not complete; as many segments of a worker may be under way."""

    @property
    def payload(self) -> int:
        """Bytes of a gradient in a frame."""
        return 4 * segment_values(self.beats)


@dataclass(frozen=True)
class IterationJob:
    """One training."""

    approach: Approach
    workers: int
    messages: Sequence[int]
    """Bytes of each message of a gradient, such as one for each of a network's tensors."""
    compute: float = 0.0
    """ns a worker takes for a gradient and everything else besides communication."""
    jitter: float = 0.0
    """A gradient takes ``compute`` ± half of this share of it, uniformly."""
    software: Software = Software()
    network: IterationNetwork = IterationNetwork()
    in_turn: bool = False
    """The asynchronous server serves one worker at a time, from its gradient until it has the weights."""
    bound: int = 3
    """Bound of staleness in iterations, where training is asynchronous; older gradients are not used."""
    iterations: int = 1
    seed: int = 0

    @property
    def segments(self) -> int:
        """Frames of a gradient."""
        return sum(-(-size // self.network.payload) for size in self.messages)


@dataclass(frozen=True)
class Course:
    """What a training did."""

    updates: NDArray[np.float64]
    """ns at which each iteration was through: synchronous at the last worker, asynchronous where the weights
    are (iSwitch §5.2)."""
    staleness: NDArray[np.int64]
    """How many of the gradients used were so many versions old; the last entry is for all older ones."""
    discarded: int
    """Gradients older than the bound."""
    events: int

    @property
    def period(self) -> float:
        """ns between two iterations, after the first fifth."""
        first = len(self.updates) // 5
        return float((self.updates[-1] - self.updates[first]) / (len(self.updates) - 1 - first))

    @property
    def mean_staleness(self) -> float:
        return float(np.average(np.arange(len(self.staleness)), weights=self.staleness))


def simulate_job(job: IterationJob) -> Course:
    """Simulate the whole of ``job``.

    Raises BadInput for a job that cannot be, OlafError when the engine drops a contribution or nothing goes
    on (a defect of the model).
    """
    _check_job(job)
    native = library.load_library()
    given = np.zeros(1, library.STRUCTS["Training"])
    for name, value in dict(
        approach=job.approach,
        workers=job.workers,
        each_rack=job.network.each_rack,
        messages=len(job.messages),
        payload=job.network.payload,
        header=GRADIENT_OFFSET,
        iterations=job.iterations,
        bound=job.bound,
        mode=_mode_of(job.approach),
        window=job.network.quota,
        whole=job.software.whole and job.approach not in _SUMS,
        duplex=job.software.duplex,
        in_turn=job.in_turn,
        slots=job.network.slots,
        quota=job.network.quota,
        seed=job.seed,
        cycle=library.CYCLE_PS,
        merge_cycles=ADDER_LATENCY.default + library.MERGE_CYCLES,
        delay=round(job.network.delay * library.PS),
        link_ps_per_byte=8e12 / job.network.rate,
        trunk_ps_per_byte=8e12 / job.network.trunk,
        message_ps=job.software.message * library.PS,
        frame_ps=job.software.frame * library.PS,
        byte_ps=job.software.byte * library.PS,
        compute=round(job.compute * library.PS),
        jitter=round(job.compute * job.jitter * library.PS),
    ).items():
        given[name] = value
    sizes = np.array(job.messages, np.uint32)
    training = native.olaf_training_new(given.ctypes.data, sizes.ctypes.data)
    try:
        through = native.olaf_training_run(training)
        dropped = int(native.olaf_training_dropped(training))
        if not through:
            what = (
                f"the engine dropped {dropped} contributions" if dropped else "no iteration comes to its end"
            )
            raise OlafError(Problem(what, f"{job.approach.name.lower()}, {job.workers} workers"))
        updates = np.zeros(job.iterations, np.int64)
        native.olaf_training_updates(training, updates.ctypes.data)
        staleness = np.zeros(_STALENESS, np.uint64)
        native.olaf_training_staleness(training, staleness.ctypes.data)
        return Course(
            updates / library.PS,
            staleness.astype(np.int64),
            int(native.olaf_training_discarded(training)),
            int(native.olaf_training_events(training)),
        )
    finally:
        native.olaf_training_free(training)


def _mode_of(approach: Approach) -> int:
    """Return the mode of the engine's indices."""
    return (Mode.ISWITCH_ASYNC if approach is Approach.ENGINE_ASYNC else Mode.ISWITCH).number


def _check_job(job: IterationJob) -> None:
    network = job.network
    racks = -(-job.workers // network.each_rack) if network.each_rack else 1
    below = min(network.each_rack or job.workers, job.workers)
    problems = []
    if job.workers < 2 or job.iterations < 1 or job.bound < 0 or not job.messages or min(job.messages) < 1:
        what = (
            f"{job.workers} workers, {job.iterations} iterations, {len(job.messages)} messages, S {job.bound}"
        )
        problems.append(Problem(what, "job", "2 workers, one iteration, one message of a byte, S 0, or more"))
    if max(racks, below) > MEMBERS.greatest and job.approach in _SUMS:
        what = f"{racks} racks of {below} workers"
        problems.append(Problem(what, "job", f"an engine tells {MEMBERS.greatest} members apart"))
    if job.approach is Approach.ENGINE_ASYNC and job.segments > network.quota:
        what = f"{job.segments} segments, and room for {network.quota} sums that are not complete"
        problems.append(Problem(what, "job", "asynchronous sums need a slot for each segment: longer frames"))
    if problems:
        raise BadInput(*problems)
