"""Figures that only trainers can measure and report to the daemon: ages, staleness, heads, players."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

KNOWN_SECONDS = 60.0
"""The age in s from which on a report is not shown: its parameter server is gone."""


What = TypeVar("What")


class Reported(Generic[What]):
    """The last reports, by the name of a cluster or worker."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._reported: dict[str, tuple[What, float]] = {}
        """Each report with its time."""

    def put(self, reports: Mapping[str, What]) -> None:
        """Add a report."""
        now = self._clock()
        with self._lock:
            self._forget_old(now)
            self._reported.update({name: (what, now) for name, what in reports.items()})

    def recent_reports(self) -> dict[str, What]:
        """Return the recent reports."""
        with self._lock:
            self._forget_old(self._clock())
            return {name: what for name, (what, _) in self._reported.items()}

    def _forget_old(self, now: float) -> None:
        since = now - KNOWN_SECONDS
        self._reported = {name: each for name, each in self._reported.items() if each[1] >= since}
