"""How stale updates are: how many versions old the weights are that they were computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from olaf.serial import VERSION_BITS

BOUNDS = (0, *(1 << bit for bit in range(VERSION_BITS)))
"""The largest staleness of each bin of a histogram: 0, 1, 2, 4, 8, …"""


@dataclass
class Staleness:
    """Staleness of one cluster's worker updates; each segment of one counts by itself."""

    updates: int = 0
    total: int = 0
    """The sum of their staleness, in versions."""
    largest: int = 0
    merged: int = 0
    """Updates merged into frames: of such a frame only the sum is known, and each counts as its mean."""
    oldest: int = 0
    """Updates among these whose frames carry the oldest one's staleness alone. It is taken for all,
    so the mean is an upper bound."""
    bins: list[int] = field(default_factory=lambda: [0] * len(BOUNDS))
    """Updates by BOUNDS."""

    @property
    def mean(self) -> float | None:
        """None before the first update."""
        return self.total / self.updates if self.updates else None

    def add(self, totals: Sequence[int], count: int, exact: bool = True) -> None:
        """Frames of ``count`` updates each arrive, for segments of these sums of staleness (at least one).

        They are ``exact``, or made of the oldest's in each frame.
        """
        number, first = len(totals), totals[0]
        self.updates += number * count
        if count > 1:
            self.merged += number * count
            self.oldest += 0 if exact else number * count
        if number == 1 or totals.count(first) == number:  # as nearly always
            self.total += first * number
            self._count(first, count, number)
            return
        self.total += sum(totals)
        for total in totals:
            self._count(total, count, 1)

    def _count(self, total: int, count: int, frames: int) -> None:
        mean = -(-total // count)
        self.largest = max(self.largest, mean)
        self.bins[_bin(mean)] += frames * count

    def figures(self) -> dict[str, object]:
        """For a report: the histogram by its bounds, without those above the largest."""
        return {
            "mean": self.mean,
            "max": self.largest,
            "merged": self.merged,
            "oldest": self.oldest,
            "histogram": {
                str(bound): count for bound, count in zip(BOUNDS, self.bins[: _bin(self.largest) + 1])
            },
        }


def _bin(lag: int) -> int:
    return lag if lag < 2 else 1 + (lag - 1).bit_length()
