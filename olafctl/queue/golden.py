"""The golden OlafQueue: what every frame must become, written from the paper and not from the Verilog.

The rules are Algorithm 1 of OLAF with the reward rule of §3 and the head lock of §12.1. What they decide
depends on what still waits, hence on when updates begin to leave, which is the output's affair. So the
model is told the queue's *instants* in order (an update's fate was decided; it is settled, for it has
arrived to its end; the update next in line began to leave; it left its slot; a frame's status was taken)
and predicts all else: each update's fate, every byte and sidecar field of every frame that leaves, the
status in each, and every counter. An instant that cannot be (a fate with no frame, a departure from an
empty queue, against ``hold`` or faster than ``rate``) raises :class:`Unexplained`.
"""

import struct
from collections import deque
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from olafctl.queue.model import Instant, Sidecar
from olafctl.queue.registers import BY_NAME, MODE_FIFO, Access
from olafctl.queue.verilate import Parameters
from olafctl.wire.layouts import BEAT_BYTES, GRADIENT_OFFSET, Flag, FrameType, StatusFlag

_HEADER = struct.Struct(">BBHIIQH")
_HEADER_AT = GRADIENT_OFFSET - _HEADER.size
_CANONICAL_NAN = np.uint32(0x7FC00000)
_COUNT_LIMIT = 65535
UNPREDICTED = ("cycle", "input_stalls")
"""Counters that measure time, not what became of frames."""


class Unexplained(AssertionError):
    """The queue did something that no rule allows."""


Rank = tuple[int, float]


def rank(reward: np.float32) -> Rank:
    """Rewards in order: NaN below every number."""
    return (0, 0.0) if np.isnan(reward) else (1, float(reward))


def add(left: npt.NDArray[np.float32], right: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """binary32 sums, each NaN the canonical quiet one."""
    with np.errstate(all="ignore"):
        total = left + right
    total.view(np.uint32)[np.isnan(total)] = _CANONICAL_NAN
    return total


@dataclass(frozen=True)
class Reward:
    """A reward, and the bounds outside which another is not comparable."""

    bits: int
    rank: Rank
    below: Rank
    above: Rank

    @classmethod
    def of(cls, bits: int, threshold: np.float32) -> "Reward":
        """From binary32 bits; ``threshold`` as it is when the update arrives."""
        value = np.uint32(bits).view(np.float32)
        with np.errstate(all="ignore"):
            return cls(bits, rank(value), rank(value - threshold), rank(value + threshold))


@dataclass(frozen=True)
class Update:
    """An update's headers, read, and its gradients."""

    sidecar: Sidecar
    header: bytes
    version: int
    type: int
    flags: int
    count: int
    seq: int
    reward_bits: int
    gen_time: int
    length: int
    received: bytes
    """What arrived of the bytes after the header, in whole beats where the frame is torn."""
    short: bool
    long: bool

    @classmethod
    def read(cls, sidecar: Sidecar, frame: bytes) -> "Update":
        """From the bytes on the wire; what is missing of the header reads as zero."""
        header = frame[:GRADIENT_OFFSET].ljust(GRADIENT_OFFSET, b"\0")
        first, flags, count, seq, reward, gen_time, length = _HEADER.unpack_from(header, _HEADER_AT)
        short = len(frame) < sidecar.size
        whole = len(frame) // BEAT_BYTES * BEAT_BYTES if short else sidecar.size
        return cls(
            sidecar,
            header,
            first >> 4,
            first & 15,
            flags,
            count,
            seq,
            reward,
            gen_time,
            length,
            frame[GRADIENT_OFFSET : max(whole, GRADIENT_OFFSET)],
            short,
            len(frame) > sidecar.size,
        )

    @property
    def aggregated(self) -> bool:
        return bool(self.flags & Flag.AGGREGATED)

    def gradients(self, missing: np.float32) -> npt.NDArray[np.float32]:
        """All gradients, ``missing`` for those that did not arrive."""
        values = np.full(self.length, missing, dtype="<f4")
        values[: len(self.received) // 4] = np.frombuffer(self.received, "<f4")
        return values


@dataclass(eq=False)
class Waiting:
    """An update in the queue, perhaps the sum of several."""

    sidecar: Sidecar
    header: bytes
    gradients: npt.NDArray[np.float32]
    count: int
    reward: Reward
    gen_time: int
    length: int
    replaceable_by: int | None
    tracked: bool
    begun: bool = False

    @property
    def frame(self) -> bytes:
        return self.header + self.gradients.tobytes()


@dataclass
class Arriving:
    """An update whose fate is decided and which has not arrived to its end."""

    update: Update
    fate: str
    target: Waiting | None
    slot: Waiting | None
    """Where it will be, once settled: its own place in line, or the waiting update's."""
    after_locked: bool
    reward: Reward


class GoldenQueue:
    """The model of one queue from its reset on. Settings may change only while nothing is arriving."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.mode = 0
        self.reward_enable = 0
        self.threshold = np.float32(0)
        self.rate = 0
        self.hold = 0
        self.window: int = BY_NAME["active_window"].reset or 0
        self.counters = {
            name: 0
            for name, register in BY_NAME.items()
            if register.access is Access.COUNTER and name not in UNPREDICTED
        }
        self.cases: dict[str, int] = {}
        """How often each case that is no counter of its own was met."""
        self._offered: deque[Update] = deque()
        self._arriving: Arriving | None = None
        self._line: list[Waiting] = []
        self._leaving: Waiting | None = None
        self._begun: deque[Waiting] = deque()
        self._seen: dict[int, int] = {}
        self._owed = 0
        self._owed_at = 0
        self.statuses: deque[tuple[int, int]] = deque()
        """(occupancy, active clusters) of the frames to leave, in order."""

    # What the outside does.

    def offer(self, sidecar: Sidecar, frame: bytes) -> None:
        """An update is sent to the queue."""
        self._offered.append(Update.read(sidecar, frame))

    def limit_rate(self, rate: int, cycle: int) -> None:
        """The ``rate`` register was written; nothing may be owed by an earlier rate."""
        self.rate, self._owed, self._owed_at = rate, 0, cycle

    def at(self, instant: Instant) -> None:
        """The queue reports an instant. Raises Unexplained when it cannot be."""
        occupancy = len(self._line)
        leaver = self._leaving
        if instant.status:
            self.statuses.append((occupancy, self._active(instant.cycle)))
        if instant.left:
            self._leave()
        if instant.begun:
            self._begin(instant.cycle)
        if instant.decided:
            self._decide(occupancy, leaver)
        if instant.settled:
            self._settle(instant.cycle)

    def next_update(self) -> tuple[Sidecar, bytes]:
        """The sidecar (but for its status) and the bytes of the next update to leave completely."""
        _require(bool(self._begun), "an update left that never began to")
        update = self._begun.popleft()
        _require(update is not self._leaving, "an update left before its last beat was read")
        self.counters["out_updates"] += 1
        return update.sidecar, update.frame

    def status(self) -> tuple[int, int, int, int]:
        """Occupancy, active clusters, slots and status flags that the next frame out must carry."""
        occupancy, active = self.statuses.popleft()
        slots = self.parameters.slots
        flags = (StatusFlag.FULL if occupancy == slots else 0) | (
            StatusFlag.CONGESTED if active > slots else 0
        )
        return occupancy, active, slots, int(flags)

    @property
    def occupancy(self) -> int:
        """Slots taken, by updates that wait or leave."""
        return len(self._line)

    # What follows.

    def _active(self, cycle: int) -> int:
        """Clusters counted as active at ``cycle``: a round robin look finds each one's window over."""
        clusters = self.parameters.clusters

        def ends(cluster: int, sent: int) -> int:
            over = sent + self.window + 1
            return over + (cluster - over) % clusters

        return sum(sent < cycle <= ends(cluster, sent) for cluster, sent in self._seen.items())

    def _leave(self) -> None:
        _require(self._leaving is not None and self._line[:1] == [self._leaving], "a slot was freed twice")
        del self._line[0]
        self._leaving = None

    def _begin(self, cycle: int) -> None:
        _require(self._leaving is None, "an update began to leave before the one ahead had left")
        _require(not self.hold, "an update began to leave against hold")
        arriving = self._arriving
        if self._line:
            head = self._line[0]
        else:
            _require(arriving is not None and arriving.fate == "appended", "an empty queue began to send")
            assert arriving is not None and arriving.slot is not None
            head = arriving.slot
        if arriving is not None and arriving.slot is head:
            self.counters["cut_through"] += 1
            self._note(f"cut through while {arriving.fate}")
        head.begun = True
        self._leaving = head
        self._begun.append(head)
        self._pay(cycle, head.sidecar.size)

    def _pay(self, cycle: int, size: int) -> None:
        if not self.rate:
            return
        paid = min(cycle - self._owed_at, -(-max(self._owed, 0) // self.rate))
        self._owed -= paid * self.rate
        _require(self._owed <= 0, "an update began to leave faster than the rate")
        self._owed += (size * 8 << 16) - self.rate
        self._owed_at = cycle + 1

    def _decide(self, occupancy: int, leaver: Waiting | None) -> None:
        _require(bool(self._offered) and self._arriving is None, "a fate was decided for no update")
        update = self._offered.popleft()
        sidecar = update.sidecar
        of_cluster = [
            entry
            for entry in ([leaver] if leaver is not None and leaver not in self._line else []) + self._line
            if entry.tracked and entry.sidecar.cluster == sidecar.cluster
        ]
        waiting = next((entry for entry in of_cluster if not entry.begun), None)
        reward = Reward.of(update.reward_bits, self.threshold)
        fate = self._fate(update, waiting if self.mode != MODE_FIFO else None, reward, occupancy)
        after_locked = (
            fate == "appended" and self.mode != MODE_FIFO and any(entry.begun for entry in of_cluster)
        )
        slot = waiting if fate in ("merged", "replaced_worker", "replaced_reward") else None
        if fate == "appended":
            slot = self._own(update, reward)
        self._arriving = Arriving(update, fate, waiting, slot, after_locked, reward)

    def _fate(self, update: Update, waiting: Waiting | None, reward: Reward, occupancy: int) -> str:
        """Algorithm 1; the update's own faults come first."""
        size = update.sidecar.size
        if (update.version, update.type) != (1, FrameType.UPDATE):
            return "dropped_header"
        if size != GRADIENT_OFFSET + 4 * update.length:
            return "dropped_length"
        if size > self.parameters.beats * BEAT_BYTES:
            return "dropped_oversize"
        if update.sidecar.cluster >= self.parameters.clusters:
            return "dropped_cluster"
        if waiting is None:
            return "dropped_full" if occupancy == self.parameters.slots else "appended"
        if update.length != waiting.length:
            return "dropped_mismatch"
        if waiting.replaceable_by == update.sidecar.worker and not update.aggregated:
            return "replaced_worker"
        if self.reward_enable and reward.rank > waiting.reward.above:
            return "replaced_reward"
        if self.reward_enable and reward.rank < waiting.reward.below:
            return "dropped_reward"
        return "merged"

    def _own(self, update: Update, reward: Reward) -> Waiting:
        """The update as it waits alone; what did not arrive of it is zero."""
        return Waiting(
            update.sidecar,
            update.header,
            update.gradients(np.float32(0)),
            update.count,
            reward,
            update.gen_time,
            update.length,
            None if update.aggregated else update.sidecar.worker,
            self.mode != MODE_FIFO,
        )

    def _settle(self, cycle: int) -> None:
        arriving = self._arriving
        _require(arriving is not None, "an update was settled that never arrived")
        assert arriving is not None
        self._arriving = None
        self.counters["in_updates"] += 1
        update, fate, slot = arriving.update, arriving.fate, arriving.slot
        faulty = fate in ("dropped_header", "dropped_length", "dropped_oversize", "dropped_cluster")
        if (update.short or update.long) and not faulty:
            if slot is None or not slot.begun:
                self.counters["dropped_truncated" if update.short else "dropped_overlong"] += 1
                return
            self.counters["repaired"] += 1
            self._note(f"repaired {'short' if update.short else 'long'} while {fate}")
        self.counters[fate] += 1
        if not faulty:
            self._seen[update.sidecar.cluster] = cycle
        if fate == "appended":
            assert slot is not None
            self._line.append(slot)
            self.counters["locked_appends"] += arriving.after_locked
        elif fate == "merged":
            assert slot is not None
            self._merge(slot, update, arriving.reward)
        elif slot is not None:
            fresh = self._own(update, arriving.reward)
            for name in ("sidecar", "header", "gradients", "count", "reward", "gen_time", "replaceable_by"):
                setattr(slot, name, getattr(fresh, name))

    def _merge(self, into: Waiting, update: Update, reward: Reward) -> None:
        count = into.count + update.count
        self.counters["saturations"] += count > _COUNT_LIMIT
        into.count = min(count, _COUNT_LIMIT)
        if update.gen_time >= into.gen_time:
            self._note("merged, newer")
            into.sidecar, into.header, into.gen_time = update.sidecar, update.header, update.gen_time
        else:
            self._note("merged, older")
        if reward.rank > into.reward.rank:
            into.reward = reward
        # What did not arrive adds nothing: -0 leaves every number as it is.
        into.gradients = add(into.gradients, update.gradients(np.float32("-0.0")))
        into.replaceable_by = None
        first, flags, _, seq, _, gen_time, length = _HEADER.unpack_from(into.header, _HEADER_AT)
        merged = (first, flags | Flag.AGGREGATED, into.count, seq, into.reward.bits, gen_time, length)
        into.header = into.header[:_HEADER_AT] + _HEADER.pack(*merged)

    def _note(self, case: str) -> None:
        self.cases[case] = self.cases.get(case, 0) + 1


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Unexplained(otherwise)


def with_status(sidecar: Sidecar, status: tuple[int, int, int, int]) -> Sidecar:
    """``sidecar`` as it leaves, with the queue's status written into it."""
    occupancy, active, slots, flags = status
    return replace(sidecar, occupancy=occupancy, active_clusters=active, slots=slots, status_flags=flags)
