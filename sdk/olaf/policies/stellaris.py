"""Stellaris' rule: a group waits until it is fresh enough in the mean, and stale updates weigh less."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from olaf.policies.policy import RATE, Outcome, State, Update
from olaf.policies.stepping import Optimizer
from olaf.policies.waiting import DEADLINE, Group, Waiting
from olaf.transport.segments import Segments, Vector


class Stellaris(Waiting):
    """Stellaris §V-C: a group steps when its mean staleness is at most β_k = δ_max·d^k.

    A round is ``round`` worker updates. The first has no threshold, and δ_max is the largest staleness in it;
    k counts the rounds after it, from 1. An update of staleness δ weighs δ^(-1/v), a fresh one 1. Left open
    by the paper and fixed here:

    * A threshold alone can stop for ever, with β = 0 at the latest: a group of ``workers`` updates steps too,
      and every group at its deadline.
    * An update that is one version stale weighs 1, by the formula.
    * A merged frame counts as all its updates, each as stale as their mean, which is what it tells; for the
      threshold that is exact.

    With ``published`` it is what the authors' public code does: δ_max is the mean of round 1, rounded down,
    plus 1, and β_k = δ_max·d^(k-1), rounded down, plus 1, at most δ_max: whole versions, never below 1.
    """

    def __init__(
        self,
        weights: Vector,
        segments: Segments | None = None,
        rate: float = RATE,
        decay: float = 0.96,
        root: float = 3.0,
        round: int = 40,
        workers: int | None = None,
        deadline: float = DEADLINE,
        optimizer: Optimizer | None = None,
        published: bool = False,
    ) -> None:
        """``decay`` is d, ``root`` is v. Raises ValueError where d is outside of (0, 1], v below 1, or a
        round, ``workers`` or the deadline not above 0."""
        super().__init__(weights, segments, rate, deadline, optimizer)
        if not 0 < decay <= 1:
            raise ValueError(f"a decay of {decay}; give one above 0 and at most 1")
        if not 1 <= root < math.inf:
            raise ValueError(f"a root of {root}; give a finite one of at least 1")
        if round < 1 or (workers is not None and workers < 1):
            raise ValueError(f"a round of {round} updates of {workers} workers is impossible")
        self._decay, self._root, self._round, self._workers = decay, root, round, workers
        self._published = published
        count = self.segments.count
        self._seen = [0] * count
        """Worker updates of each segment so far."""
        self._largest = [0.0] * count
        """δ in round 1, of each segment: the largest."""
        self._total = [0] * count
        """And the sum over its worker updates."""
        self._first = [0] * count
        """How many these are."""

    def threshold(self, segment: int = 0) -> float:
        """β in the segment's present round, in versions; infinite in the first."""
        k = max(self._seen[segment] - 1, 0) // self._round
        if k == 0:
            return math.inf
        if not self._published:
            return float(self._largest[segment] * self._decay**k)
        largest = self._total[segment] // self._first[segment] + 1
        return min(int(largest * self._decay ** (k - 1)) + 1, largest)

    def take(self, update: Update, now: float) -> list[tuple[Outcome, range]]:
        """Collected, or applied with the group; in round 1 always applied."""
        for lag, part in update.stretches():
            for segment in part:
                if self._seen[segment] < self._round:
                    self._largest[segment] = max(self._largest[segment], lag)
                    self._total[segment] += round(lag * update.count)
                    self._first[segment] += update.count
                self._seen[segment] += update.count
        return super().take(update, now)

    def weigh(self, lag: float) -> float:
        """δ^(-1/v)."""
        return 1.0 if lag <= 1 else float(lag ** (-1 / self._root))

    def admits(self, segment: int, group: Group) -> bool:
        """Fresh enough, or of all workers."""
        if self._workers is not None and group.count >= self._workers:
            return True
        return group.stale <= group.count * self.threshold(segment)

    def state(self) -> State:
        """The round and δ_max of each segment, next to the optimiser's."""
        rounds = np.array([self._seen, self._largest, self._total, self._first], np.float64)
        return {**super().state(), "rounds": rounds.reshape(-1).view("<f4")}

    def restore(self, state: Mapping[str, Vector]) -> None:
        """Restore the groups."""
        super().restore({name: array for name, array in state.items() if name != "rounds"})
        rounds = np.ascontiguousarray(state["rounds"]).view(np.float64).reshape(4, -1)
        self._seen, _, self._total, self._first = rounds.astype(np.int64).tolist()
        self._largest = rounds[1].tolist()
