"""Shares of the daemon for sources and front ports: rates, and turns."""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable


class Rates:
    """A token bucket for each source; the sources longest silent are forgotten, so memory stays bounded. Any
    thread may ask."""

    def __init__(
        self, per_second: float, burst: float, sources: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Allow ``burst`` messages at once; remember at most ``sources``."""
        self._per_second = per_second
        self._burst = burst
        self._sources = sources
        self._clock = clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()
        """The messages that each source may send, and the time for which this was computed."""
        self._lock = threading.Lock()

    def allows_message(self, source: Hashable) -> bool:
        """Return whether ``source`` may send a message now, and count it if so."""
        with self._lock:
            now = self._clock()
            left, since = self._buckets.pop(source, (self._burst, now))
            left = min(self._burst, left + (now - since) * self._per_second)
            allowed = left >= 1
            self._buckets[source] = (left - allowed, now)
            while len(self._buckets) > self._sources:
                self._buckets.popitem(last=False)
            return allowed


class Turns:
    """A bounded queue for each port; the ports are served in turn. Any thread may call it."""

    def __init__(self, most: int) -> None:
        """Let at most ``most`` messages of a port wait."""
        self._most = most
        self._waiting: OrderedDict[int, deque[bytes]] = OrderedDict()
        """The waiting messages by port; the port with the next turn comes first."""
        self._changed = threading.Condition()

    def put(self, port: int, frame: bytes) -> bool:
        """Add a message; return False when too many of the port wait already."""
        with self._changed:
            waiting = self._waiting.setdefault(port, deque())
            if len(waiting) >= self._most:
                return False
            waiting.append(frame)
            self._changed.notify()
            return True

    def take_message(self, timeout: float) -> tuple[int, bytes] | None:
        """Return the port whose turn it is and its first message; None when ``timeout`` seconds bring
        none."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._waiting, timeout):
                return None
            port, waiting = self._waiting.popitem(last=False)
            frame = waiting.popleft()
            if waiting:
                self._waiting[port] = waiting
            return port, frame
