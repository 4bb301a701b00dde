"""When entries with an idle timeout are to be checked (P4Runtime §9.1.8)."""

import heapq
import itertools
import time

from olafswitch.p4runtime.agent.state.keys import Identity
from olafswitch.p4runtime.agent.state.tables import Entry, TableState
from olafswitch.p4runtime.dataplane import ForwardingPlane

SHORTEST_NS = 10_000_000
"""An entry is not checked more often than this."""
_MAX_STALE = 1024  # checks of entries that are gone; beyond, and twice the others, they are removed

_Place = tuple[int, Identity, int]
"""Table id, identity of the key, priority."""


class Watch:
    """The entries with an idle timeout of one forwarding state; for one thread at a time.

    Times are monotonic, in ns.
    """

    def __init__(self) -> None:
        self._checks: dict[_Place, int] = {}
        self._queue: list[tuple[int, int, TableState, Identity, int]] = []
        self._numbers = itertools.count()

    def keep(self, state: TableState, identity: Identity, entry: Entry) -> None:
        """Watch an entry that was written just now, if it has an idle timeout."""
        if not entry.idle_timeout_ns:
            self.forget(state, identity, entry)
            return
        entry.timer_start = time.monotonic_ns()
        check = entry.timer_start + entry.idle_timeout_ns
        earlier = self._checks.get((state.table.id, identity, entry.priority))
        if earlier is None or check < earlier:
            self._check_at(check, state, identity, entry.priority)

    def forget(self, state: TableState, identity: Identity, entry: Entry) -> None:
        """An entry was deleted, or has no idle timeout any more."""
        self._checks.pop((state.table.id, identity, entry.priority), None)
        if len(self._queue) > 2 * len(self._checks) + _MAX_STALE:
            self._queue = [each for each in self._queue if self._is_due(each)]
            heapq.heapify(self._queue)

    def next_check(self) -> int | None:
        """When to ask for what has expired."""
        return self._queue[0][0] if self._queue else None

    def expired(self, plane: ForwardingPlane) -> list[tuple[TableState, Entry]]:
        """The entries that no packet hit for their idle timeout; their timers start again."""
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
            check = max(hit, entry.timer_start) + entry.idle_timeout_ns
            self._check_at(max(check, now + SHORTEST_NS), state, identity, priority)
        return found

    def _check_at(self, when: int, state: TableState, identity: Identity, priority: int) -> None:
        self._checks[state.table.id, identity, priority] = when
        heapq.heappush(self._queue, (when, next(self._numbers), state, identity, priority))

    def _is_due(self, queued: tuple[int, int, TableState, Identity, int]) -> bool:
        when, _, state, identity, priority = queued
        return self._checks.get((state.table.id, identity, priority)) == when
