"""Limits the messages that one source may send."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable


class Rates:
    """A token bucket for each source; the sources longest silent are forgotten, so memory stays bounded.
    Any thread may ask."""

    def __init__(
        self, per_second: float, burst: float, sources: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``burst`` messages at once; ``sources`` are remembered at most."""
        self._per_second = per_second
        self._burst = burst
        self._sources = sources
        self._clock = clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()
        """Source → messages it may send, and when that was so."""
        self._lock = threading.Lock()

    def allows(self, source: Hashable) -> bool:
        """Return whether ``source`` may send one now; counts it if so."""
        with self._lock:
            now = self._clock()
            left, since = self._buckets.pop(source, (self._burst, now))
            left = min(self._burst, left + (now - since) * self._per_second)
            allowed = left >= 1
            self._buckets[source] = (left - allowed, now)
            while len(self._buckets) > self._sources:
                self._buckets.popitem(last=False)
            return allowed
