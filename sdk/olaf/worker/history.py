"""The last versions of a model that a worker has received: what other workers compute with now."""

from __future__ import annotations

from collections import deque

import numpy as np

from olaf.transport.segments import Segments, Vector


class History:
    """The newest ``keep`` versions of each segment, from the answers that come anyway."""

    def __init__(self, segments: Segments, keep: int) -> None:
        self._segments = segments
        self._blocks: list[deque[Vector]] = [deque(maxlen=keep) for _ in range(segments.count)]

    def took(self, segments: range, values: Vector) -> None:
        """Newer weights (n,) of neighbouring segments arrived."""
        begin = self._segments.span(segments).start
        for segment in segments:
            place = self._segments.slice(segment)
            self._blocks[segment].append(values[place.start - begin : place.stop - begin].copy())

    def versions(self) -> list[Vector]:
        """Whole models (values,), the newest first; as many as there are of every segment.

        The k-th is made of the k-th newest weights of each segment, which have one version where no answer
        was lost.
        """
        whole = min(len(blocks) for blocks in self._blocks)
        return [np.concatenate([blocks[-1 - back] for blocks in self._blocks]) for back in range(whole)]
