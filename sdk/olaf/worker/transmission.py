"""Worker-side transmission control (OLAF §5): when the network is congested, send with probability P_s.

All times are seconds. Congestion means more active indices N than queue slots Q_max; an index is one
segment of one cluster, so a model of s segments counts s times.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from random import Random

from olaf.transport.port import Address
from olaf.transport.wire import OlafStatus

TOLERANCE = 0.4
"""Default of Δ_T: feedback older than this is obsolete (OLAF §6)."""


def send_probability(share: float, silence: float, v: float, delta_t: float) -> float:
    """Return P_s = min(Q_max/N + f, 1) with f = v·max(Δ̂ - Δ_T, 0).

    ``share`` is Q_max/N, ``silence`` Δ̂, the time since the last ACK, and ``v`` is in 1/s: 1/Δ_T for urgency,
    the number of Δ_T for fairness between clusters.
    """
    return min(share + v * max(silence - delta_t, 0.0), 1.0)


def tightest(statuses: Iterable[OlafStatus]) -> float:
    """Return Q_max/N of the most congested engine; 1 when none is congested or none reported."""
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
        """Note an ACK with these status headers; one without any leaves Q_max/N as it is."""
        self._heard = now
        if statuses:
            self._share = tightest(statuses)

    def probability(self, now: float) -> float:
        """Return P_s; 1 before the first ACK."""
        if self._heard is None or not self._on:
            return 1.0
        return send_probability(self._share, now - self._heard, self.v, self.delta_t)

    def draw(self, now: float) -> bool:
        """Draw whether to send this update: once for each update, however many segments it has."""
        return self._random.random() < self.probability(now)


PATIENCE = 5.0
"""Seconds between an update and a warning that nothing was heard."""
OUTAGE, _UNHEARD = 2.0, 3
"""Seconds, and updates, without an answer after which the next answer ends an outage."""
_SOME = 20
"""Updates sent whole before segments without any ACK are worth a warning."""


def unanswered() -> tuple[str, str]:
    """Return the reason why nothing comes back, and the remedy."""
    return (
        "nothing comes back: the frame does not reach the engine, the engine has no way to the server, "
        "no server runs, or this address is in no cluster of it",
        "on the engine's machine: olafctl status (frames in at this worker's port, drift); "
        "is olafctl server running?",
    )


def unacknowledged(epoch: int, port: int) -> tuple[str, str]:
    """Return why no ACK comes though the server answers questions, and the remedy."""
    return (
        f"the engine refuses epoch {epoch} or this segment, its queue drops, or its group for this cluster "
        f"lacks this worker or has another UDP port of it than {port}",
        "local= or OLAF_LOCAL (doctor: --local) with the testbed's UDP port of this worker; on the engine's "
        "machine: olafctl status",
    )


class Silence:
    """The silence that one worker observes."""

    def __init__(self, segments: int) -> None:
        self._since: float | None = None
        """Time since which updates have been sent and no ACK came."""
        self._answered = False
        """Whether the server has answered since then, although no ACK came."""
        self._quiet: float | None = None
        """Time since which updates have been sent and nothing came."""
        self._unheard = 0
        """Updates sent since then."""
        self._missing = set(range(segments))
        """Segments that no ACK ever came for."""
        self._offers = 0
        self._last = float("-inf")
        """Time of the last update."""
        self._look: float | None = None
        """Time of the next look."""
        self._told: set[str] = set()

    def sent(self, now: float) -> bool:
        """Note a sent update; returns whether no tick would look in time."""
        if self._since is None:
            self._since, self._answered = now, False
        self._quiet = now if self._quiet is None else self._quiet
        self._unheard += 1
        self._last = now
        self._offers += 1
        return self._look is None and "all" not in self._told

    def heard(self, now: float) -> float:
        """Note the server's answer. Returns the seconds without one, 0 unless that was an outage."""
        self._answered = True
        silent = 0.0 if self._quiet is None or self._unheard < _UNHEARD else now - self._quiet
        self._quiet, self._unheard = None, 0
        return silent if silent >= OUTAGE else 0.0

    def acknowledged(self, segments: range) -> None:
        """Note ACKs for these segments."""
        self._since = None
        self._told.discard("all")
        if self._missing:
            self._missing.difference_update(segments)

    def due(self, now: float) -> float | None:
        """Return when to look for a reason to warn, as long as updates are sent."""
        look = (self._last if self._since is None else self._since) + PATIENCE
        self._look = look if look > now and "all" not in self._told else None
        return self._look

    def tell(self, now: float, server: Address, epoch: int, port: int, count: int) -> str | None:
        """Return the warning that is due now, if any; the model has ``count`` segments."""
        where = f"{server[0]}:{server[1]}"
        if self._since is not None and now >= self._since + PATIENCE:
            if "all" in self._told:
                return None
            self._told.add("all")
            why, remedy = unacknowledged(epoch, port) if self._answered else unanswered()
            seen = "the server answers, but no ACK comes" if self._answered else "no answer"
            return f"{seen} from {where} in {PATIENCE:g} s; {why} → {remedy}; olaf-doctor {where} examines it"
        if 0 < len(self._missing) < count and self._offers >= _SOME * count and "some" not in self._told:
            self._told.add("some")
            missing = sorted(self._missing)
            return (
                f"no ACK for segment {missing[0]}{' and others' if missing[1:] else ''} of {count} from "
                f"{where}, others are acknowledged: the engine has fewer indices for this cluster, or "
                "smaller slots → give the testbed's cluster the model's length (values:), or this worker "
                "its segments="
            )
        return None
