"""One member's contributions: how many it may make, how stale they are, and which go out again.

Between two steps a member commits at most S + 1 gradients, each computed at most S steps ago. No frame says
which contributions are in a result. Those to a segment that has had no result since are sent again after a
pause, under their old numbers, of which the engine takes each once; what a newer result does not contain
may be lost, as one gradient of many.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from olaf.serial import ROUND_BITS, TIME_BITS, VERSION_BITS
from olaf.transport import wire
from olaf.transport.frames import Writer
from olaf.transport.port import Address, Port
from olaf.transport.segments import Segments, Vector, blocks

MOST_STALENESS = 15
"""An engine tells a member's contributions apart within a window of 16."""
_BURST_BYTES, _BURST_PAUSE = 128 << 10, 0.0005
"""Bytes that are sent at once, and seconds until more are."""


@dataclass
class CommitCounters:
    """Counts of contributions, in gradients; ``left_out``, ``again`` and ``renewed`` in frames."""

    commits: int = 0
    stale: int = 0
    """Refused: computed more than S steps ago."""
    early: int = 0
    """Refused: S + 1 were committed since the last step."""
    left_out: int = 0
    """Blocks left out, because their segment was ahead of the others."""
    again: int = 0
    renewed: int = 0
    """Contributions given a second time, because what they went into never came."""
    broken: int = 0
    """Refused: not all of their numbers are finite in binary32."""
    histogram: list[int] = field(default_factory=list)
    """Commits by how many steps ago their gradient's weights were the newest."""


@dataclass
class Commit:
    """One gradient (n,) under way."""

    seq: int
    weights_version: int
    reward: float
    time: int
    gradient: Vector


class Commits:
    """The contributions of one member."""

    def __init__(self, port: Port, server: Address, segments: Segments, staleness: int) -> None:
        """``staleness`` is S, ``server`` where contributions go."""
        self.counters = CommitCounters(histogram=[0] * (staleness + 1))
        self.staleness, self.server, self.epoch = staleness, server, 0
        self.segments = segments
        self._port = port
        self._writer = Writer()
        # Newer than all that this member has used before it began again.
        self._seq = port.wall() // 1_000_000
        self._since = 0
        """Commits since the last step."""
        self._kept: list[deque[Commit]] = [deque(maxlen=staleness + 1) for _ in range(segments.count)]
        self._queue: deque[tuple[Commit, range]] = deque()
        self._due = 0.0

    @property
    def room(self) -> bool:
        """Whether another gradient may be committed before the next step."""
        return self._since <= self.staleness

    @property
    def waiting(self) -> bool:
        """Whether a result is waited for."""
        return any(self._kept)

    def count_given(self, segment: int) -> int:
        """Count this member's contributions to a segment since the segment's last result."""
        return len(self._kept[segment])

    def admits(self, lag: int) -> bool:
        """Return whether a gradient computed ``lag`` steps ago may be committed now; count it if not."""
        self.counters.stale += lag > self.staleness
        self.counters.early += lag <= self.staleness and not self.room
        return lag <= self.staleness and self.room

    def add_commit(self, gradient: Vector, version: int, lag: int, reward: float, ahead: list[int]) -> None:
        """Commit a gradient (n,), without the blocks of the segments ``ahead``."""
        self._since += 1
        self.counters.commits += 1
        self.counters.histogram[lag] += 1
        self.counters.left_out += len(ahead)
        commit = self._make_commit(gradient.copy(), version, reward)
        for part in _split_without(ahead, self.segments.count):
            self._queue.append((commit, part))
            for segment in part:
                self._kept[segment].append(commit)
        self.send_due(self._port.now())

    def fill_segment(self, segment: int) -> None:
        """Contribute zeros. They are negative: added to any sum, -0.0 too, these leave every bit of it."""
        commit = self._make_commit(np.full(self.segments.values, -0.0, np.float32), 0, 0.0)
        self._kept[segment].append(commit)
        self._queue.append((commit, range(segment, segment + 1)))

    def note_answer(self, segment: int) -> None:
        """Forget the contributions to a segment whose result came, or never will."""
        self._kept[segment].clear()

    def note_step(self) -> None:
        """Note that a step was applied."""
        self._since = 0

    def clear(self) -> None:
        """Forget everything that was committed."""
        self._since = 0
        self._queue.clear()
        for kept in self._kept:
            kept.clear()

    def send_again(self, segment: int) -> None:
        """Send what was given to a segment once more."""
        if self._queue:
            return  # it is not even sent once
        self.counters.again += len(self._kept[segment])
        self._queue.extend((commit, range(segment, segment + 1)) for commit in self._kept[segment])

    def renew_commits(self, segment: int) -> None:
        """Give what was given to a segment under new numbers: the engine takes it a second time."""
        self.counters.renewed += len(self._kept[segment])
        renewed = [
            self._make_commit(each.gradient, each.weights_version, each.reward)
            for each in self._kept[segment]
        ]
        self._kept[segment].clear()
        self._kept[segment].extend(renewed)
        self._queue.extend((commit, range(segment, segment + 1)) for commit in renewed)

    def send_due(self, now: float) -> float | None:
        """Send what may be sent now; returns when there is more."""
        if not self._queue:
            return None
        if now < self._due:
            return self._due
        each = wire.IP_UDP_BYTES + wire.OLAF_BYTES + 4 * self.segments.size
        left = max(1, _BURST_BYTES // each)
        while self._queue and left > 0:
            commit, part = self._queue.popleft()
            now_sent = range(part.start, min(part.stop, part.start + left))
            left -= len(now_sent)
            self._send_part(commit, now_sent)
            if now_sent.stop < part.stop:
                self._queue.appendleft((commit, range(now_sent.stop, part.stop)))
        self._due = now + _BURST_PAUSE
        return self._due if self._queue else None

    def _make_commit(self, gradient: Vector, version: int, reward: float) -> Commit:
        self._seq = (self._seq + 1) % (1 << ROUND_BITS)
        weights_version, time = version % (1 << VERSION_BITS), self._port.wall() % (1 << TIME_BITS)
        return Commit(self._seq, weights_version, reward, time, gradient)

    def _send_part(self, commit: Commit, part: range) -> None:
        """Send a part; frames that the socket refuses count as lost and are sent again."""
        flags, kind = wire.Flag.SUMMED, wire.FrameType.UPDATE
        header = wire.Olaf(
            wire.VERSION, kind, self.epoch, flags, 1, commit.seq, commit.reward, commit.time, part.start, 0
        )
        values = commit.gradient[self.segments.span(part)]
        run = self._writer.run(
            header, [commit.weights_version] * len(part), blocks(values, self.segments.size)
        )
        self._port.send_run(self.server, run)


def _split_without(left_out: list[int], count: int) -> Iterator[range]:
    """Yield the runs of the segments below ``count`` that are not left out; ``left_out`` is in order."""
    start = 0
    for segment in [*left_out, count]:
        if segment > start:
            yield range(start, segment)
        start = segment + 1
