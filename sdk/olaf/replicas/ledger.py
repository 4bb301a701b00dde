"""Record every numbered result: sums that came, those all members agreed to leave out, and promises.

Step n of the training is result n of every segment. It is applied when all of them are decided: each came, or
is void. Decided steps are kept for members that lack them.
"""

from __future__ import annotations

import zlib
from enum import Enum

import numpy as np

from olaf.serial import ROUND_BITS, distance
from olaf.transport.segments import Segments, Vector

_KEPT_BYTES = 64 << 20
_FEWEST, _MOST = 16, 1024
"""Decided steps that are kept: as many as fit the bytes, but within these."""
_PINNED = 4
"""Factor by which more steps are kept while another member takes a snapshot."""
_LOOK = 16
"""Every so many steps the weights themselves go into the chain."""
_AHEAD = 2
"""Results by which a segment may be ahead of the slowest."""
_NEAR = 4
"""Numbers before a numbering began that may still be under way."""


class ResultOutcome(Enum):
    """The use of a result."""

    NEW = 0
    OVER = 1
    """Known, decided otherwise, or to be had from members only."""
    ODD = 2
    """Other bits under a decided number, or a number far off: the engine may have restarted."""
    REFUSED = 3
    """Results of another length, or too far ahead of the member that requested them."""


class Step:
    """Result n of all segments."""

    __slots__ = ("counts", "missing", "sums")

    def __init__(self, segments: Segments) -> None:
        self.sums: Vector = np.zeros(segments.values, np.float32)
        self.counts = np.full(segments.count, -1, np.int32)
        """Worker updates in each segment's sum; 0: void, -1: not decided."""
        self.missing = segments.count

    def compute_mean(self, segments: Segments) -> Vector:
        """Return the mean gradient (n,): each block divided by its own count, zeros where it is void."""
        first = int(self.counts[0])
        if (self.counts == first).all():
            return np.divide(self.sums, np.float32(max(first, 1)), dtype=np.float32)
        each = np.maximum(np.repeat(self.counts, segments.size)[: segments.values], 1)
        return np.divide(self.sums, each.astype(np.float32), dtype=np.float32)


class Ledger:
    """The results of one member, in one numbering."""

    def __init__(self, segments: Segments) -> None:
        self.segments = segments
        self.version = 0
        """Steps applied."""
        self.chain = 0
        """Checksum over all of them."""
        self.newest = [0] * segments.count
        """The highest number of each segment that was seen or promised."""
        self.fence = 0
        """Up to here results come from members only: others may have decided before this one was known."""
        self.promised: set[tuple[int, int]] = set()
        """Segments and numbers that come from members only."""
        self.pinned: int | None = None
        """Keep all steps from this version on, if they are not too many."""
        self._next = [1] * segments.count
        """The lowest number of each segment that is not decided."""
        self._bases = [0] * segments.count
        """The engine's number of each segment at version 0, modulo 2^32."""
        self._steps: dict[int, Step] = {}
        self._oldest = 1
        """The oldest kept step."""
        self._began = 0
        self._chains: dict[int, int] = {0: 0}
        self._keep = min(max(_KEPT_BYTES // (4 * segments.values), _FEWEST), _MOST)

    @property
    def bases(self) -> list[int]:
        """The numbers by segment that a snapshot must hold."""
        return list(self._bases)

    def begin_at(self, version: int, chain: int, bases: list[int]) -> None:
        """Go on from there; decided results of later numbers stay."""
        self.version = self._began = version
        self.chain, self._bases = chain, list(bases)
        self._chains = {version: chain}
        self._steps = {number: step for number, step in self._steps.items() if number > version}
        self._oldest = version + 1
        self.promised = {(segment, number) for segment, number in self.promised if number > version}
        for segment in range(self.segments.count):
            self.newest[segment] = max(self.newest[segment], version)
            self._next[segment] = version + 1
            self._advance_next(segment)

    def clear(self) -> None:
        """Forget all numbers: they belong to a numbering that no longer counts."""
        self._steps.clear()
        self.promised.clear()
        self.newest = [0] * self.segments.count
        self.fence = 0

    def number_of(self, segment: int, seq: int) -> int:
        """Return the number of a result, which the engine's ``seq`` gives modulo its width."""
        return self.version + distance(seq - self._bases[segment], self.version, ROUND_BITS)

    def lowest_undecided(self, segment: int) -> int:
        """Return the lowest number that is not decided."""
        return self._next[segment]

    def segments_ahead(self) -> list[int]:
        """List the segments so far ahead of the slowest that they can do without a contribution."""
        return [segment for segment, newest in enumerate(self.newest) if newest > self.version + _AHEAD]

    def is_near(self, version: int) -> bool:
        """Return whether a member at that version still gets all that it lacks."""
        return version > self.version - self._keep // 2

    def note_seen(self, segment: int, number: int) -> None:
        """Note that there is, or will be, a result of this number."""
        self.newest[segment] = max(self.newest[segment], number)

    def add_promise(self, segment: int, number: int) -> None:
        """Take the result of this number from a member only, from now on."""
        self.promised.add((segment, number))
        self.note_seen(segment, number)

    def take_result(
        self, segment: int, number: int, count: int, values: Vector, member: bool
    ) -> ResultOutcome:
        """Take a result of ``count`` updates (0: void), from a member or from the engine."""
        if len(values) != (self.segments.length(segment) if count else 0):
            return ResultOutcome.REFUSED
        if number <= self.version:
            return ResultOutcome.OVER if member else self._judge_again(segment, number, values)
        if number > self.version + _PINNED * self._keep:
            return ResultOutcome.REFUSED if member else ResultOutcome.ODD
        if not member and (number <= self.fence or (segment, number) in self.promised):
            self.note_seen(segment, number)
            return ResultOutcome.OVER
        step = self._steps.get(number)
        if step is None:
            step = self._steps[number] = Step(self.segments)
        if step.counts[segment] >= 0:
            return ResultOutcome.OVER if member else self._judge_again(segment, number, values)
        if count:
            step.sums[self.segments.slice(segment)] = values
        step.counts[segment] = count
        step.missing -= 1
        self.note_seen(segment, number)
        self._advance_next(segment)
        return ResultOutcome.NEW

    def find_result(self, segment: int, number: int) -> tuple[int, Vector] | None:
        """Return the count and the sums of a result, if they are kept."""
        step = self._steps.get(number)
        if step is None or step.counts[segment] < 0:
            return None
        count = int(step.counts[segment])
        return count, step.sums[self.segments.slice(segment)] if count else step.sums[:0]

    def next_step(self) -> Step | None:
        """Return the next step, if all of it is decided."""
        step = self._steps.get(self.version + 1)
        return step if step is not None and not step.missing else None

    def note_applied(self, step: Step, weights: Vector | None) -> None:
        """Note that a step was applied; ``weights`` (n,) are those after it where ``looks`` wants them."""
        self.version += 1
        chain = zlib.crc32(step.counts.tobytes(), self.chain)
        chain = zlib.crc32(step.sums.data.cast("B"), chain)
        self.chain = chain if weights is None else zlib.crc32(weights.data.cast("B"), chain)
        self._chains[self.version] = self.chain
        self._chains.pop(self.version - _MOST, None)
        if self.promised:
            self.promised = {(each, number) for each, number in self.promised if number > self.version}
        keep = self._keep
        if self.pinned is not None:
            keep = min(max(keep, self.version - self.pinned), _PINNED * keep)
        while self._oldest <= self.version - keep:
            self._steps.pop(self._oldest, None)
            self._oldest += 1

    @property
    def looks(self) -> bool:
        """Whether the weights after the next step go into the chain."""
        return (self.version + 1) % _LOOK == 0

    def chain_differs(self, version: int, chain: int) -> bool:
        """Return whether a member at ``version`` has applied other results."""
        return self._chains.get(version, chain) != chain

    def _advance_next(self, segment: int) -> None:
        number = self._next[segment]
        while (step := self._steps.get(number)) is not None and step.counts[segment] >= 0:
            number += 1
        self._next[segment] = number

    def _judge_again(self, segment: int, number: int, values: Vector) -> ResultOutcome:
        """Judge a result of the engine under a number that was decided before."""
        if number <= self._began:
            return ResultOutcome.OVER if number > self._began - _NEAR else ResultOutcome.ODD
        kept = self.find_result(segment, number)
        if kept is None:
            return ResultOutcome.ODD
        same = not kept[0] or kept[1].tobytes() == values.tobytes()
        return ResultOutcome.OVER if same else ResultOutcome.ODD
