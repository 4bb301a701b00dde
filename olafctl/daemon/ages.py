"""Age-of-Model by cluster: only a parameter server can measure it, so it tells the daemon."""

import threading
import time
from collections.abc import Callable, Mapping

KNOWN_SECONDS = 60.0
"""An older report is not shown: its parameter server is gone."""


class Ages:
    """The ages that parameter servers reported last."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._told: dict[str, tuple[int, float]] = {}
        """Age in ns, and the time of the report."""

    def tell(self, ages: Mapping[str, int]) -> None:
        """The average ages of clusters, in ns."""
        now = self._clock()
        with self._lock:
            self._forget(now)
            self._told.update({cluster: (age, now) for cluster, age in ages.items()})

    def known(self) -> dict[str, int]:
        """Recently reported ages in ns, by cluster."""
        with self._lock:
            self._forget(self._clock())
            return {cluster: age for cluster, (age, _) in self._told.items()}

    def _forget(self, now: float) -> None:
        since = now - KNOWN_SECONDS
        self._told = {name: told for name, told in self._told.items() if told[1] >= since}
