"""How many blocks an update is made of, and how many actors are awake for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Callable, Protocol

import numpy as np
import numpy.typing as npt

from olaf.guards import Dropped, usable


@dataclass(frozen=True)
class Seen:
    """What a policy decides by, after an update."""

    updates: int
    """Updates that were made."""
    blocks: int
    """Blocks of actors' rows in the last one."""
    noise: float | None = None
    """The gradient's noise scale, in rows; None where it is not known."""


class ScalePolicy(Protocol):
    """A plug-in: how large updates are."""

    def blocks(self, seen: Seen) -> int:
        """Blocks of the next update; an actor plays one in a turn."""


class Schedule:
    """So many more after every so many updates (ARTOS §6: 4 more after 25, or after 5)."""

    def __init__(self, low: int, high: int, step: int, every: int) -> None:
        """Raises ValueError for numbers below 1, or low above high."""
        if not 1 <= low <= high or step < 1 or every < 1:
            raise ValueError(f"{low=}, {high=}, {step=}, {every=}; give 1 or more, low at most high")
        self._low, self._high, self._step, self._every = low, high, step, every

    def blocks(self, seen: Seen) -> int:
        """A schedule by the number of updates alone."""
        return min(self._low + seen.updates // self._every * self._step, self._high)


class NoiseScale:
    """As many rows as the gradient's noise scale: beyond it, further rows add little."""

    def __init__(self, low: int, high: int, rows: int) -> None:
        """``rows`` in a block. Raises ValueError for numbers below 1, or low above high."""
        if not 1 <= low <= high or rows < 1:
            raise ValueError(f"{low=}, {high=}, {rows=}; give 1 or more, low at most high")
        self._low, self._high, self._rows = low, high, rows

    def blocks(self, seen: Seen) -> int:
        """At most twice or half of the last number, so that one estimate cannot do much."""
        if seen.noise is None or not usable(seen.noise):
            return max(self._low, min(seen.blocks, self._high))
        wanted = min(max(round(seen.noise / self._rows), -(-seen.blocks // 2)), 2 * seen.blocks)
        return max(self._low, min(wanted, self._high))


class GradientNoise:
    """The noise scale ``tr(Σ)/|G|²`` from gradients of an update's parts (McCandlish et al. 2018, App. A)."""

    def __init__(self, decay: float = 0.9) -> None:
        """The averages' decay an update. Raises ValueError for one that is not in 0 … 1."""
        if not 0 <= decay < 1:
            raise ValueError(f"a decay of {decay}; give 0 or more, below 1")
        self._decay, self._weight = decay, 0.0
        self._squared = self._noise = 0.0
        self._broken = Dropped("gradients, or their squares,")

    @property
    def broken(self) -> int:
        """How many updates were left out because their gradients were not finite, or their squares not."""
        return self._broken.count

    def add(self, parts: Sequence[npt.NDArray[np.float32]], rows: int) -> float | None:
        """Mean gradients of parts of ``rows`` rows each; the scale in rows, None while it is not positive.

        One part does not show the noise.
        """
        count = len(parts)
        with np.errstate(all="ignore"):
            whole = np.mean(parts, axis=0, dtype=np.float64)
            large = float(np.square(whole).sum())
            small = float(np.mean([np.square(part, dtype=np.float64).sum() for part in parts]))
        good = bool(usable(small))
        self._broken.add(not good)
        if count > 1 and good:
            squared = (count * large - small) / (count - 1)
            noise = (small - large) * rows * count / (count - 1)
            keep = self._decay
            self._squared = keep * self._squared + (1 - keep) * squared
            self._noise = keep * self._noise + (1 - keep) * noise
            self._weight = keep * self._weight + (1 - keep)
        if not self._weight or self._squared <= 0 or self._noise <= 0:
            return None
        return self._noise / self._squared


class NetworkLimit:
    """Fewer actors awake where the network holds updates back; more only where that is admitted.

    An update keeps its blocks: fewer actors play more turns for it, so updates come less often.
    """

    def __init__(self, admit: Callable[[int], bool] = lambda actors: True) -> None:
        """``admit``: whether so many actors may be awake, such as by the daemon's proof of an objective."""
        self._admit = admit
        self.refused = 0
        """Times that more were not admitted."""

    def awake(self, now: int, wanted: int, active: int, slots: int, probability: float) -> int:
        """Actors to keep awake. N and Q_max are the ACK's ``active`` and ``slots`` (0: unknown).

        With N above Q_max or P_s below 1 the share min(Q_max/N, P_s) of them stays awake, at least one.
        """
        share = min(probability, slots / active if active else 1.0)
        if share < 1:
            return max(1, min(int(now * share), wanted))
        if now >= wanted:
            return wanted
        if self._admit(now + 1):
            return now + 1
        self.refused += 1
        return now
