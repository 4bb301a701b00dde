"""Log refused messages in a line now and then, because anybody can send any number of them."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable

_log = logging.getLogger(__name__)
_SECONDS = 5.0
_SHOWN = 8


class Summary:
    """Counts of refusals by port and reason, which are logged at most every few seconds. Any thread may call
    it."""

    def __init__(self, deployment: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._deployment = deployment
        self._clock = clock
        self._since = clock() - _SECONDS
        self._counts: Counter[tuple[int, str]] = Counter()
        self._lock = threading.Lock()

    def add_message(self, port: int, reason: str) -> None:
        """Count a message from ``port`` that was refused or dropped."""
        with self._lock:
            self._counts[port, reason] += 1

    def log_counts(self) -> None:
        """Log the counts, unless the last line is too recent."""
        if not self._counts or self._clock() - self._since < _SECONDS:
            return
        self._since = self._clock()
        with self._lock:
            counts, self._counts = self._counts, Counter()
        parts = [f"{count} {reason} at port {port}" for (port, reason), count in counts.most_common(_SHOWN)]
        if len(counts) > _SHOWN:
            parts.append("and more")
        _log.info("%s: control messages not done: %s", self._deployment, ", ".join(parts))
