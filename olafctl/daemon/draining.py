"""Decides when the indices of a deleted cluster are free: when none of its updates waits in a queue.

Otherwise the queue would combine an update of the next cluster with an old one at the same index. Updates
leave in the order in which they came. So when N updates wait now, all of them have left when N have left.
Partial sums of rounds do not leave like this; they are discarded with the cluster.

Each engine is judged by its own queue. What a lower engine still sends up belongs to no cluster at the next
engine, and bypasses its queue.
"""

from collections.abc import Iterable, Mapping

from olafctl.control.handover import Range, waiting


class Draining:
    """The ranges that drain, each with what must leave before it is free."""

    def __init__(self) -> None:
        self._since: dict[Range, dict[str, tuple[int, int] | None]] = {}
        """For each range and engine, ``out_updates`` when the range began to drain, and its value at which
        all updates of that time have left. None when they have left."""

    def freed(self, ranges: Iterable[Range], queues: Mapping[str, Mapping[str, int]]) -> list[Range]:
        """Return the ranges among ``ranges`` that are free now.

        ``queues`` has one snapshot of each queue's registers, by engine. Forgets all ranges that are not
        in ``ranges``.
        """
        known, free = {}, []
        for each in ranges:
            before = self._since.get(each, {})
            left = {name: _left(before, name, registers) for name, registers in queues.items()}
            if any(left.values()):
                known[each] = left
            else:
                free.append(each)
        self._since = known
        return free


def _left(
    before: Mapping[str, tuple[int, int] | None], queue: str, registers: Mapping[str, int]
) -> tuple[int, int] | None:
    """Return what must still leave one queue, in the form of :attr:`Draining._since`."""
    out = registers.get("out_updates", 0)
    held = waiting(registers)
    since = before.get(queue, (out, out + held))
    if since is not None and out < since[0]:  # the counters were cleared
        since = out, out + held
    return None if since is None or out >= since[1] or not held else since
