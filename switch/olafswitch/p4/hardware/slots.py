"""The places of a table's entries in hardware. Nothing here touches a register.

A plan is a list of writes, each an entry and its new place, in order. After each write a lookup finds every
entry that was there before and is there after the plan: an entry is in its new place before its old place is
used for another.
"""

from collections import deque
from collections.abc import Sequence

Row = tuple[int, int, int]
"""An entry's key and mask, each as one number with the first field on top, and its rank."""
Plan = list[tuple[Row, int]]
MAX_SEARCH = 4096
"""The number of places that are searched for room before a table counts as full."""


class Places:
    """The place of each entry."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._at: dict[Row, int] = {}
        self._used: dict[int, Row] = {}

    def __getitem__(self, row: Row) -> int:
        return self._at[row]

    @property
    def room(self) -> int:
        """The number of free places."""
        return self._size - len(self._at)

    def put(self, row: Row, place: int) -> None:
        """Record that a write of a plan was done."""
        old = self._at.get(row)
        if old is not None and self._used[old] == row:
            del self._used[old]
        self._at[row], self._used[place] = place, row

    def remove(self, row: Row) -> int:
        """Forget an entry and return its place."""
        place = self._at.pop(row)
        del self._used[place]
        return place


class Hashed(Places):
    """Keys in the ways of :file:`p4/verilog/hdl/p4_exact.v`: each key has one place in each way."""

    def __init__(self, ways: int, row_bits: int, masks: Sequence[int]) -> None:
        """Create ``ways``; ``masks`` has, for each row bit of each way, the key bits whose parity it is."""
        super().__init__(ways << row_bits)
        self._rows = row_bits
        self._masks = [masks[row_bits * way : row_bits * (way + 1)] for way in range(ways)]

    def places(self, row: Row) -> list[int]:
        """Return the places that an entry may be in, one a way."""
        return [
            (way << self._rows)
            | sum(((row[0] & mask).bit_count() & 1) << bit for bit, mask in enumerate(masks))
            for way, masks in enumerate(self._masks)
        ]

    def plan(self, row: Row) -> Plan | None:
        """Return the fewest writes that put a new entry in; None without room."""
        came: dict[int, int | None] = dict.fromkeys(self.places(row))
        waiting = deque(came)
        while waiting and len(came) < MAX_SEARCH:
            place = waiting.popleft()
            held = self._used.get(place)
            if held is None:
                # along the path to here each entry moves on by one place, the last one first
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
    """Places from ``first`` on, of which the lowest that matches wins: sorted by rank, lowest first."""

    def __init__(self, size: int, first: int = 0) -> None:
        super().__init__(size)
        self._all = range(first, first + size)

    def plan(self, row: Row) -> Plan | None:
        """Return the writes that put an entry behind all of its rank or a lower rank; None without room."""
        used = self._used
        free = [place for place in self._all if place not in used]
        if not free:
            return None
        after = max((place for place, held in used.items() if held[2] <= row[2]), default=self._all[0] - 1)
        upward = next((place for place in free if place > after), None)
        if upward is not None:
            # the entries in between rank behind the new one: each moves up by one
            return [*((used[at], at + 1) for at in range(upward - 1, after, -1)), (row, after + 1)]
        return [*((used[at], at - 1) for at in range(free[-1] + 1, after + 1)), (row, after)]
