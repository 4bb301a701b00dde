"""Asynchronous aggregation, from iSwitch §4: an index sums whatever comes until H worker updates are in, then
sends once, with the next result number.

What the paper leaves open is exactly-once: a member numbers its contributions in ``seq``, and of each member
the highest number that was taken is kept, and which of the :data:`WINDOW` numbers before it were.
"""

from dataclasses import dataclass
from dataclasses import field as member_of

from olafctl.wire.geometry import WINDOW
from olaftest.queue.golden.frames import GoldenUpdate, header_field, with_fields
from olaftest.queue.golden.iswitch import Room, Rounds, disposition_of_first
from olaftest.queue.golden.waiting import WaitingUpdate, newer_or_same


@dataclass
class NumberedSums(Rounds):
    """The sums of one index: ``finished`` is the number of its last result."""

    highest: dict[int, int] = member_of(default_factory=dict)
    """Newest contribution that was taken, by member."""
    taken: dict[int, set[int]] = member_of(default_factory=dict)
    """Contributions that were taken, by member, back to the oldest that may still come."""

    def start(self, update: GoldenUpdate, sum_of_one: WaitingUpdate) -> None:
        """Begin a sum with its first contribution."""
        self.partial = sum_of_one
        self.add(update)

    def add(self, update: GoldenUpdate) -> None:
        """Take a contribution."""
        number, member = header_field(update.header, "seq"), update.sidecar.member
        self.members.add(member)
        newest = self.highest.get(member, number)
        if newer_or_same(number, newest, 32):
            newest = number
        self.highest[member] = newest
        known = {*self.taken.get(member, ()), number}
        self.taken[member] = {one for one in known if (newest - one) % (1 << 32) <= WINDOW}

    def release(self) -> WaitingUpdate:
        """Release the sum, with its number."""
        self.current = ((self.finished or 0) + 1) % (1 << 32)
        released = super().release()
        released.header = with_fields(released.header, seq=self.current)
        return released

    def reset(self) -> None:
        """Forget the partial sum, the numbers of results and all contributions."""
        super().reset()
        self.members, self.highest, self.taken = set(), {}, {}

    @property
    def shown(self) -> int:
        return self.finished or 0


PLACES = ("the first", "close ahead", "far ahead", "the newest", "within the window", "older")


def window_place(update: GoldenUpdate, sums: NumberedSums) -> str:
    """Return where a contribution is from its member's window: one of PLACES."""
    number = header_field(update.header, "seq")
    newest = sums.highest.get(update.sidecar.member)
    if newest is None:
        return "the first"
    ahead, behind = ((one % (1 << 32)) for one in (number - newest, newest - number))
    if ahead == 0:
        return "the newest"
    if newer_or_same(number, newest, 32):
        return "close ahead" if ahead <= WINDOW else "far ahead"
    return "within the window" if behind <= WINDOW else "older"


def sum_disposition(update: GoldenUpdate, sums: NumberedSums, room: Room) -> str:
    """Return the counter of what becomes of a contribution."""
    number, member = header_field(update.header, "seq"), update.sidecar.member
    if member >= room.members:
        return "dropped_member"
    if number in sums.taken.get(member, ()):
        return "dropped_duplicate"
    newest = sums.highest.get(member, number)
    if not newer_or_same(number, newest, 32) and (newest - number) % (1 << 32) > WINDOW:
        return "dropped_late"
    if sums.partial is not None:
        return "merged" if update.sidecar.size == sums.partial.sidecar.size else "dropped_mismatch"
    return disposition_of_first(room)
