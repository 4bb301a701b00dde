"""Warn once an outage that a worker hears nothing, with the likely reason as ``olaf-doctor`` gives it."""

from __future__ import annotations

from olaf.transport.port import Address

PATIENCE = 5.0
"""Seconds between an update and a warning that nothing was heard."""
OUTAGE, _UNHEARD = 2.0, 3
"""Seconds, and updates, without an answer after which the next answer ends an outage."""
_SOME = 20
"""Updates sent whole before segments without any ACK are worth a warning."""


def unanswered() -> tuple[str, str]:
    """Nothing comes back: the reason and the remedy."""
    return (
        "nothing comes back: the frame does not reach the engine, the engine has no way to the server, "
        "no server runs, or this address is in no cluster of it",
        "on the engine's machine: olafctl status (frames in at this worker's port, drift); "
        "is olafctl server running?",
    )


def unacknowledged(epoch: int, port: int) -> tuple[str, str]:
    """The server answers questions, but no ACK comes: the reason and the remedy."""
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
        """When to look for a reason to warn: as long as updates are sent."""
        look = (self._last if self._since is None else self._since) + PATIENCE
        self._look = look if look > now and "all" not in self._told else None
        return self._look

    def tell(self, now: float, server: Address, epoch: int, port: int, count: int) -> str | None:
        """The warning that is due now, if any; the model has ``count`` segments."""
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
