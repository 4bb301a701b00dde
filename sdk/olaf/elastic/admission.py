"""How many learners may run: none is paid for gradients that would wait or be merged away."""

from __future__ import annotations

from dataclasses import dataclass

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
    """What the network made of a model's gradients, since training began: from a server, or from ACKs.

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
        """P_s of an update that was ready; 1 where transmission control is off."""
        self._chances.append(probability)

    def look(self, carried: Carried) -> int:
        """How many may run from now on. Nothing is decided before enough frames came since the last time."""
        frames = carried.frames - self._last.frames
        if frames < self._segments * max(_LEAST, 2 * self.learners):
            return self.learners
        updates = carried.updates - self._last.updates
        stale = (carried.staleness - self._last.staleness) / max(updates, 1)
        chance = sum(self._chances) / len(self._chances) if self._chances else 1.0
        self._last = carried
        self._chances.clear()
        share = min(frames / max(updates, frames), self.learners / (max(stale, 0.0) + 1))
        self._decide(share, max(1, round(self.most * chance)))
        return self.learners

    def _decide(self, share: float, bound: int) -> None:
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
