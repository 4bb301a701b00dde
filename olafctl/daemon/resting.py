"""When the indices of a deleted cluster may be used again: once none of its updates waits in the queue.

An update of another cluster would be merged with one that still waits at its index. Updates leave in the
order in which they came, so those that wait now have left when as many have. Partial sums of rounds wait for
their members instead; they are discarded with the cluster.
"""

from collections.abc import Iterable, Mapping

Range = tuple[int, int]
"""First index and count."""


class Resting:
    """The ranges that rest, and what must have left before each is free."""

    def __init__(self) -> None:
        self._since: dict[Range, tuple[int, int]] = {}
        """``out_updates`` when it was first seen to rest, and when nothing of it waits any more."""

    def over(self, ranges: Iterable[Range], registers: Mapping[str, int]) -> list[Range]:
        """Those of ``ranges`` of which nothing waits, by one snapshot of the queue's registers."""
        out = registers.get("out_updates", 0)
        waiting = registers.get("occupancy", 0) - registers.get("accumulating", 0)
        known, free = {}, []
        for each in ranges:
            began, end = self._since.get(each, (out, out + waiting))
            if out < began:  # the counters were cleared
                began, end = out, out + waiting
            if out >= end or not waiting:
                free.append(each)
            else:
                known[each] = began, end
        self._since = known
        return free
