"""One cluster's model at the parameter server: weights, its segments' versions, and its age."""

from __future__ import annotations

from olaf.aom import AgeOfModel
from olaf.policies import PolicyMaker
from olaf.port import Address
from olaf.segments import Segments, Vector, payload
from olaf.serial import Replay

_MOST_SENDERS = 4096
"""Addresses whose sequence numbers are remembered; beyond that the oldest is forgotten."""
_MOST_NUMBERS = 1 << 24
"""Of all of them together, so that large models with many senders do not take the machine's memory."""


class Model:
    """All segments of one cluster's model."""

    def __init__(self, segments: Segments, weights: Vector, make: PolicyMaker) -> None:
        """``weights`` has shape (segments.values,)."""
        self.segments = segments
        self.age = AgeOfModel(segments.count)
        self.policy = make(weights, segments)
        self.versions = [0] * segments.count
        """Of each segment's weights, modulo 2^16: each move adds 1."""
        self.behind: list[dict[Address, None]] = [{} for _ in range(segments.count)]
        """By segment, contributors to a common move that has not happened yet."""
        self._seen: dict[Address, Replay] = {}
        self._most = min(_MOST_SENDERS, max(1, _MOST_NUMBERS // segments.count))

    def first(self, member: Address, seq: int, segments: range) -> list[tuple[bool, range]]:
        """Of these segments, in order, whether this member's frames are no duplicates."""
        replay = self._seen.get(member)
        if replay is None:
            if len(self._seen) >= self._most:
                del self._seen[next(iter(self._seen))]
            replay = self._seen[member] = Replay(self.segments.count)
        return replay.first(seq, segments)

    def body(self, segment: int) -> memoryview:
        """A segment's weights as they travel."""
        return payload(self.policy.weights[self.segments.slice(segment)])
