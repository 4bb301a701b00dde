"""Age-of-Model by cluster: only a parameter server can measure it, so it tells the daemon."""

import threading
import time
from collections.abc import Callable, Mapping

KNOWN_SECONDS = 60.0
"""An age that was told longer ago is not shown: its parameter server is gone."""
_MOST = 4096


class Ages:
    """What parameter servers told last."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._told: dict[str, tuple[int, float]] = {}
        """Age in ns, and when it was told."""

    def tell(self, ages: Mapping[str, int]) -> None:
        """The average ages of clusters in ns; of more clusters than an engine can have, the newest count."""
        now = self._clock()
        with self._lock:
            for cluster, age in ages.items():
                self._told.pop(cluster, None)
                self._told[cluster] = age, now
            while len(self._told) > _MOST:
                del self._told[next(iter(self._told))]

    def known(self) -> dict[str, int]:
        """Ages in ns by cluster, of those told lately."""
        since = self._clock() - KNOWN_SECONDS
        with self._lock:
            return {cluster: age for cluster, (age, when) in self._told.items() if when >= since}
