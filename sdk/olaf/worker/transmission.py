"""Worker-side transmission control (OLAF §5): when the network is congested, send with probability P_s.

All times are seconds. Congestion means more active indices N than queue slots Q_max; an index is one
segment of one cluster, so a model of s segments counts s times.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from random import Random

from olaf.transport.wire import OlafStatus

TOLERANCE = 0.4
"""Default of Δ_T: feedback older than this is obsolete (OLAF §6)."""


def send_probability(share: float, silence: float, v: float, delta_t: float) -> float:
    """P_s = min(Q_max/N + f, 1) with f = v·max(Δ̂ - Δ_T, 0).

    ``share`` is Q_max/N, ``silence`` Δ̂, the time since the last ACK, and ``v`` is in 1/s: 1/Δ_T for urgency,
    the number of Δ_T for fairness between clusters.
    """
    return min(share + v * max(silence - delta_t, 0.0), 1.0)


def tightest(statuses: Iterable[OlafStatus]) -> float:
    """Q_max/N of the most congested engine; 1 when none is congested or none reported."""
    return min((min(s.slots / s.active_clusters, 1.0) for s in statuses if s.active_clusters), default=1.0)


class TransmissionControl:
    """One worker's state: what the engines last reported, and when the last ACK came."""

    def __init__(
        self,
        v: float | None = None,
        delta_t: float = TOLERANCE,
        random: Random | None = None,
        on: bool = True,
    ) -> None:
        """``v`` is Δ_T's number if not given; unless ``on``, P_s is always 1.

        Raises ValueError for a ``v`` that is negative or not finite, and a Δ_T not above 0."""
        self.v = delta_t if v is None else v
        self.delta_t = delta_t
        if not 0 <= self.v < math.inf or not delta_t > 0:
            raise ValueError(f"v must be at least 0 and delta_t above 0 seconds, not {self.v} and {delta_t}")
        self._random = random or Random()
        self._on = on
        self._share = 1.0
        self._heard: float | None = None

    def acknowledged(self, now: float, *statuses: OlafStatus) -> None:
        """An ACK came with these status headers; one without any leaves Q_max/N as it is."""
        self._heard = now
        if statuses:
            self._share = tightest(statuses)

    def probability(self, now: float) -> float:
        """P_s; 1 before the first ACK."""
        if self._heard is None or not self._on:
            return 1.0
        return send_probability(self._share, now - self._heard, self.v, self.delta_t)

    def draw(self, now: float) -> bool:
        """Whether to send this update: one draw for each update, however many segments it has."""
        return self._random.random() < self.probability(now)
