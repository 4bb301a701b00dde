"""What a trigger has used of a ring, kept in the ring: it outlives every process."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from olaf.experience.layout import STAMP_BITS
from olaf.experience.memory import fence
from olaf.experience.ring import FIRINGS, TRIGGERS, Batch, Integers, Ring, RingError


@dataclass(frozen=True)
class Firing:
    """What a trigger has fired for: ranges of rows, which no other firing of it has."""

    trigger: str
    number: int
    """From 0 on."""
    ranges: tuple[tuple[int, int, int], ...] = ()
    """Actor, first row and the one after the last."""
    version: int = 0
    """The object's version, for a trigger on one."""
    periods: int = 0
    """Periods that are over, for a trigger on time: more than one if no check came in between."""
    stage: int = 0
    """The stage of a transfer."""
    keys: tuple[str, ...] = ()
    """Keys whose rows are meant; none for all."""

    @property
    def rows(self) -> int:
        """How many rows."""
        return sum(stop - start for _, start, stop in self.ranges)

    def places(self) -> tuple[Integers, Integers]:
        """Actor and position of each row."""
        actors = np.repeat([a for a, _, _ in self.ranges], [stop - start for _, start, stop in self.ranges])
        positions = [np.arange(start, stop) for _, start, stop in self.ranges]
        return actors.astype(np.int64), np.concatenate(positions or [np.zeros(0, np.int64)])


@dataclass(frozen=True)
class Learnable:
    """The rows of a firing that may be learnt from."""

    batch: Batch
    stale: int
    """How many had become older than the lag bound since the trigger fired."""
    lost: int
    """How many had been overwritten."""


class Cursor:
    """A trigger's state in the ring's memory, by its name; all processes that use the name share it.

    A firing is a record in a journal: it is made by one store, after which it is there whatever dies, and
    before which it is not. What it uses follows from the record.
    """

    def __init__(self, ring: Ring, name: str) -> None:
        """Raises RingError where the ring has no room for another trigger, or for the name."""
        self.ring, self.name = ring, name
        key = name.encode()
        names = ring.control["names"]
        if not 0 < len(key) <= names.dtype.itemsize:
            raise RingError(f"a trigger's name has 1 to {names.dtype.itemsize} bytes, not {len(key)}")
        with ring.locks.hold():
            known = np.flatnonzero(names == key)
            free = np.flatnonzero(names == b"")
            if not len(known) and not len(free):
                raise RingError(f"trigger {name} does not fit: the ring has {TRIGGERS}")
            self._index = int(known[0] if len(known) else free[0])
            names[self._index] = key
        self.claimed: Integers = ring.control["claimed"][self._index]
        self.released: Integers = ring.control["released"][self._index]
        self._journal: Integers = ring.control["journal"][self._index]
        self._finished: Integers = ring.control["finished"][self._index]
        self._counts = {key: ring.control[key] for key in ("fired", "taken", "done", "missed")}

    def count(self, what: str) -> int:
        """Of ``fired``, ``taken``, ``done`` and ``missed``: rows that were too old, or overwritten unread."""
        return int(self._counts[what][self._index])

    def _set(self, what: str, value: int) -> None:
        self._counts[what][self._index] = value

    def recover(self) -> bool:
        """Use what the last firing used, if its process died before; whether another firing has room."""
        fired = self.count("fired")
        if fired:
            stops = self._journal[(fired - 1) % FIRINGS, :, 1]
            np.maximum(self.claimed, stops, out=self.claimed)
        return fired - self.count("done") < FIRINGS

    def skip(self, starts: Integers) -> None:
        """Leave rows before ``starts`` (actors,) out; they count as missed."""
        ahead = np.maximum(starts - self.claimed[: len(starts)], 0)
        if ahead.any():
            self._set("missed", self.count("missed") + int(ahead.sum()))
            self.claimed[: len(starts)] += ahead
            if self.count("fired") == self.count("done"):
                self.released[:] = self.claimed

    def fire(self, stops: Integers) -> None:
        """Fire for each actor's rows from where it is to ``stops`` (most,)."""
        fired = self.count("fired")
        record = self._journal[fired % FIRINGS]
        record[:, 0] = self.claimed
        record[:, 1] = stops
        self._finished[fired % FIRINGS] = 0
        fence()
        self._set("fired", fired + 1)
        fence()
        self.claimed[:] = stops

    def take(self) -> tuple[int, tuple[tuple[int, int, int], ...]] | None:
        """The oldest firing that was not taken yet: its number and ranges."""
        with self.ring.locks.hold():
            number = self.count("taken")
            if number >= self.count("fired"):
                return None
            self._set("taken", number + 1)
            record = self._journal[number % FIRINGS]
            ranges = [(actor, int(a), int(b)) for actor, (a, b) in enumerate(record.tolist()) if b > a]
            return number, tuple(ranges)

    def done(self, number: int) -> None:
        """The rows of a firing may be overwritten; firings can be done in any order."""
        with self.ring.locks.hold():
            self._finished[number % FIRINGS] = number + 1
            done = self.count("done")
            while done < self.count("taken") and self._finished[done % FIRINGS] == done + 1:
                np.maximum(self.released, self._journal[done % FIRINGS, :, 1], out=self.released)
                done += 1
            self._set("done", done)
            if done == self.count("fired"):
                self.released[:] = np.maximum(self.released, self.claimed)

    def again(self) -> None:
        """Give out again what was taken and not done, for the successor of a learner that died."""
        with self.ring.locks.hold():
            self._set("taken", self.count("done"))


MOST_LAG = (1 << (STAMP_BITS - 1)) - 1
"""The largest lag that versions of STAMP_BITS bits can tell from a newer version."""


def lags(ring: Ring, versions: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    """Return by how many versions the policy is ahead of each row's; versions wrap at STAMP_BITS bits."""
    half = 1 << (STAMP_BITS - 1)
    lag: npt.NDArray[np.int64] = (ring.version - versions.astype(np.int64) + half) % (2 * half) - half
    return lag
