"""A worker that hears nothing says so once, with the likely reason: in the words of ``olaf-doctor``."""

from __future__ import annotations

from olaf.port import Address

PATIENCE = 5.0
"""Seconds between an update and a warning that nothing was heard."""
_SOME = 20
"""Updates sent whole before segments without any ACK are worth a warning."""


def unanswered() -> tuple[str, str]:
    """Nothing at all comes back: why, and what to do."""
    return (
        "nothing comes back: the frame does not reach the engine, the engine has no way to the server, "
        "no server runs, or this address is in no cluster of it",
        "on the engine's machine: olafctl status (frames in at this worker's port, drift); "
        "is olafctl server running?",
    )


def unacknowledged(epoch: int, port: int) -> tuple[str, str]:
    """The server answers questions, but no ACK comes: why, and what to do."""
    return (
        f"the engine refuses epoch {epoch} or this segment, its queue drops, or its group for this cluster "
        f"lacks this worker or has another UDP port of it than {port}",
        "local= or OLAF_LOCAL (doctor: --local) with the testbed's UDP port of this worker; on the engine's "
        "machine: olafctl status",
    )


class Silence:
    """What one worker has not heard."""

    def __init__(self, segments: int) -> None:
        self._since: float | None = None
        """Since when updates have been sent and no ACK came."""
        self._answered = False
        """Whether the server was ever heard."""
        self._missing = set(range(segments))
        """Segments that no ACK ever came for."""
        self._offers = 0
        self._last = float("-inf")
        """When an update was sent last."""
        self._look: float | None = None
        """When this is looked at next."""
        self._told: set[str] = set()

    def sent(self, now: float) -> bool:
        """An update was sent; whether no one would look in time."""
        self._since = now if self._since is None else self._since
        self._last = now
        self._offers += 1
        return self._look is None and "all" not in self._told

    def answered(self) -> None:
        """The server said something."""
        self._answered = True

    def acknowledged(self, segments: range) -> None:
        """ACKs came for these segments."""
        self._since, self._answered = None, True
        if self._missing:
            self._missing.difference_update(segments)

    def due(self, now: float) -> float | None:
        """When to look whether there is something to say: as long as updates are sent."""
        look = (self._last if self._since is None else self._since) + PATIENCE
        self._look = look if look > now and "all" not in self._told else None
        return self._look

    def tell(self, now: float, server: Address, epoch: int, port: int, count: int) -> str | None:
        """What has to be said now, for the first time; the model has ``count`` segments."""
        where = f"{server[0]}:{server[1]}"
        if self._since is not None and now >= self._since + PATIENCE:
            if "all" in self._told:
                return None
            self._told.add("all")
            why, remedy = unacknowledged(epoch, port) if self._answered else unanswered()
            said = "the server answers, but no ACK comes" if self._answered else "no answer"
            return f"{said} from {where} in {PATIENCE:g} s; {why} → {remedy}; olaf-doctor {where} examines it"
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
