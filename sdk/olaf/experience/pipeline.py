"""Learning while experience is still on its way (ARTOS §4.4): in parts of a batch, and in stages of its keys.

In parts: gradients of mini-batches add up to the full batch's, if losses are sums over the whole batch and
advantages are normalised over all of it. In stages: rewards, values and ends are a few bytes a step, so the
advantages are there when the observations arrive. The first stage carries values and ends besides what ARTOS
names: rewards and observations alone give no advantages.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from olaf.experience.layout import CUT, GOES_ON
from olaf.guards import Dropped, usable

Floats = npt.NDArray[np.float64]


class Moments:
    """Mean and deviation of values that come in parts, in any order."""

    def __init__(self) -> None:
        self.count = 0
        self.mean = 0.0
        self._squares = 0.0
        self._broken = Dropped("values")

    @property
    def broken(self) -> int:
        """How many values were dropped because they were not finite."""
        return self._broken.count

    def add(self, values: npt.ArrayLike) -> None:
        """Add the values of another part."""
        part = np.asarray(values, np.float64).reshape(-1)
        good = usable(part)
        self._broken.add(int(len(good) - good.sum()))
        part = part[good]
        if not len(part):
            return
        mean, count = float(part.mean()), self.count + len(part)
        apart = mean - self.mean
        self._squares += float(((part - mean) ** 2).sum()) + apart**2 * self.count * len(part) / count
        self.mean += apart * len(part) / count
        self.count = count

    @property
    def deviation(self) -> float:
        """The standard deviation of all; 0 of none."""
        return float(np.sqrt(self._squares / self.count)) if self.count else 0.0

    def normalise(self, values: npt.ArrayLike, least: float = 1e-8) -> Floats:
        """Normalise values: less the mean, in deviations of all that was added."""
        return (np.asarray(values, np.float64) - self.mean) / (self.deviation + least)


class Accumulated:
    """Gradients of parts of a batch, added up to the whole batch's."""

    def __init__(self, rows: int) -> None:
        """``rows`` of the whole batch. Raises ValueError for fewer than 1."""
        if rows < 1:
            raise ValueError(f"a batch of {rows} rows; give 1 or more")
        self._rows, self._have = rows, 0
        self._sum: Floats | None = None

    def add(self, gradient: npt.ArrayLike, rows: int) -> npt.NDArray[np.float32] | None:
        """Add a part's gradient of the *sum* of its rows' losses; returns the batch's mean once complete.

        Raises ValueError for more rows than the batch has.
        """
        if not 1 <= rows <= self._rows - self._have:
            raise ValueError(f"{rows} rows do not fit into a batch of {self._rows} that has {self._have}")
        part = np.asarray(gradient, np.float64)
        self._sum = part.copy() if self._sum is None else self._sum + part
        self._have += rows
        if self._have < self._rows:
            return None
        whole = (self._sum / self._rows).astype(np.float32)
        self._sum, self._have = None, 0
        return whole


def advantages(
    rewards: npt.ArrayLike,
    values: npt.ArrayLike,
    ends: npt.ArrayLike,
    after: npt.ArrayLike,
    discount: float = 0.99,
    decay: float = 0.95,
) -> Floats:
    """Estimate the generalised advantages of one actor's consecutive steps, (steps,) each.

    ``ends`` are the rows' stamps. ``after`` holds, where an episode was cut and at the last step, the value
    of what was seen next; elsewhere it is not read. An episode that terminated has no value after it.
    """
    reward, value = np.asarray(rewards, np.float64), np.asarray(values, np.float64)
    end, beyond = np.asarray(ends), np.asarray(after, np.float64)
    goes_on = end == GOES_ON
    following = np.where(goes_on, np.append(value[1:], beyond[-1:]), np.where(end == CUT, beyond, 0.0))
    surprise = reward + discount * following - value
    found, total = np.empty_like(surprise), 0.0
    for step in range(len(surprise) - 1, -1, -1):
        total = surprise[step] + discount * decay * (total if goes_on[step] else 0.0)
        found[step] = total
    return found


class Pace:
    """When experience may be sent, so that updates on the same link never wait for it."""

    def __init__(self, rate: float, reserve: float = 0.1, least: float = 0.01) -> None:
        """``rate`` of the link in bytes/s. The share ``reserve`` is kept free, more while an engine is under
        load, but at least ``least`` is used. Raises ValueError for shares beyond 0 … 1.
        """
        if not (rate > 0 and 0 <= reserve < 1 and 0 < least <= 1 - reserve):
            raise ValueError(
                f"{rate=}, {reserve=}, {least=}; give a rate above 0 and shares with a sum of at most 1"
            )
        self._rate, self._most, self._least = rate, 1 - reserve, least
        self._share = self._most
        self._free = 0.0

    @property
    def share(self) -> float:
        """The share of the link that is used now."""
        return self._share

    def status(self, occupied: int, slots: int) -> None:
        """Take the engine's queue from an ACK: a full one leaves only ``least`` to experience."""
        left = 1 - occupied / slots if slots else 1.0
        self._share = max(self._least, self._most * left)

    def send(self, size: int, now: float) -> float:
        """Return when so many bytes may be sent; they count as sent then."""
        start = max(self._free, now)
        self._free = start + size / (self._rate * self._share)
        return start
