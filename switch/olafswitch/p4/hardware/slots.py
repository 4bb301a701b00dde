"""Where a table's entries go in hardware. Nothing here touches a register.

A plan is a list of writes, each an entry and the place it is put in. They are done in their order; then a
lookup at any time finds an entry that was there before and is there after: an entry is in its new place
before its old one is used for another.
"""

from collections import deque
from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

E = TypeVar("E", bound=Hashable)
Plan = list[tuple[E, int]]
MAX_SEARCH = 4096
"""Places looked at for room before a table counts as full."""


class Hashed:
    """Keys in the ways of :file:`p4/verilog/hdl/p4_exact.v`: each has one place in each way."""

    def __init__(self, ways: int, row_bits: int, masks: Sequence[int]) -> None:
        """``masks``: for each bit of the row in each way, the bits of the key whose parity it is."""
        self._rows = row_bits
        self._masks = [masks[row_bits * way : row_bits * (way + 1)] for way in range(ways)]
        self._at: dict[int, int] = {}
        self._used: dict[int, int] = {}

    def __getitem__(self, key: int) -> int:
        """The place of a key that is there."""
        return self._at[key]

    def __len__(self) -> int:
        return len(self._at)

    def places(self, key: int) -> list[int]:
        """The places that a key may be in, one a way."""
        return [
            (way << self._rows) | sum(((key & mask).bit_count() & 1) << bit for bit, mask in enumerate(masks))
            for way, masks in enumerate(self._masks)
        ]

    def plan(self, key: int) -> Plan[int] | None:
        """The writes that put a new key in, the fewest; None without room."""
        came: dict[int, int | None] = dict.fromkeys(self.places(key))
        waiting = deque(came)
        while waiting and len(came) < MAX_SEARCH:
            place = waiting.popleft()
            held = self._used.get(place)
            if held is None:
                return self._moves(key, place, came)
            for other in self.places(held):
                if other not in came:
                    came[other] = place
                    waiting.append(other)
        return None

    def _moves(self, key: int, free: int, came: dict[int, int | None]) -> Plan[int]:
        """Along the way to a free place each key moves on by one, the last one first."""
        plan: Plan[int] = []
        place = free
        while (before := came[place]) is not None:
            plan.append((self._used[before], place))
            place = before
        return [*plan, (key, place)]

    def put(self, key: int, place: int) -> None:
        """A write of a plan was done."""
        self._at[key] = place
        self._used[place] = key

    def remove(self, key: int) -> int:
        """Forget a key; the place that it had."""
        place = self._at.pop(key)
        del self._used[place]
        return place


class Ordered(Generic[E]):
    """Entries in places of which the lowest that matches wins: sorted by rank, the lowest first."""

    def __init__(self, size: int) -> None:
        self._places: list[tuple[int, E] | None] = [None] * size
        self._at: dict[E, int] = {}

    def __getitem__(self, entry: E) -> int:
        return self._at[entry]

    def __len__(self) -> int:
        return len(self._at)

    def plan(self, entry: E, rank: int) -> Plan[E] | None:
        """The writes that put a new entry behind all of its rank or a lower one; None without room."""
        places = self._places
        free = [place for place, held in enumerate(places) if held is None]
        if not free:
            return None
        after = max((place for place, held in enumerate(places) if held and held[0] <= rank), default=-1)
        upward = next((place for place in free if place > after), None)
        if upward is not None:
            # what is in between ranks behind: each moves up by one
            moved = [place for place in range(upward - 1, after, -1) if places[place] is not None]
            return [*((self._entry(place), place + 1) for place in moved), (entry, after + 1)]
        down = free[-1]
        moved = list(range(down + 1, after + 1))
        return [*((self._entry(place), place - 1) for place in moved), (entry, after)]

    def _entry(self, place: int) -> E:
        held = self._places[place]
        assert held is not None
        return held[1]

    def put(self, entry: E, rank: int, place: int) -> None:
        """A write of a plan was done."""
        old = self._at.get(entry)
        if old is not None and self._places[old] == (rank, entry):
            self._places[old] = None
        self._places[place] = (rank, entry)
        self._at[entry] = place

    def remove(self, entry: E) -> int:
        """Forget an entry; the place that it had."""
        place = self._at.pop(entry)
        self._places[place] = None
        return place
