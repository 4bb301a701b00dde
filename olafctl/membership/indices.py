"""Index ranges of one queue: each cluster has consecutive indices, one for each segment of its model. Other
numbers of a membership are assigned in the same way, one at a time."""

from olafswitch.errors import BadInput, Problem


class IndexRanges:
    """The free indices of a queue.

    A range is taken from the smallest free run that holds it, and merged with its free neighbours when it
    comes back, so that long runs stay whole as long as possible.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._free = {0: size}
        """First index of each free run → its length; no two runs touch."""

    def copy(self) -> "IndexRanges":
        """Return a copy of the ranges, whose changes do not affect these."""
        same = IndexRanges(self.size)
        same._free = dict(self._free)
        return same

    @property
    def free(self) -> int:
        """The number of free indices."""
        return sum(self._free.values())

    def runs(self) -> list[tuple[int, int]]:
        """Return the first index and length of each free run."""
        return sorted(self._free.items())

    @property
    def longest(self) -> int:
        """The length of the longest free run."""
        return max(self._free.values(), default=0)

    def least(self) -> int | None:
        """Return the smallest free index; None when none is free."""
        return min(self._free, default=None)

    def take(self, count: int) -> int:
        """Return the first of ``count`` consecutive indices, no longer free.

        Raises BadInput when no such run is free.
        """
        fitting = [(length, first) for first, length in self._free.items() if length >= count]
        if not fitting:
            raise BadInput(
                Problem(self._refusal(count), remedy="give the model fewer segments, or delete clusters")
            )
        _, first = min(fitting)
        self.claim(first, count)
        return first

    def claim(self, first: int, count: int = 1) -> None:
        """Take exactly ``first`` … ``first + count - 1``. Raises ValueError when they are not all free."""
        for start, length in self._free.items():
            if start <= first and first + count <= start + length:
                break
        else:
            raise ValueError(f"indices {first} … {first + count - 1} are not free")
        del self._free[start]
        if first > start:
            self._free[start] = first - start
        if rest := start + length - first - count:
            self._free[first + count] = rest

    def give_back(self, first: int, count: int = 1) -> None:
        """Free a range that was taken."""
        for start, length in list(self._free.items()):
            if start + length == first:
                del self._free[start]
                first, count = start, count + length
            elif first + count == start:
                del self._free[start]
                count += length
        self._free[first] = count

    def _refusal(self, count: int) -> str:
        needed = f"needs {count} consecutive indices"
        if self.free < count:
            return f"{needed}, but {self.free} of the engine's {self.size} are free"
        return f"{needed}, but the longest of the free runs ({self.free} indices in all) has {self.longest}"
