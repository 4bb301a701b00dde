"""One cluster's model at the parameter server: its segments' weights and versions, and its age."""

from __future__ import annotations

from olaf.aom import AgeOfModel
from olaf.policies import Policy, PolicyMaker
from olaf.port import Address
from olaf.segments import Segments, Vector, payload
from olaf.serial import Replay

_MOST_SENDERS = 4096
"""Addresses whose sequence numbers are remembered; beyond that the oldest is forgotten."""


class Segment:
    """One block of a model."""

    def __init__(self, policy: Policy, version: int) -> None:
        self.policy = policy
        self.version = version
        """Of the weights, modulo 2^16: each move adds 1."""
        self.behind: dict[Address, None] = {}
        """Contributors to a common move that has not happened yet."""
        self.body = payload(policy.weights)
        """The weights as they travel; a view, so always current."""
        self._seen: dict[Address, Replay] = {}

    def first(self, member: Address, seq: int) -> bool:
        """Whether this frame is no duplicate."""
        replay = self._seen.get(member)
        if replay is None:
            if len(self._seen) >= _MOST_SENDERS:
                del self._seen[next(iter(self._seen))]
            replay = self._seen[member] = Replay()
        return replay.first(seq)


class Model:
    """All segments of one cluster's model."""

    def __init__(self, segments: Segments, weights: Vector, make: PolicyMaker) -> None:
        """``weights`` has shape (segments.values,)."""
        self.segments = segments
        self.age = AgeOfModel(segments.count)
        self.parts = [Segment(make(weights[segments.slice(s)]), 0) for s in range(segments.count)]
