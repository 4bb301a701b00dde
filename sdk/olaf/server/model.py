"""One cluster's model at the parameter server: weights, its segments' versions, and its age."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

from olaf.policies import PolicyMaker
from olaf.serial import ROUND_BITS, VERSION_BITS, distance
from olaf.transport.port import Address
from olaf.transport.segments import Segments, Vector, blocks, stretches

BOUNDS = (0, *(1 << bit for bit in range(VERSION_BITS)))
"""The largest staleness of each bin of a histogram: 0, 1, 2, 4, 8, …"""


@dataclass
class Staleness:
    """Staleness of one cluster's worker updates; each segment of one counts by itself."""

    updates: int = 0
    total: int = 0
    """The sum of their staleness, in versions."""
    largest: int = 0
    merged: int = 0
    """Updates merged into frames: of such a frame only the sum is known, and each counts as its mean."""
    oldest: int = 0
    """Updates among these whose frames carry the oldest one's staleness alone. It is taken for all,
    so the mean is an upper bound."""
    bins: list[int] = field(default_factory=lambda: [0] * len(BOUNDS))
    """Updates by BOUNDS."""

    @property
    def mean(self) -> float | None:
        """None before the first update."""
        return self.total / self.updates if self.updates else None

    def add(self, totals: Sequence[int], count: int, exact: bool = True) -> None:
        """Add frames of ``count`` updates each, for segments of these sums of staleness (at least one).

        They are ``exact``, or made of the oldest's in each frame.
        """
        number, first = len(totals), totals[0]
        self.updates += number * count
        if count > 1:
            self.merged += number * count
            self.oldest += 0 if exact else number * count
        if number == 1 or totals.count(first) == number:  # as nearly always
            self.total += first * number
            self._count_updates(first, count, number)
            return
        self.total += sum(totals)
        for total in totals:
            self._count_updates(total, count, 1)

    def _count_updates(self, total: int, count: int, frames: int) -> None:
        mean = -(-total // count)
        self.largest = max(self.largest, mean)
        self.bins[_find_bin(mean)] += frames * count

    def figures(self) -> dict[str, object]:
        """Return the figures of a report: the histogram by its bounds, without those above the largest."""
        return {
            "mean": self.mean,
            "max": self.largest,
            "merged": self.merged,
            "oldest": self.oldest,
            "histogram": {
                str(bound): count for bound, count in zip(BOUNDS, self.bins[: _find_bin(self.largest) + 1])
            },
        }


def _find_bin(lag: int) -> int:
    return lag if lag < 2 else 1 + (lag - 1).bit_length()


class AgeOfModel:
    """Δ of one cluster at the parameter server."""

    def __init__(self, segments: int) -> None:
        self.stale = 0
        """Receptions that made no segment fresher."""
        self._born: list[int | None] = [None] * segments
        """When the freshest update of each segment was generated."""
        self._segments: dict[int, int] = {}
        """How many segments' freshest update was generated then."""
        self._by_age: list[int] = []
        """All times that are keys of ``_segments``, as a heap."""
        self._missing = segments
        self._oldest: int | None = None
        self._start = self._last = 0
        self._doubled_area = 0

    def note_reception(self, now: int, segment: int, age: int, segments: int = 1) -> None:
        """Note that an update of a segment, generated ``age`` ns ago (0 if negative), is received at ``now``.

        ``segments``: of so many neighbouring ones, at the same time.
        """
        born = now - max(age, 0)
        for held, alike in stretches(self._born[segment : segment + segments], segment):
            if held is not None and born <= held:
                self.stale += len(alike)
                continue
            if held is None:
                self._missing -= len(alike)
            else:
                self._segments[held] -= len(alike)
            if born not in self._segments:
                self._segments[born] = 0
                heapq.heappush(self._by_age, born)
            self._segments[born] += len(alike)
            self._born[alike.start : alike.stop] = [born] * len(alike)
        if self._missing:
            return
        if self._oldest is None:
            self._start = self._last = now
        else:
            self._advance_area(now, self._oldest)
        while not self._segments[self._by_age[0]]:
            del self._segments[heapq.heappop(self._by_age)]
        self._oldest = self._by_age[0]

    def average_age(self, now: int) -> float | None:
        """Return the time average of Δ in ns since it began; None before that, or at that instant."""
        if self._oldest is None or now <= self._start:
            return None
        self._advance_area(now, self._oldest)
        return self._doubled_area / (2 * (now - self._start))

    def _advance_area(self, now: int, oldest: int) -> None:
        """Add the trapezium up to ``now``."""
        self._doubled_area += (now - self._last) * (now - oldest + self._last - oldest)
        self._last = now


REPLAY_WINDOW = 64


class Replay:
    """Remembers one sender's last sequence numbers, for each segment of a model.

    A number inside of the window counts once. One outside of it, on either side, is a sender that started
    again at another number: the window moves there.
    """

    def __init__(self, segments: int = 1) -> None:
        self._states: list[tuple[int, int] | None] = [None] * segments
        """The newest number, and as bit k whether ``newest - k`` was seen."""

    def first(self, seq: int, segments: range = range(1)) -> list[tuple[bool, range]]:
        """Tell for these segments, in order, whether ``seq`` is new, and remember it."""
        found = []
        known = self._states[segments.start : segments.stop]
        for state, alike in stretches(known, segments.start):
            new, after = _mark_seen(state, seq)
            self._states[alike.start : alike.stop] = [after] * len(alike)
            found.append((new, alike))
        return found


def _mark_seen(state: tuple[int, int] | None, seq: int) -> tuple[bool, tuple[int, int]]:
    """Return whether ``seq`` is new to a segment in this state, and the state after it."""
    if state is None:
        return True, (seq, 1)
    newest, seen = state
    ahead = distance(seq, newest, ROUND_BITS)
    if abs(ahead) >= REPLAY_WINDOW:
        return True, (seq, 1)
    if ahead > 0:
        return True, (seq, (seen << ahead | 1) & ((1 << REPLAY_WINDOW) - 1))
    bit = 1 << -ahead
    return not seen & bit, (newest, seen | bit)


@dataclass
class ServerCounters:
    """Counts of one cluster, in frames unless noted otherwise."""

    received: int = 0
    updates: int = 0
    """Worker updates in them: the sum of counts."""
    applied: int = 0
    collected: int = 0
    refused: int = 0
    """Frames that the policy refused; answered like all others."""
    overflowed: int = 0
    """Sums of a segment beyond binary32: frames refused for that, and groups of frames dropped."""
    duplicates: int = 0
    """Answered, not applied a second time."""
    unusable: int = 0
    """Frames of another length or division, or not finite."""
    before_weights: int = 0
    """Updates received before there were weights."""
    other_epoch: int = 0
    clock_ahead: int = 0
    """Generated in the future by the sender's clock; age 0."""
    staleness: Staleness = field(default_factory=Staleness)
    """Staleness of the worker updates that the policy received."""


@dataclass
class Served:
    """A cluster without a model has no weights yet."""

    epoch: int = 0
    model: Model | None = None
    counters: ServerCounters = field(default_factory=ServerCounters)
    candidates: dict[Address, tuple[Segments, dict[int, Vector]]] = field(default_factory=dict)
    """Initial weights by worker, until one's are whole (OLAF §2.1)."""
    saved: list[int] = field(default_factory=list)
    """Versions in the last checkpoint."""


RESERVED = 4096
"""Versions that may be given out between two checkpoints."""
_MOST_SENDERS = 4096
"""Addresses whose sequence numbers are remembered; beyond that the oldest is forgotten."""
_MOST_NUMBERS = 1 << 24
"""Sequence numbers remembered of all senders: many senders of large models must not fill the memory."""


class Model:
    """All segments of one cluster's model."""

    def __init__(self, segments: Segments, weights: Vector, make: PolicyMaker) -> None:
        """``weights`` has shape (segments.values,)."""
        self.segments = segments
        self.age = AgeOfModel(segments.count)
        self.policy = make(weights, segments)
        self.versions = [0] * segments.count
        """Version of each segment's weights, modulo 2^16: each move adds 1."""
        self.behind: list[dict[Address, None]] = [{} for _ in range(segments.count)]
        """Contributors to a common move that has not happened yet, by segment."""
        self._resumed: list[int] | None = None
        """Versions that a server which continues from a checkpoint began with."""
        self._begun: list[int] | None = list(self.versions)
        """Versions that this server began with; None when that is long ago."""
        self._seen: dict[Address, Replay] = {}
        self._blocks: list[memoryview] = []
        self._divided: Vector | None = None
        """The weights that ``_blocks`` are views of."""
        self._most = min(_MOST_SENDERS, max(1, _MOST_NUMBERS // segments.count))

    def first(self, member: Address, seq: int, segments: range) -> list[tuple[bool, range]]:
        """Return for these segments, in order, whether this member's frames are new."""
        replay = self._seen.get(member)
        if replay is None:
            if len(self._seen) >= self._most:
                del self._seen[next(iter(self._seen))]
            replay = self._seen[member] = Replay(self.segments.count)
        return replay.first(seq, segments)

    def resume(self, versions: list[int]) -> None:
        """Continue from a checkpoint; ``versions`` are those of it. Others begin, never given out before."""
        self.versions = [(version + RESERVED) % (1 << VERSION_BITS) for version in versions]
        self._resumed, self._begun = list(self.versions), list(self.versions)

    def staleness(self, segments: range, fields: list[int], count: int, summed: bool) -> list[int]:
        """Return the sum of the staleness of the ``count`` updates in the frame of each segment.

        ``fields`` is each field ``weights_version``: with ``summed`` the sum of the updates' versions modulo
        2^16, by which the sum is exact while it is below 2^16, else the version of the oldest, whose
        staleness is taken for all. Updates from before this server began count as if they were as old as it.
        """
        if count == 1 or not summed:
            lags = self.lags(segments, fields)
            return lags if count == 1 else [count * lag for lag in lags]
        versions = self.versions[segments.start : segments.stop]
        totals = [(count * version - each) % (1 << VERSION_BITS) for version, each in zip(versions, fields)]
        since = self._versions_since(segments)
        return totals if since is None else [min(total, count * old) for total, old in zip(totals, since)]

    def _versions_since(self, segments: range) -> list[int] | None:
        """Return how many versions ago the server began, of each segment; None when that is long ago."""
        if self._begun is None:
            return None
        versions = self.versions[segments.start : segments.stop]
        begun = self._begun[segments.start : segments.stop]
        moved = [distance(version, first, VERSION_BITS) for version, first in zip(versions, begun)]
        if min(moved) < 0 or max(moved) > 2 * RESERVED:  # no worker has weights from before any more
            self._begun = None
            return None
        return moved

    def lags(self, segments: range, bases: list[int]) -> list[int]:
        """Return how many versions ago the weights of each segment had versions ``bases``; 0 for one yet to
        come.

        Versions that were skipped in a restart do not count, and weights that got lost in it count as those
        that the checkpoint had.
        """
        versions = self.versions[segments.start : segments.stop]
        count, version, base = len(bases), versions[0], bases[0]
        if self._resumed is None and (
            count == 1 or bases.count(base) == count == versions.count(version)  # as nearly always
        ):
            return [max(distance(version, base, VERSION_BITS), 0)] * count
        lags = [distance(version, base, VERSION_BITS) for version, base in zip(versions, bases)]
        if self._resumed is not None:
            begun = self._resumed[segments.start : segments.stop]
            moved = [distance(version, first, VERSION_BITS) for version, first in zip(versions, begun)]
            lags = [lag if lag <= since else max(lag - RESERVED, since) for lag, since in zip(lags, moved)]
            if max(moved) > 2 * RESERVED:  # no worker has weights from before any more
                self._resumed = None
        return [max(lag, 0) for lag in lags]

    def blocks(self, segments: range) -> list[memoryview]:
        """Return the weights of each segment as they travel, where they are."""
        weights = self.policy.weights
        if self._divided is not weights:
            self._blocks = blocks(weights, self.segments.size)
            # Weights of a policy of one's own may not travel as they are: then these are copies.
            owner: object = self._blocks[0].obj
            self._divided = weights if owner is weights else None
        return self._blocks[segments.start : segments.stop]
