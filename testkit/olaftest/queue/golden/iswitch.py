"""Synchronous aggregation, from iSwitch §3: an index sums until H worker updates are in, then sends once.

What the paper leaves open is exactly-once: ``seq`` identifies a round, a number a member, and each
member counts once in a round.
"""

from dataclasses import dataclass
from dataclasses import field as member_of

from olaftest.queue.golden.frames import GoldenUpdate, header_field
from olaftest.queue.golden.waiting import WaitingUpdate, newer_or_same


@dataclass
class Rounds:
    """The rounds of one index: what it sums now, and which one it finished last."""

    partial: WaitingUpdate | None = None
    """The partial sum."""
    current: int = 0
    """Its round."""
    members: set[int] = member_of(default_factory=set)
    """The members that are in it."""
    finished: int | None = None

    def start(self, update: GoldenUpdate, sum_of_one: WaitingUpdate) -> None:
        """Begin a round with its first contribution; a partial sum of an older one is gone."""
        self.partial, self.current = sum_of_one, header_field(update.header, "seq")
        self.members = {update.sidecar.member}

    def add(self, update: GoldenUpdate) -> None:
        """Add a contribution to the partial sum."""
        self.members.add(update.sidecar.member)

    def complete(self, threshold: int) -> bool:
        """Return whether the worker updates that make a result are in."""
        return self.partial is not None and self.partial.count >= threshold

    def release(self) -> WaitingUpdate:
        """Release the sum; its round is finished."""
        assert self.partial is not None
        released, self.partial, self.finished = self.partial, None, self.current
        return released

    def reset(self) -> None:
        """Forget the partial sum and the finished round."""
        self.partial = self.finished = None

    @property
    def shown(self) -> int:
        """What GET shows as the round."""
        return self.current if self.partial is not None else self.finished or 0


@dataclass(frozen=True)
class Room:
    """Free room for a new round."""

    members: int
    quota_reached: bool
    full: bool


def round_disposition(update: GoldenUpdate, rounds: Rounds, room: Room) -> str:
    """Return a contribution's counter; "dropped_superseded" counts the sum that it ends."""
    number, member = header_field(update.header, "seq"), update.sidecar.member
    if member >= room.members:
        return "dropped_member"
    if rounds.partial is not None:
        if number == rounds.current:
            return _of_current(update, rounds, member)
        return "dropped_superseded" if newer_or_same(number, rounds.current, 32) else "dropped_late"
    if rounds.finished is not None and (
        number == rounds.finished or not newer_or_same(number, rounds.finished, 32)
    ):
        return "dropped_late"
    return disposition_of_first(room)


def disposition_of_first(room: Room) -> str:
    """Return the counter of what becomes of the contribution that would begin a sum."""
    if room.quota_reached:
        return "dropped_quota"
    return "dropped_full" if room.full else "appended"


def _of_current(update: GoldenUpdate, rounds: Rounds, member: int) -> str:
    assert rounds.partial is not None
    if member in rounds.members:
        return "dropped_duplicate"
    return "merged" if update.sidecar.size == rounds.partial.sidecar.size else "dropped_mismatch"
