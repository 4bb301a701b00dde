"""When the indices of a deleted cluster may be used again: once none of its updates waits in the queue.

An update of another cluster would be merged with one that still waits at its index. Updates leave in the
order in which they came, so those that wait now have left when as many have. Partial sums of rounds wait for
their members instead; they are discarded with the cluster.

Each engine's queue rests by itself: what one of them still sends up is no longer known at the next one, and
passes its queue by.
"""

from collections.abc import Iterable, Mapping

Range = tuple[int, int]
"""First index and count."""


class Resting:
    """The ranges that rest, and what must have left before each is free."""

    def __init__(self) -> None:
        self._since: dict[Range, dict[str, tuple[int, int] | None]] = {}
        """By engine, ``out_updates`` when it was first seen to rest, and when nothing of it waits any more;
        None once nothing does."""

    def over(self, ranges: Iterable[Range], queues: Mapping[str, Mapping[str, int]]) -> list[Range]:
        """Those of ``ranges`` of which nothing waits, by one snapshot of each queue's registers."""
        known, free = {}, []
        for each in ranges:
            rests = self._since.get(each, {})
            left = {name: _left(rests, name, registers) for name, registers in queues.items()}
            if any(left.values()):
                known[each] = left
            else:
                free.append(each)
        self._since = known
        return free


def _left(
    rests: Mapping[str, tuple[int, int] | None], queue: str, registers: Mapping[str, int]
) -> tuple[int, int] | None:
    """What must still leave one queue, as :attr:`Resting._since` has it."""
    out = registers.get("out_updates", 0)
    waiting = registers.get("occupancy", 0) - registers.get("accumulating", 0)
    since = rests.get(queue, (out, out + waiting))
    if since is not None and out < since[0]:  # the counters were cleared
        since = out, out + waiting
    return None if since is None or out >= since[1] or not waiting else since
