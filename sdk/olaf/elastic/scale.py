"""How many blocks an update is made of, and how many actors are awake for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Callable, Protocol

import numpy as np
import numpy.typing as npt

from olaf.guards import Dropped, usable


@dataclass(frozen=True)
class Seen:
    """Figures after an update, by which a policy decides."""

    updates: int
    """Updates that were made."""
    blocks: int
    """Blocks of actors' rows in the last one."""
    noise: float | None = None
    """The gradient's noise scale, in rows; None where it is not known."""


class ScalePolicy(Protocol):
    """A plug-in: how large updates are."""

    def blocks(self, seen: Seen) -> int:
        """Return the blocks of the next update; an actor plays one in a turn."""


class Schedule:
    """Add ``step`` blocks after every ``every`` updates (ARTOS §6: 4 more after 25, or after 5)."""

    def __init__(self, low: int, high: int, step: int, every: int) -> None:
        """Raises ValueError for numbers below 1, or low above high."""
        if not 1 <= low <= high or step < 1 or every < 1:
            raise ValueError(f"{low=}, {high=}, {step=}, {every=}; give 1 or more, low at most high")
        self._low, self._high, self._step, self._every = low, high, step, every

    def blocks(self, seen: Seen) -> int:
        """Return the blocks that the number of updates alone determines."""
        return min(self._low + seen.updates // self._every * self._step, self._high)


class NoiseScale:
    """As many rows as the gradient's noise scale: beyond it, further rows add little."""

    def __init__(self, low: int, high: int, rows: int) -> None:
        """``rows`` in a block. Raises ValueError for numbers below 1, or low above high."""
        if not 1 <= low <= high or rows < 1:
            raise ValueError(f"{low=}, {high=}, {rows=}; give 1 or more, low at most high")
        self._low, self._high, self._rows = low, high, rows

    def blocks(self, seen: Seen) -> int:
        """Return at most twice or half of the last number, so that one estimate cannot do much."""
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
        """Add mean gradients of parts of ``rows`` rows each; return the scale in rows, None while it is not
        positive.

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
        """Return the actors to keep awake. N and Q_max are the ACK's ``active`` and ``slots`` (0: unknown).

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


_FEW, _GOOD = 0.5, 0.7
"""Shares below which there are fewer learners, and above which there may be more. Where n learners make ρ
times what the output carries, at random, and one gradient waits while another is sent, the output is busy
for u = 1/(1 + e^-ρ/ρ) of the time, and the share is u/ρ: 0.7 with ρ = 1.06 and u = 75 %, 0.5 with ρ = 1.8
and u = 91 %. With fewer the output is idle, and with more there is little left that it could carry."""
_LEAST = 16
"""Frames that a decision needs at least; fewer give a poor mean."""
_PATIENCE = 16
"""Decisions at most until one more is tried again."""


@dataclass(frozen=True)
class Carried:
    """The network's figures of a model's gradients since training began: from a server, or from ACKs.

    Of models in several segments, sums over these: each is a model of its own.
    """

    frames: int
    """Frames that arrived at the server."""
    updates: int
    """Workers' updates within them: the sum of their ``count``."""
    staleness: int = 0
    """The sum of the updates' staleness, in versions."""


class Admission:
    """A number of learners from 1 to ``most`` that follows what the network carries.

    Of the gradients that arrive, the share 1/c has a frame of its own, where c is the mean count of frames:
    the others were merged into another's. And where the mean staleness is δ, gradients of δ + 1 versions are
    under way, of which n are being computed: n/(δ + 1) of them do not wait in a queue. Both answer to n. The
    smaller one is the share s that is carried at once.

    * s < 1/2: n becomes n·s to the nearest, at least one less; where the last one more made it n, one less.
    * s > 0.7: one more, after as many such decisions in a row as the patience is, at first one.
    * In between, n stays.

    The patience doubles each time that one more is taken back, up to 16; it is one again when one more was
    carried, or fewer are wanted for another reason. So n does not swing about what the output carries.

    P_s follows from how many indices share the queue, whatever n is. So it is a bound: ``most``·P_s to the
    nearest, at least one.
    """

    def __init__(self, most: int, segments: int = 1) -> None:
        """All run at first. ``segments`` of the model. Raises ValueError for either below 1."""
        if most < 1 or segments < 1:
            raise ValueError(f"{most} learners, {segments} segments; give 1 or more learners and segments")
        self.most, self.learners = most, most
        self._segments = segments
        self._last = Carried(0, 0)
        self._chances: list[float] = []
        self._good, self._patience = 0, 1
        self._tried = 0
        """The number that the last one more made."""

    def chance(self, probability: float) -> None:
        """Note P_s of an update that was ready; 1 where transmission control is off."""
        self._chances.append(probability)

    def look(self, carried: Carried) -> int:
        """Return how many may run from now on. Nothing is decided before enough frames came since the last
        time."""
        frames = carried.frames - self._last.frames
        if frames < self._segments * max(_LEAST, 2 * self.learners):
            return self.learners
        updates = carried.updates - self._last.updates
        stale = (carried.staleness - self._last.staleness) / max(updates, 1)
        chance = sum(self._chances) / len(self._chances) if self._chances else 1.0
        self._last = carried
        self._chances.clear()
        share = min(frames / max(updates, frames), self.learners / (max(stale, 0.0) + 1))
        self._decide_number(share, max(1, round(self.most * chance)))
        return self.learners

    def _decide_number(self, share: float, bound: int) -> None:
        good = share > _GOOD and self.learners < bound
        self._good = self._good + 1 if good else 0
        if share < _FEW and self.learners == self._tried:
            self._patience = min(2 * self._patience, _PATIENCE)
            self.learners -= 1
        elif share < _FEW:
            self._patience = 1
            self.learners = max(1, min(self.learners - 1, round(self.learners * share)))
        elif good:
            if self.learners == self._tried:  # and it was carried
                self._patience = 1
            if self._good >= self._patience:
                self.learners += 1
                self._good, self._tried = 0, self.learners
        self.learners = min(self.learners, bound)


class Monitor:
    """The last iterations: how long actors took to be there, and when the learner was done.

    Times are in seconds. Iterations are *stable* if the learner's times differ by less
    than a share of their mean; then actors of the next iteration are woken before this one ends.
    """

    def __init__(self, window: int = 5, share: float = 0.2) -> None:
        """A window of that many iterations. Raises ValueError for fewer than two, or a share not above 0."""
        if window < 2 or not share > 0:
            raise ValueError(f"window={window}, share={share}; give a window of 2 or more, a share above 0")
        self._share = share
        self.window: deque[tuple[float, float]] = deque(maxlen=window)
        """``start`` and ``end`` of each."""

    def add(self, start: float, end: float) -> None:
        """Add an iteration: actors were there ``start`` after they were woken, its learner was done at
        ``end``.

        ``end`` is since the iteration began.
        """
        self.window.append((start, end))

    @property
    def stable(self) -> bool:
        """Whether the window is full and its iterations agree."""
        if len(self.window) < (self.window.maxlen or 0):
            return False
        ends = [end for _, end in self.window]
        return _compute_spread(ends) < self._share * sum(ends) / len(ends)

    def prewarm(self) -> float | None:
        """Return when to wake the next iteration's actors, since this one began; None to wait for the
        learner."""
        if not self.stable:
            return None
        first, slowest = min(end for _, end in self.window), max(start for start, _ in self.window)
        return max(0.0, first - slowest - _compute_spread([end - start for start, end in self.window]))


def _compute_spread(values: Sequence[float]) -> float:
    return max(values) - min(values)
