"""Entries with a time to live, and what is said of those that no packet hits (P4Runtime §9.1.8)."""

import heapq
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from p4.v1 import p4runtime_pb2

from olafctl.p4runtime.agent import answers
from olafctl.p4runtime.agent.entries import Entry, TableState
from olafctl.p4runtime.agent.keys import Identity
from olafctl.p4runtime.dataplane import DataPlane

SHORTEST_NS = 10_000_000
"""Entries are not looked at more often than this."""
_TOGETHER = 1000  # entries in one notification, well below the 4 MB that gRPC clients take
_STALE = 1024  # looks at entries that are gone; beyond, and twice the others, they are cleared away

_Place = tuple[int, Identity, int]
"""Table id, identity of the key, priority."""


class Watch:
    """The entries with a time to live of one forwarding state; for one thread at a time.

    Times are monotonic, in ns.
    """

    def __init__(self) -> None:
        self._looks: dict[_Place, int] = {}
        self._queue: list[tuple[int, int, TableState, Identity, int]] = []
        self._numbers = itertools.count()

    def keep(self, state: TableState, identity: Identity, entry: Entry) -> None:
        """Watch an entry that was written just now, if it has a time to live."""
        if not entry.idle_timeout_ns:
            self.forget(state, identity, entry)
            return
        entry.timer_start = time.monotonic_ns()
        look = entry.timer_start + entry.idle_timeout_ns
        earlier = self._looks.get((state.table.id, identity, entry.priority))
        if earlier is None or look < earlier:
            self._look_at(look, state, identity, entry.priority)

    def forget(self, state: TableState, identity: Identity, entry: Entry) -> None:
        """An entry is no more, or has no time to live."""
        self._looks.pop((state.table.id, identity, entry.priority), None)
        if len(self._queue) > 2 * len(self._looks) + _STALE:
            self._queue = [each for each in self._queue if self._is_due(each)]
            heapq.heapify(self._queue)

    def next_look(self) -> int | None:
        """When to ask for what has expired."""
        return self._queue[0][0] if self._queue else None

    def expired(self, plane: DataPlane) -> list[tuple[TableState, Entry]]:
        """The entries that no packet hit for their time to live; their timers start anew."""
        now = time.monotonic_ns()
        found = []
        while self._queue and self._queue[0][0] <= now:
            each = heapq.heappop(self._queue)
            if not self._is_due(each):
                continue
            _, _, state, identity, priority = each
            entry = state.entries[identity, priority]
            hit = now - plane.idle_ns(state.table.id, entry.key, priority)
            if max(hit, entry.timer_start) + entry.idle_timeout_ns <= now:
                entry.timer_start = now
                found.append((state, entry))
            look = max(hit, entry.timer_start) + entry.idle_timeout_ns
            self._look_at(max(look, now + SHORTEST_NS), state, identity, priority)
        return found

    def _look_at(self, when: int, state: TableState, identity: Identity, priority: int) -> None:
        self._looks[state.table.id, identity, priority] = when
        heapq.heappush(self._queue, (when, next(self._numbers), state, identity, priority))

    def _is_due(self, queued: tuple[int, int, TableState, Identity, int]) -> bool:
        when, _, state, identity, priority = queued
        return self._looks.get((state.table.id, identity, priority)) == when


def notifications(expired: Sequence[tuple[TableState, Entry]]) -> Iterator[bytes]:
    """StreamMessageResponses that name the entries."""
    for start in range(0, len(expired), _TOGETHER):
        response = p4runtime_pb2.StreamMessageResponse()
        response.idle_timeout_notification.timestamp = time.time_ns()
        for state, entry in expired[start : start + _TOGETHER]:
            named = answers.entry_key(state.table, entry) + answers.priority(entry) + answers.remarks(entry)
            response.idle_timeout_notification.table_entry.append(p4runtime_pb2.TableEntry.FromString(named))
        yield response.SerializeToString()


class Alarm:
    """Calls ``ring`` in a thread of its own, once, at the earliest time it was set to."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._changed = threading.Condition()
        self._at: int | None = None
        self._closed = False
        self._thread: threading.Thread | None = None

    def set(self, at: int | None) -> None:
        """Ring at a monotonic time in ns; None changes nothing."""
        with self._changed:
            if at is None or self._closed or (self._at is not None and self._at <= at):
                return
            self._at = at
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="idle timeouts", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread:
            self._thread.join()

    def _run(self) -> None:
        while self._wait():
            self._ring()

    def _wait(self) -> bool:
        """Return when it is time, or False when closed."""
        with self._changed:
            while not self._closed:
                now = time.monotonic_ns()
                if self._at is not None and self._at <= now:
                    self._at = None
                    return True
                self._changed.wait(None if self._at is None else (self._at - now) / 1e9)
            return False
