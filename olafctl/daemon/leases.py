"""Leases: a member that is silent for as long as its lease leaves, so that crashed members do not stay.

VNP4₁ counts the frames of each member, in both directions; a count that does not move is silence.
"""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from olafctl.daemon.controller import Controller
from olafctl.membership.membership import Membership
from olafctl.membership.model import Member, Row
from olafctl.membership.operations import Operation, Planned
from olafswitch.errors import OlafError

_log = logging.getLogger(__name__)
_CHECK_SECONDS = 5.0


class Leases:
    """A watch over one deployment's members that have a lease."""

    def __init__(
        self,
        controller: Controller,
        submit: "Callable[[Operation], Future[Row]]",
        *,
        every: float | None = _CHECK_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Check every ``every`` seconds; None: only when :meth:`remove_silent` is called."""
        self._controller = controller
        self._submit = submit
        self._clock = clock
        self._heard: dict[Member, tuple[int, float]] = {}
        """The frames of each member, and the time at which the count last grew."""
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        if every is not None:
            self._thread = threading.Thread(
                target=self._run_checks, args=(every,), name="leases", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """Stop watching."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def remove_silent(self) -> "list[Future[Row]]":
        """Remove every member whose lease has run out; return the answers to the removals."""
        members = self._controller.look(
            lambda membership: [each for each in membership.members.values() if each.lease]
        )
        if not members or not self._controller.southbound.ready:
            # Without counts no member is known to be silent: all leases begin again.
            self._heard.clear()
            return []
        try:
            seen = self._controller.southbound.frames_seen()
        except OlafError:
            self._heard.clear()
            return []
        now, leaving = self._clock(), []
        heard = {}
        for member in members:
            frames = seen.get(int(member.ip), 0)
            before, since = self._heard.get(member, (-1, now))
            heard[member] = (frames, now if frames != before else since)
            if now - heard[member][1] >= member.lease:
                _log.info("%s: %s was silent for %g s", self._controller.name, member.name, member.lease)
                leaving.append(self._submit(_leave_if_same(member)))
        self._heard = heard
        return leaving

    def _run_checks(self, every: float) -> None:
        while not self._ended.wait(every):
            try:
                self.remove_silent()
            except OlafError as error:
                _log.warning("%s: leases: %s", self._controller.name, error)


def _leave_if_same(member: Member) -> Operation:
    """Remove a member, if it is unchanged."""

    def leave(membership: Membership) -> Planned:
        if membership.members.get(member.name) != member:
            return Planned({}, {})
        return Planned({f"member/{member.name}": None}, member.to_row())

    return leave
