"""Where a table's entries go in hardware. Nothing here touches a register.

A plan is a list of writes, each an entry and the place it is put in. They are done in their order; then a
lookup at any time finds an entry that was there before and is there after: an entry is in its new place
before its old one is used for another.
"""

from collections import deque
from collections.abc import Sequence

Row = tuple[int, int, int]
"""An entry's key and mask, each as one number, the first field on top, and its rank."""
Plan = list[tuple[Row, int]]
MAX_SEARCH = 4096
"""Places looked at for room before a table counts as full."""


class Places:
    """Tracks which entry is where."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._at: dict[Row, int] = {}
        self._used: dict[int, Row] = {}

    def __getitem__(self, row: Row) -> int:
        return self._at[row]

    @property
    def room(self) -> int:
        """Places that are free."""
        return self._size - len(self._at)

    def put(self, row: Row, place: int) -> None:
        """A write of a plan was done."""
        old = self._at.get(row)
        if old is not None and self._used[old] == row:
            del self._used[old]
        self._at[row], self._used[place] = place, row

    def remove(self, row: Row) -> int:
        """Forget an entry; the place that it had."""
        place = self._at.pop(row)
        del self._used[place]
        return place


class Hashed(Places):
    """Keys in the ways of :file:`p4/verilog/hdl/p4_exact.v`: each has one place in each way."""

    def __init__(self, ways: int, row_bits: int, masks: Sequence[int]) -> None:
        """``masks``: for each bit of the row in each way, the bits of the key whose parity it is."""
        super().__init__(ways << row_bits)
        self._rows = row_bits
        self._masks = [masks[row_bits * way : row_bits * (way + 1)] for way in range(ways)]

    def places(self, row: Row) -> list[int]:
        """The places that an entry may be in, one a way."""
        return [
            (way << self._rows)
            | sum(((row[0] & mask).bit_count() & 1) << bit for bit, mask in enumerate(masks))
            for way, masks in enumerate(self._masks)
        ]

    def plan(self, row: Row) -> Plan | None:
        """The writes that put a new entry in, the fewest; None without room."""
        came: dict[int, int | None] = dict.fromkeys(self.places(row))
        waiting = deque(came)
        while waiting and len(came) < MAX_SEARCH:
            place = waiting.popleft()
            held = self._used.get(place)
            if held is None:
                # along the way to here each entry moves on by one, the last one first
                plan: Plan = []
                while (before := came[place]) is not None:
                    plan.append((self._used[before], place))
                    place = before
                return [*plan, (row, place)]
            for other in self.places(held):
                if other not in came:
                    came[other] = place
                    waiting.append(other)
        return None


class Ordered(Places):
    """Places from ``first`` on, of which the lowest that matches wins: sorted by rank, the lowest first."""

    def __init__(self, size: int, first: int = 0) -> None:
        super().__init__(size)
        self._all = range(first, first + size)

    def plan(self, row: Row) -> Plan | None:
        """The writes that put a new entry behind all of its rank or a lower one; None without room."""
        used = self._used
        free = [place for place in self._all if place not in used]
        if not free:
            return None
        after = max((place for place, held in used.items() if held[2] <= row[2]), default=self._all[0] - 1)
        upward = next((place for place in free if place > after), None)
        if upward is not None:
            # what is in between ranks behind: each moves up by one
            return [*((used[at], at + 1) for at in range(upward - 1, after, -1)), (row, after + 1)]
        return [*((used[at], at - 1) for at in range(free[-1] + 1, after + 1)), (row, after)]
