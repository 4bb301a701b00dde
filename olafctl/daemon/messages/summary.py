"""What is refused, in the log: a line now and then instead of one for each message that anybody can send."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable

_log = logging.getLogger(__name__)
_SECONDS = 5.0
_SHOWN = 8


class Summary:
    """Counts refusals by port and reason, and logs the sum at most every few seconds. Any thread may call
    it."""

    def __init__(self, deployment: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._deployment = deployment
        self._clock = clock
        self._since = clock() - _SECONDS
        self._counts: Counter[tuple[int, str]] = Counter()
        self._lock = threading.Lock()

    def add(self, port: int, reason: str) -> None:
        """A message that came in by ``port`` was not done."""
        with self._lock:
            self._counts[port, reason] += 1

    def tell(self) -> None:
        """Log what was added, if that was not done just now."""
        if not self._counts or self._clock() - self._since < _SECONDS:
            return
        self._since = self._clock()
        with self._lock:
            counts, self._counts = self._counts, Counter()
        parts = [f"{count} {reason} at port {port}" for (port, reason), count in counts.most_common(_SHOWN)]
        if len(counts) > _SHOWN:
            parts.append("and more")
        _log.info("%s: control messages not done: %s", self._deployment, ", ".join(parts))
