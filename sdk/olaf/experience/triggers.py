"""Triggers: when what is in the ring makes something happen (ARTOS §4.2).

A trigger *checks* whether its condition holds, and then has fired: an entry in the ring, which is *taken*
once and, when its rows are used, *done*. The process that changes the ring checks; the one that learns takes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from olaf.experience.layout import STAMP, STAMP_BITS
from olaf.experience.memory import order_stores
from olaf.experience.ring import FIRINGS, TRIGGERS, Batch, Integers, Ring, RingError


@dataclass(frozen=True)
class Firing:
    """One firing of a trigger: ranges of rows, which no other firing of it has."""

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
        """Return actor and position of each row."""
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
        """Count ``fired``, ``taken``, ``done``, or ``missed`` (rows too old, or overwritten unread)."""
        return int(self._counts[what][self._index])

    def _set_count(self, what: str, value: int) -> None:
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
            self._set_count("missed", self.count("missed") + int(ahead.sum()))
            self.claimed[: len(starts)] += ahead
            if self.count("fired") == self.count("done"):
                self.released[:] = self.claimed

    def fire(self, stops: Integers) -> None:
        """Fire for each actor's rows from its cursor to ``stops`` (most,)."""
        fired = self.count("fired")
        record = self._journal[fired % FIRINGS]
        record[:, 0] = self.claimed
        record[:, 1] = stops
        self._finished[fired % FIRINGS] = 0
        order_stores()
        self._set_count("fired", fired + 1)
        order_stores()
        self.claimed[:] = stops

    def take(self) -> tuple[int, tuple[tuple[int, int, int], ...]] | None:
        """Take the oldest firing that was not taken yet: its number and ranges."""
        with self.ring.locks.hold():
            number = self.count("taken")
            if number >= self.count("fired"):
                return None
            self._set_count("taken", number + 1)
            record = self._journal[number % FIRINGS]
            ranges = [(actor, int(a), int(b)) for actor, (a, b) in enumerate(record.tolist()) if b > a]
            return number, tuple(ranges)

    def done(self, number: int) -> None:
        """Let the rows of a firing be overwritten; firings can be done in any order."""
        with self.ring.locks.hold():
            self._finished[number % FIRINGS] = number + 1
            done = self.count("done")
            while done < self.count("taken") and self._finished[done % FIRINGS] == done + 1:
                np.maximum(self.released, self._journal[done % FIRINGS, :, 1], out=self.released)
                done += 1
            self._set_count("done", done)
            if done == self.count("fired"):
                self.released[:] = np.maximum(self.released, self.claimed)

    def again(self) -> None:
        """Give out again what was taken and not done, for the successor of a learner that died."""
        with self.ring.locks.hold():
            self._set_count("taken", self.count("done"))


MOST_LAG = (1 << (STAMP_BITS - 1)) - 1
"""The largest lag that versions of STAMP_BITS bits can tell from a newer version."""


def lags(ring: Ring, versions: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    """Return by how many versions the policy is ahead of each row's; versions wrap at STAMP_BITS bits."""
    half = 1 << (STAMP_BITS - 1)
    lag: npt.NDArray[np.int64] = (ring.version - versions.astype(np.int64) + half) % (2 * half) - half
    return lag


class Trigger(Protocol):
    """A condition on a ring, or on the time."""

    name: str

    def check(self, now: float) -> bool:
        """Return whether the trigger has fired; it may at once fire again."""

    def take(self) -> Firing | None:
        """Take the oldest firing that is not taken."""

    def done(self, firing: Firing) -> None:
        """Let the firing's rows, which are used, be overwritten."""

    def due(self) -> float | None:
        """Return when to check although nothing changed, on the clock of ``check``; None for never."""


class DataKey:
    """Fires when ``n`` actors have ``size`` rows each that it has not used, of all ``keys``.

    A firing has ``size`` rows of each of ``n`` actors: of those it has used least. Rows that are more than
    ``max_lag`` policy versions old are left out, and counted as missed. Without ``keys`` a row is used when
    it is complete, and its successor is there too if the layout requires one.
    """

    def __init__(
        self, ring: Ring, name: str, n: int, size: int, keys: tuple[str, ...] = (), max_lag: int | None = None
    ) -> None:
        """Raises ValueError for more rows or actors than the ring has, and for a lag beyond MOST_LAG."""
        if max_lag is not None and not 0 <= max_lag <= MOST_LAG:
            raise ValueError(f"trigger {name}: max_lag={max_lag}; give 0 to {MOST_LAG} versions")
        if not 1 <= n <= ring.most or not 1 <= size <= ring.rows:
            raise ValueError(
                f"trigger {name}: {size} rows of {n} actors exceed the ring's {ring.rows} of {ring.most}"
            )
        self.name, self._n, self._size, self._keys, self._max_lag = name, n, size, tuple(keys), max_lag
        self._ring = ring
        self.cursor = Cursor(ring, name)

    def check(self, now: float = 0.0) -> bool:
        """Return whether enough rows were written."""
        with self._ring.locks.hold():
            if not self.cursor.recover():
                return False
            written = self._count_written()
            self.cursor.skip(np.minimum(self._ring.first(), written))
            if self._max_lag is not None:
                self.cursor.skip(self._find_fresh(written))
            used = self.cursor.claimed[: len(written)]
            ready = np.flatnonzero(written - used >= self._size)
            if len(ready) < self._n:
                return False
            chosen = ready[np.argsort(used[ready], kind="stable")[: self._n]]
            stops = self.cursor.claimed.copy()
            stops[chosen] += self._size
            self.cursor.fire(stops)
            return True

    def take(self) -> Firing | None:
        """Take the oldest firing that is not taken."""
        taken = self.cursor.take()
        return None if taken is None else Firing(self.name, *taken, keys=self._keys)

    def done(self, firing: Firing) -> None:
        """Let the used rows be overwritten."""
        self.cursor.done(firing.number)

    def due(self) -> float | None:
        """Return None: only writing changes it."""
        return None

    def learnable(self, firing: Firing) -> Learnable:
        """Gather a firing's steps, without those that have become too old or were overwritten since.

        Rows that only close an episode do not count as steps.
        """
        actors, positions = firing.places()
        # What is overwritten by now passes both tests and is dropped below, as lost.
        steps = ~self._ring.closing(actors, positions)
        actors, positions = actors[steps], positions[steps]
        kept = np.ones(len(actors), bool)
        if self._max_lag is not None:
            versions, intact = self._ring.read("version", actors, positions)
            kept = (lags(self._ring, versions) <= self._max_lag) | ~intact
        stale = int(len(kept) - kept.sum())
        batch = self._ring.gather(actors[kept], positions[kept])
        lost = int(len(batch) - batch.intact.sum())
        if lost:
            batch = batch.only(batch.intact)
        return Learnable(batch, stale, lost)

    def _count_written(self) -> Integers:
        if self._keys:
            return self._ring.count(*self._keys, STAMP)
        whole = self._ring.count()
        if self._ring.layout.following is None:
            return whole
        actors = np.arange(len(whole))  # what follows the newest step is not there yet
        return np.maximum(whole - ~self._ring.closing(actors, whole - 1), 0)

    def _find_fresh(self, written: Integers) -> Integers:
        """Return the position after the last row of each actor that is too old (actors,)."""
        starts = self.cursor.claimed[: len(written)].copy()
        for actor, (start, stop) in enumerate(zip(starts.tolist(), written.tolist())):
            positions = np.arange(start, max(stop, start))
            versions, _ = self._ring.read("version", np.full(len(positions), actor), positions)
            old = np.flatnonzero(lags(self._ring, versions) > (self._max_lag or 0))
            if len(old):
                starts[actor] = start + int(old[-1]) + 1
        return starts


class ObjectKey:
    """Fires when an object beside the rows, such as the weights, is published; several at once are one."""

    def __init__(self, ring: Ring, name: str, key: str) -> None:
        """Raises KeyError if the ring has no such object."""
        self.name, self._key, self._ring = name, key, ring
        self._seen = ring.objects.published(key)
        self._fired = 0
        self._waiting = False

    def check(self, now: float = 0.0) -> bool:
        """Return whether an object was published."""
        published = self._ring.objects.published(self._key)
        if published == self._seen:
            return False
        self._seen, self._waiting = published, True
        return True

    def take(self) -> Firing | None:
        """Take the newest publication."""
        if not self._waiting:
            return None
        self._waiting = False
        self._fired += 1
        found = self._ring.objects.read(self._key)
        return Firing(self.name, self._fired - 1, version=found[1] if found else 0, keys=(self._key,))

    def done(self, firing: Firing) -> None:
        """Do nothing: there are no rows."""

    def due(self) -> float | None:
        """Return None: only publishing changes it."""
        return None


class Time:
    """Fires every ``seconds``, counted from ``start``: a late look at it does not move what follows."""

    def __init__(self, name: str, seconds: float, start: float) -> None:
        """Raises ValueError for a period that is not positive."""
        if not (0 < seconds < math.inf):
            raise ValueError(f"trigger {name}: a period of {seconds} s; give a finite one above 0")
        self.name, self._seconds, self._start = name, seconds, start
        self._periods = self._taken = self._fired = 0

    def check(self, now: float) -> bool:
        """Return whether a period is over."""
        periods = int((now - self._start) / self._seconds)
        if self._start + (periods + 1) * self._seconds <= now:
            periods += 1  # the division has rounded down
        before, self._periods = self._periods, max(self._periods, periods)
        return self._periods > before

    def take(self) -> Firing | None:
        """Take all periods that are over, as one firing."""
        periods = self._periods - self._taken
        if not periods:
            return None
        self._taken, self._fired = self._periods, self._fired + 1
        return Firing(self.name, self._fired - 1, periods=periods)

    def done(self, firing: Firing) -> None:
        """Do nothing: there are no rows."""

    def due(self) -> float | None:
        """Return the end of the period."""
        return self._start + (self._periods + 1) * self._seconds


class Transfer:
    """Fires when an actor has ``size`` rows that were not sent, once for each of ``stages``, which are keys.

    All waiting rows' first stage is taken before any second: rewards and values first, say, so that
    advantages are computed while observations are on their way (ARTOS §4.4).
    """

    def __init__(self, ring: Ring, name: str, stages: tuple[tuple[str, ...], ...], size: int) -> None:
        """Raises ValueError for no stages, or keys that the ring does not have."""
        unknown = {key for stage in stages for key in stage} - set(ring.layout.counters)
        if not stages or unknown:
            raise ValueError(f"trigger {name}: {stages=}; give some, of {', '.join(ring.layout.counters)}")
        self.name, self._stages = name, tuple(tuple(stage) for stage in stages)
        self._data = [
            DataKey(ring, f"{name}.{number}", 1, size, stage) for number, stage in enumerate(self._stages)
        ]

    def check(self, now: float = 0.0) -> bool:
        """Return whether a stage has fired."""
        return any(data.check(now) for data in self._data)

    def take(self) -> Firing | None:
        """Take the oldest firing of the earliest stage that has one."""
        return next(self._take_stages(), None)

    def done(self, firing: Firing) -> None:
        """Let the sent rows of this stage be overwritten."""
        self._data[firing.stage].done(firing)

    def due(self) -> float | None:
        """Return None: only writing changes it."""
        return None

    def _take_stages(self) -> Iterator[Firing]:
        for stage, data in enumerate(self._data):
            firing = data.take()
            if firing is not None:
                yield Firing(self.name, firing.number, firing.ranges, stage=stage, keys=self._stages[stage])
