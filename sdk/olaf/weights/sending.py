"""What a publisher sends, and when: at a rate that follows the slowest player within the bound.

The newest issue goes first, with what several players missed of it. What one slow player lacks gets a small
share, so that it takes nothing from the others.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Union

import numpy as np
import numpy.typing as npt

from olaf.transport.port import Address, Port, Run
from olaf.weights.issues import Issue
from olaf.weights.players import Players

_BURST, _LEAST_BURST = 0.002, 65536
"""Seconds of the rate that may be sent at once, and bytes that always may."""
_LEAST = 1e6
"""Bytes a second that the rate never falls below, unless less was requested."""
_AT_ONCE = 32
"""Frames given to the port at once."""
_LOSSY = 0.05
"""Share of frames missed by a player from which on the rate falls."""
_FALL, _RISE = 0.75, 1.1
_EACH = 0.5
"""Seconds between two changes of the rate."""


Frames = Union["npt.NDArray[np.int64]", "list[int]"]


class Lane(Enum):
    """What waits, by its share of the rate while the newest issue is sent, and otherwise."""

    URGENT = (1.0, 1.0)
    """Losses of the newest issues."""
    BEHIND = (0.25, 1.0)
    """What leads those on that are behind, or new."""
    SLOW = (0.05, 0.25)
    """The same, to those that stay behind."""


@dataclass(eq=False)
class Repair:
    """Frames of an issue to one player, or to all."""

    issue: Issue
    frames: npt.NDArray[np.int64]
    """Their numbers; -1 - b is the parity of block b, to all."""
    to: Address | None
    done: int = 0


@dataclass
class SentVersion:
    """Counters of frames, and bytes of UDP payload."""

    frames: int = 0
    bytes: int = 0
    repairs: int = 0
    """Frames among them that players had requested."""


class _Queue:
    """A lane's repairs, and the bytes that it may send now."""

    def __init__(self) -> None:
        self.repairs: deque[Repair] = deque()
        self.tokens = 0.0

    def fill(self, rate: float, seconds: float, least: float) -> None:
        self.tokens = min(self.tokens + rate * seconds, max(rate * _BURST, least))


@dataclass
class Sender:
    """The frames of one publisher on their way out."""

    port: Port
    players: Players
    limit: float
    """Bytes a second at most."""
    multicast: bool
    """Whether the engine copies a frame to all players; else each is sent one."""
    sent: SentVersion = field(default_factory=SentVersion)

    def __post_init__(self) -> None:
        self.rate = self.limit
        self.issue: Issue | None = None
        """The newest one."""
        self._last: Issue | None = None
        """The one before."""
        self.newest = self._told = 0
        """The newest published version, and the one that frames to all named last."""
        self._next = 0
        """Its first frame that was not sent yet."""
        self._lanes = {lane: _Queue() for lane in Lane}
        self._filled = self._changed = self.port.now()

    @property
    def busy(self) -> bool:
        """Whether the newest issue is not out yet."""
        return self.issue is not None and self._next < self.issue.count

    def start_issue(self, issue: Issue) -> None:
        """Begin a newer issue, for all players. Of a whole version only the manifest: some may have it."""
        self._last, self.issue = self.issue, issue
        self._next = 0 if issue.base else issue.count - 1

    def frames_out(self, issue: Issue) -> int:
        """Count an issue's frames that players may ask for."""
        return self._next if issue is self.issue else issue.count

    def queue_repair(self, issue: Issue, frames: Frames, to: Address | None, lane: Lane) -> None:
        """Send these frames again, or for the first time to one that was behind; ``to`` None: to all."""
        wanted = np.asarray(frames, np.int64)
        for queued in [one for line in self._lanes.values() for one in line.repairs]:
            if queued.issue is issue and queued.to in (None, to):  # it is on its way already
                wanted = np.setdiff1d(wanted, queued.frames[queued.done :])
        waiting = self._lanes[lane].repairs
        for older in [one for one in waiting if one.to == to and one.issue.version < issue.version]:
            if lane is not Lane.URGENT:  # the newer one leads further
                waiting.remove(older)
        if len(wanted):
            waiting.append(Repair(issue, wanted, to))

    def owes(self, player: Address) -> bool:
        """Return whether frames wait that this slow player lacks."""
        return any(one.to == player for one in self._lanes[Lane.SLOW].repairs)

    def adapt_rate(self, got: int, lost: int) -> None:
        """Take what a player that counts reports as received and missed."""
        now = self.port.now()
        if now - self._changed < _EACH or not got + lost:
            return
        self._changed = now
        factor = _FALL if lost > _LOSSY * (got + lost) else _RISE
        self.rate = min(max(self.rate * factor, min(_LEAST, self.limit)), self.limit)

    def tick(self, now: float) -> float | None:
        """Send what may be sent; when more may be, None for not at all."""
        seconds, self._filled = now - self._filled, now
        due: float | None = None
        for lane, waiting in self._lanes.items():
            urgent = lane is Lane.URGENT
            rate = self.rate * lane.value[not self.busy]
            waiting.fill(rate, seconds, _LEAST_BURST)
            while waiting.tokens > 0 and (self._repaired(waiting) or (urgent and self._newest(waiting))):
                pass
            if waiting.repairs or (urgent and self.busy):
                soon = now + max(_BURST / 2, -waiting.tokens / rate)
                due = soon if due is None else min(due, soon)
        return due

    @property
    def outdated(self) -> bool:
        """Whether players have not been told of the newest published version."""
        return self.newest != self._told

    def repeat_manifest(self) -> None:
        """Send the manifest of the newest issue that is out once more: players that missed all of it learn of
        it, and all of them which version is published by now."""
        issue = self._last if self.busy else self.issue
        if issue is not None:
            self._to_all(issue, issue.count - 1, issue.count)

    def _newest(self, waiting: _Queue) -> bool:
        """Send a few frames of the newest issue; whether any went."""
        if self.issue is None or not self.busy:
            return False
        done = self._to_all(self.issue, self._next, min(self._next + _AT_ONCE, self.issue.count))
        self._next += done
        waiting.tokens -= done * self.issue.size
        return done > 0

    def _repaired(self, waiting: _Queue) -> bool:
        """Send neighbouring frames that wait; whether any went."""
        if not waiting.repairs:
            return False
        repair = waiting.repairs[0]
        ahead = repair.frames[repair.done : repair.done + _AT_ONCE]
        start = int(ahead[0])
        stop = start + (1 if start < 0 else int(np.count_nonzero(ahead - start == np.arange(len(ahead)))))
        if repair.to is None:
            went = self._to_all(repair.issue, start, stop)
        else:
            went = self._to(repair.to, repair.issue.encode_frames(start, stop, self.newest, alone=True))
        self.sent.repairs += went
        waiting.tokens -= went * repair.issue.size
        repair.done += went
        waiting.repairs.rotate(-1)  # fair between players
        if repair.done == len(repair.frames):
            waiting.repairs.remove(repair)
        return went > 0

    def _to_all(self, issue: Issue, start: int, stop: int) -> int:
        """Send frames to all players, and return how many went."""
        targets = self.players.targets
        if not targets:
            return stop - start
        run = (
            issue.encode_frames(start, stop, self.newest)
            if start >= 0
            else issue.parity(-1 - start, self.newest)
        )
        if run is None:
            return stop - start
        self._told = self.newest
        if self.multicast:
            return self._to(targets[-1], run)
        for target in targets:
            self._to(target, run)
        return stop - start

    def _to(self, target: Address, run: Run) -> int:
        done = self.port.send_run(target, run)
        self.sent.frames += done
        self.sent.bytes += min(done * run.size, len(run.data))
        return done
