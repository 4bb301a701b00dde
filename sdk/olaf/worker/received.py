"""Weights that a worker has received: the newest of each segment, what is missing, what the program took."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from olaf import serial
from olaf.transport.segments import Segments, Vector, stretches

_FORGET = 1.0
"""Seconds without newer weights after which any version counts as newer: the server began again."""


class Block(NamedTuple):
    """Newer weights of one segment, or of neighbouring ones with the same version."""

    place: slice
    """Place in the flat model."""
    values: Vector
    version: int


class History:
    """The newest ``keep`` versions of each segment, from the answers that come anyway."""

    def __init__(self, segments: Segments, keep: int) -> None:
        self._segments = segments
        self._blocks: list[deque[Vector]] = [deque(maxlen=keep) for _ in range(segments.count)]

    def note_weights(self, segments: range, values: Vector) -> None:
        """Note newer weights (n,) of neighbouring segments."""
        begin = self._segments.span(segments).start
        for segment in segments:
            place = self._segments.slice(segment)
            self._blocks[segment].append(values[place.start - begin : place.stop - begin].copy())

    def versions(self) -> list[Vector]:
        """Return whole models (values,), the newest first; as many as there are of every segment.

        The k-th is made of the k-th newest weights of each segment, which have one version where no answer
        was lost.
        """
        whole = min(len(blocks) for blocks in self._blocks)
        return [np.concatenate([blocks[-1 - back] for blocks in self._blocks]) for back in range(whole)]


class ReceivedWeights:
    """The newest weights of each segment; ``flat`` (values,) is written as they come."""

    def __init__(self, segments: Segments, keep: int, flat: Vector) -> None:
        self.flat = flat
        self.history = History(segments, keep)
        self.adopted = [0] * segments.count
        """Versions of the weights that were taken last: the next update is computed from them."""
        self.missing = dict.fromkeys(range(segments.count))
        """Segments without weights, in order."""
        self._segments, self._keep = segments, keep
        self._versions: list[int | None] = [None] * segments.count
        self._came = [float("-inf")] * segments.count
        """When newer weights of each segment came last."""
        self._fresh: set[int] = set()

    @property
    def fresh(self) -> bool:
        """Whether any came since the program took the last ones."""
        return bool(self._fresh)

    def version_of(self, segment: int) -> int | None:
        return self._versions[segment]

    def forget_versions(self) -> None:
        """Take whatever comes next of any segment as newer: the server is another run."""
        self._versions = [None] * self._segments.count
        self.missing = dict.fromkeys(range(self._segments.count))

    def forget_version(self, segment: int) -> None:
        self._versions[segment] = None
        self.missing[segment] = None

    def take_fresh(self) -> list[Block]:
        """Return the weights that came since the last call, by segment."""
        fresh = sorted(self._fresh)
        self._fresh.clear()
        blocks = []
        # Neighbours have the same number of absent ones before them.
        marks = [(self._versions[segment], segment - number) for number, segment in enumerate(fresh)]
        for (version, absent), found in stretches(marks):
            if version is None:
                continue
            first, stop = found.start + absent, found.stop + absent
            self.adopted[first:stop] = [version] * len(found)
            place = self._segments.span(range(first, stop))
            blocks.append(Block(place, self.flat[place].copy(), version))
        return blocks

    def put(self, segment: int, values: Vector, versions: Sequence[int], now: float) -> list[range]:
        """Keep what is newer of neighbouring segments from ``segment`` on; return the segments it is of."""
        begin = segment * self._segments.size
        known = self._versions[segment : segment + len(versions)]
        kept = []
        for (held, version), part in stretches(list(zip(known, versions)), segment):
            for newer in self._find_newer(part, held, version, now):
                place = self._segments.span(newer)
                self.flat[place] = values[place.start - begin : place.stop - begin]
                self._versions[newer.start : newer.stop] = [version] * len(newer)
                if self.missing:
                    for each in newer:
                        self.missing.pop(each, None)
                self._came[newer.start : newer.stop] = [now] * len(newer)
                self._fresh.update(newer)
                if self._keep:
                    self.history.note_weights(newer, self.flat[place])
                kept.append(newer)
        return kept

    def _find_newer(self, segments: range, held: int | None, version: int, now: float) -> list[range]:
        """Return the segments, now of version ``held``, that ``version`` is newer for."""
        if held is None or serial.newer(version, held, serial.VERSION_BITS):
            return [segments]
        if version == held:
            return []
        return [range(each, each + 1) for each in segments if now - self._came[each] >= _FORGET]
