"""Notifications of idle entries, and the timer that triggers them (P4Runtime §9.1.8)."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence

from olafswitch.p4runtime.agent.read import encode
from olafswitch.p4runtime.agent.state.tables import Entry, TableState
from olafswitch.p4runtime.protocol import p4runtime_pb2

_ENTRIES_PER_MESSAGE = 1000  # entries in one notification, well below the 4 MB that gRPC clients take


def notifications(expired: Sequence[tuple[TableState, Entry]]) -> Iterator[bytes]:
    """StreamMessageResponses that name the entries."""
    for start in range(0, len(expired), _ENTRIES_PER_MESSAGE):
        response = p4runtime_pb2.StreamMessageResponse()
        response.idle_timeout_notification.timestamp = time.time_ns()
        for state, entry in expired[start : start + _ENTRIES_PER_MESSAGE]:
            named = response.idle_timeout_notification.table_entry.add()
            encode.put_key(named, state.table, entry)
            encode.put_remarks(named, entry)
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
