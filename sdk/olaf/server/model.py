"""One cluster's model at the parameter server: weights, its segments' versions, and its age."""

from __future__ import annotations

from olaf.policies import PolicyMaker
from olaf.serial import VERSION_BITS, distance
from olaf.server.aom import AgeOfModel
from olaf.server.replay import Replay
from olaf.transport.port import Address
from olaf.transport.segments import Segments, Vector, blocks

RESERVED = 4096
"""Versions that may be given out between two checkpoints."""
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
        """Version of each segment's weights, modulo 2^16: each move adds 1."""
        self.behind: list[dict[Address, None]] = [{} for _ in range(segments.count)]
        """By segment, contributors to a common move that has not happened yet."""
        self._resumed: list[int] | None = None
        """Versions that a server which continues from a checkpoint began with."""
        self._begun: list[int] | None = list(self.versions)
        """Versions that this server began with; None when that is long ago."""
        self._seen: dict[Address, Replay] = {}
        self._blocks: list[memoryview] = []
        self._divided: Vector | None = None
        """The weights that ``_blocks`` are views of."""
        self._most = min(_MOST_SENDERS, max(1, _MOST_NUMBERS // segments.count))

    def first(self, member: Address, seq: int, segments: range) -> list[tuple[bool, range]]:
        """For these segments, in order, whether this member's frames are new."""
        replay = self._seen.get(member)
        if replay is None:
            if len(self._seen) >= self._most:
                del self._seen[next(iter(self._seen))]
            replay = self._seen[member] = Replay(self.segments.count)
        return replay.first(seq, segments)

    def resume(self, versions: list[int]) -> None:
        """Continue from a checkpoint; ``versions`` are those of it. Others begin, never given out before."""
        self.versions = [(version + RESERVED) % (1 << VERSION_BITS) for version in versions]
        self._resumed, self._begun = list(self.versions), list(self.versions)

    def staleness(self, segments: range, fields: list[int], count: int, summed: bool) -> list[int]:
        """The sum of the staleness of the ``count`` updates in the frame of each segment.

        ``fields`` is each field ``weights_version``: with ``summed`` the sum of the updates' versions modulo
        2^16, by which the sum is exact while it is below 2^16, else the version of the oldest, whose
        staleness is taken for all. Updates from before this server began count as if they were as old as it.
        """
        if count == 1 or not summed:
            lags = self.lags(segments, fields)
            return lags if count == 1 else [count * lag for lag in lags]
        versions = self.versions[segments.start : segments.stop]
        totals = [(count * version - each) % (1 << VERSION_BITS) for version, each in zip(versions, fields)]
        since = self._since(segments)
        return totals if since is None else [min(total, count * old) for total, old in zip(totals, since)]

    def _since(self, segments: range) -> list[int] | None:
        """How many versions ago the server began, of each segment; None when that is long ago."""
        if self._begun is None:
            return None
        versions = self.versions[segments.start : segments.stop]
        begun = self._begun[segments.start : segments.stop]
        moved = [distance(version, first, VERSION_BITS) for version, first in zip(versions, begun)]
        if min(moved) < 0 or max(moved) > 2 * RESERVED:  # no worker has weights from before any more
            self._begun = None
            return None
        return moved

    def lags(self, segments: range, bases: list[int]) -> list[int]:
        """How many versions ago the weights of each segment had versions ``bases``; 0 for one yet to come.

        Versions that were skipped in a restart do not count, and weights that got lost in it count as those
        that the checkpoint had.
        """
        versions = self.versions[segments.start : segments.stop]
        count, version, base = len(bases), versions[0], bases[0]
        if self._resumed is None and (
            count == 1 or bases.count(base) == count == versions.count(version)  # as nearly always
        ):
            return [max(distance(version, base, VERSION_BITS), 0)] * count
        lags = [distance(version, base, VERSION_BITS) for version, base in zip(versions, bases)]
        if self._resumed is not None:
            begun = self._resumed[segments.start : segments.stop]
            moved = [distance(version, first, VERSION_BITS) for version, first in zip(versions, begun)]
            lags = [lag if lag <= since else max(lag - RESERVED, since) for lag, since in zip(lags, moved)]
            if max(moved) > 2 * RESERVED:  # no worker has weights from before any more
                self._resumed = None
        return [max(lag, 0) for lag in lags]

    def blocks(self, segments: range) -> list[memoryview]:
        """The weights of each segment as they travel, where they are."""
        weights = self.policy.weights
        if self._divided is not weights:
            self._blocks = blocks(weights, self.segments.size)
            # Weights of a policy of one's own may not travel as they are: then these are copies.
            owner: object = self._blocks[0].obj
            self._divided = weights if owner is weights else None
        return self._blocks[segments.start : segments.stop]
