"""How stale updates are: of how many versions ago the weights are that they were computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from olaf.serial import VERSION_BITS

BOUNDS = (0, *(1 << bit for bit in range(VERSION_BITS)))
"""The largest staleness of each bin of a histogram: 0, 1, 2, 4, 8, …"""


@dataclass
class Staleness:
    """Of the worker updates of one cluster; each segment of one counts by itself."""

    updates: int = 0
    total: int = 0
    """The sum of their staleness, in versions."""
    largest: int = 0
    merged: int = 0
    """Updates merged into frames: such a frame tells the staleness of the oldest in it, and that is taken
    for all. The mean is then at most what is said."""
    bins: list[int] = field(default_factory=lambda: [0] * len(BOUNDS))
    """Updates by BOUNDS."""

    @property
    def mean(self) -> float | None:
        """None before the first update."""
        return self.total / self.updates if self.updates else None

    def add(self, lags: Sequence[int], count: int) -> None:
        """Frames of ``count`` updates each arrive, for segments of these lags (at least one)."""
        number, first = len(lags), lags[0]
        self.updates += number * count
        self.merged += number * count if count > 1 else 0
        if number == 1 or lags.count(first) == number:  # as nearly always
            self.total += first * number * count
            self.largest = max(self.largest, first)
            self.bins[_bin(first)] += number * count
            return
        self.total += sum(lags) * count
        self.largest = max(self.largest, *lags)
        for lag in lags:
            self.bins[_bin(lag)] += count

    def figures(self) -> dict[str, object]:
        """For a report: the histogram by its bounds, without those above the largest."""
        return {
            "mean": self.mean,
            "max": self.largest,
            "merged": self.merged,
            "histogram": {
                str(bound): count for bound, count in zip(BOUNDS, self.bins[: _bin(self.largest) + 1])
            },
        }


def _bin(lag: int) -> int:
    return lag if lag < 2 else 1 + (lag - 1).bit_length()
