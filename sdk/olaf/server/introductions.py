"""INITs at the parameter server: how a model gets its first weights, and a worker what it begins with."""

from __future__ import annotations

import numpy as np

from olaf.policies import PolicyMaker
from olaf.server.model import Model, Served
from olaf.transport import wire
from olaf.transport.port import Address, Port
from olaf.transport.segments import Segments, Vector, finite

_MOST_CANDIDATES = 64
"""Workers whose initial weights are collected at the same time."""


class Introductions:
    """Introductions of the workers of one server."""

    def __init__(self, port: Port, make: PolicyMaker, slot: int | None) -> None:
        """``slot``: values that one of the engine's holds, where there is an engine."""
        self._port, self._make, self._slot = port, make, slot

    def take_introduction(
        self, cluster: Served, init: wire.Init, values: Vector, source: Address, division: int | None
    ) -> None:
        """Take a worker's INIT: its model's length and division, and, if the server has none, its weights.

        ``division``: the engine's segments, where they are known.
        """
        try:
            segments = Segments(init.values, init.segments)
            fits = len(values) in (0, segments.length(init.segment))
        except (ValueError, IndexError):
            fits = False
        if not fits or not finite(values):
            cluster.counters.unusable += 1
            return
        room = division is None or self._slot is None or segments.values <= division * self._slot
        if cluster.model is None and not (room and division in (None, segments.count)):
            self._tell_member(
                cluster, init.segment, source, segments.values, division if room and division else 0
            )
        elif cluster.model is None and len(values):
            self._find_candidate(cluster, segments, init.segment, values, source)
        else:
            self.answer_sender(cluster, init.segment, source)

    def _find_candidate(
        self, cluster: Served, segments: Segments, segment: int, values: Vector, source: Address
    ) -> None:
        """Collect one worker's weights; the first whose weights are whole initialises the model."""
        known, blocks = cluster.candidates.pop(source, (segments, {}))
        if known != segments:
            blocks = {}
        blocks[segment] = values.copy()
        if len(blocks) < segments.count:
            if len(cluster.candidates) >= _MOST_CANDIDATES:
                del cluster.candidates[next(iter(cluster.candidates))]
            cluster.candidates[source] = segments, blocks
            return
        weights = np.concatenate([blocks[number] for number in range(segments.count)])
        cluster.model = Model(segments, weights, self._make)
        cluster.candidates.clear()
        self.answer_sender(cluster, segment, source)  # it asks for the others

    def answer_sender(self, cluster: Served, segment: int, to: Address) -> None:
        """Answer a worker's INIT with the weights; without them, if it requested a segment that does not
        exist."""
        model = cluster.model
        if model is None:
            self._tell_member(cluster, segment, to, 0, 0)
        elif segment < model.segments.count:
            (body,) = model.blocks(range(segment, segment + 1))
            values, count, version = model.segments.values, model.segments.count, model.versions[segment]
            self._tell_member(cluster, segment, to, values, count, version, body)
        else:
            self._tell_member(cluster, segment, to, model.segments.values, model.segments.count)

    def _tell_member(
        self,
        cluster: Served,
        segment: int,
        to: Address,
        values: int,
        count: int,
        version: int = 0,
        body: memoryview | bytes = b"",
    ) -> None:
        init = wire.Init(
            wire.VERSION, wire.FrameType.INIT, cluster.epoch, 0, count, values, bytes(10), segment, version
        )
        self._port.send(to, init.pack(), body)
