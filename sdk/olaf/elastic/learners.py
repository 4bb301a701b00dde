"""Learners and their rows: rows go to free learners, and back if one dies; each is learnt once."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Callable, Protocol

from olaf.elastic.lease import Invocation, Ledger
from olaf.errors import LearnerFailed

MOST_DEATHS = 3
"""After so many learners have died of the same rows, the next is not given them."""


class Runner(Protocol):
    """Runs learners, and calls ``ready``, ``finished`` and ``died`` of ``Learners``; never from here."""

    def start(self, slot: int) -> None:
        """Start a learner, with its libraries loaded."""

    def give(self, slot: int, weights: Any, rows: Any) -> None:
        """Let a learner that is ready compute."""

    def stop(self, slot: int) -> None:
        """End a learner without rows."""


@dataclass
class _Batch:
    rows: Any
    deaths: int = 0


@dataclass
class _Slot:
    """A learner that is alive."""

    since: float
    """Begin of its start, or of its time without rows."""
    ready: bool = False
    batch: _Batch | None = None
    invocation: Invocation | None = None


class Learners:
    """Up to ``capacity`` learners; each is invoked when there are rows, and ends when none are left.

    A learner is a function of (newest weights, rows). After its end it is kept alive for ``keep_alive``
    seconds, so that the next invocation starts at once. A learner that dies has learnt nothing of the rows it
    held: the next one gets them.
    """

    def __init__(
        self,
        runner: Runner,
        take: Callable[[], Any],
        weights: Callable[[], Any],
        deliver: Callable[[Any], object],
        ledger: Ledger,
        now: Callable[[], float],
        capacity: int,
        keep_alive: float = 600.0,
    ) -> None:
        """``take`` gives rows, None if there are none; ``weights`` the newest; ``deliver`` gets each result.

        ``now`` in seconds, of any clock. Raises ValueError for no capacity or a time below 0.
        """
        if capacity < 1 or not keep_alive >= 0:
            raise ValueError(
                f"{capacity} learners, alive for {keep_alive} s; give 1 or more, for 0 s or more"
            )
        self._runner, self._take, self._weights, self._deliver = runner, take, weights, deliver
        self._ledger, self._now = ledger, now
        self._capacity, self._keep_alive = capacity, keep_alive
        self._admitted = capacity
        self._slots: dict[int, _Slot] = {}
        self._again: deque[_Batch] = deque()
        """Rows of learners that died."""

    @property
    def alive(self) -> int:
        """Learners, with rows or kept."""
        return len(self._slots)

    @property
    def busy(self) -> int:
        """Learners with rows."""
        return sum(slot.batch is not None for slot in self._slots.values())

    def admit(self, learners: int) -> None:
        """Let so many learners have rows at a time, as capacity allows; those that have some finish them."""
        self._admitted = learners
        self.wake()

    def wake(self) -> None:
        """Give rows to learners as long as there are both."""
        while self.busy < self._admitted:
            number = self._find_free()
            batch = None if number is None else self._next_batch()
            if number is None or batch is None:
                return
            slot = self._slots.get(number) or self._start_learner(number)
            slot.batch = batch
            if slot.ready:
                self._ledger.kept(self._now() - slot.since)
                self._invoke_learner(number, slot)

    def prewarm(self, learners: int) -> None:
        """Have so many alive, as capacity allows: rows are expected."""
        while len(self._slots) < min(learners, self._capacity):
            self._start_learner(self._find_unused())

    def tick(self) -> float | None:
        """End learners that have been without rows for long enough; when the next one will have been."""
        now = self._now()
        waiting = {number: s.since for number, s in self._slots.items() if s.ready and s.batch is None}
        for number, since in waiting.items():
            if now >= since + self._keep_alive:
                self._end_learner(number)
        left = [since for number, since in waiting.items() if number in self._slots]
        return min(left) + self._keep_alive if left else None

    def close(self) -> None:
        """End the learners without rows."""
        for number in [number for number, slot in self._slots.items() if slot.batch is None]:
            self._end_learner(number)

    def ready(self, number: int) -> None:
        """Note that a learner has started."""
        slot, now = self._slots[number], self._now()
        self._ledger.started(now - slot.since)
        slot.ready, slot.since = True, now
        if slot.batch is not None:
            self._invoke_learner(number, slot)

    def finished(self, number: int, result: Any) -> None:
        """Note what a learner has computed from its rows, and give it the next ones."""
        slot = self._slots[number]
        assert slot.invocation is not None
        slot.invocation.batches += 1
        slot.batch = self._next_batch() if self.busy <= self._admitted else None
        if slot.batch is not None:
            self._runner.give(number, self._weights(), slot.batch.rows)
        else:
            slot.since = slot.invocation.end = self._now()
            slot.invocation = None
        self._deliver(result)

    def died(self, number: int, reason: str) -> None:
        """Note that a learner is gone. Raises LearnerFailed where its rows have ended others before it."""
        slot, now = self._slots.pop(number), self._now()
        if slot.invocation is not None:
            slot.invocation.end, slot.invocation.killed = now, True
        elif slot.ready:
            self._ledger.kept(now - slot.since)
        else:
            self._ledger.started(now - slot.since)
        if slot.batch is not None:
            slot.batch.deaths += 1
            if slot.batch.deaths >= MOST_DEATHS:
                raise LearnerFailed(
                    f"{slot.batch.deaths} learners died of the same rows, the last one: {reason}"
                )
            self._again.append(slot.batch)
        self.wake()

    def _next_batch(self) -> _Batch | None:
        if self._again:
            return self._again.popleft()
        rows = self._take()
        return None if rows is None else _Batch(rows)

    def _find_free(self) -> int | None:
        """Find a learner without rows, the one that had some last; else one that could be started."""
        idle = [
            (slot.ready, slot.since, number) for number, slot in self._slots.items() if slot.batch is None
        ]
        if idle:
            return max(idle)[-1]
        return self._find_unused() if len(self._slots) < self._capacity else None

    def _find_unused(self) -> int:
        return next(number for number in range(self._capacity) if number not in self._slots)

    def _start_learner(self, number: int) -> _Slot:
        slot = self._slots[number] = _Slot(self._now())
        self._runner.start(number)
        return slot

    def _invoke_learner(self, number: int, slot: _Slot) -> None:
        assert slot.batch is not None
        slot.invocation = self._ledger.begin(number, self._now())
        self._runner.give(number, self._weights(), slot.batch.rows)

    def _end_learner(self, number: int) -> None:
        slot = self._slots.pop(number)
        seconds = self._now() - slot.since
        if slot.ready:
            self._ledger.kept(seconds)
        else:
            self._ledger.started(seconds)
        self._runner.stop(number)
