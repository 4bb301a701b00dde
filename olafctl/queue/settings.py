"""The settings of all indices as ranges: a queue has thousands of indices, but few different settings."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from olafctl.queue.registers import IndexSettings, QueueRegisters
from olafctl.wire.modes import Mode


@dataclass(frozen=True)
class IndexRange:
    """Consecutive indices with the same settings; ``last`` is included."""

    first: int
    last: int
    settings: IndexSettings

    def as_json(self) -> dict[str, Any]:
        """Return plain values, for :meth:`from_json`."""
        return {"first": self.first, "last": self.last, **asdict(self.settings)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "IndexRange":
        """Return :meth:`as_json`'s range. Raises KeyError, TypeError or ValueError for other values."""
        given = dict(values)
        first, last, mode = int(given.pop("first")), int(given.pop("last")), Mode(given.pop("mode"))
        return cls(first, last, IndexSettings(mode=mode, **given))


@dataclass(frozen=True)
class Change:
    """Consecutive indices that go from one setting to another."""

    first: int
    last: int
    before: IndexSettings | None
    """None when the settings before are not known."""
    after: IndexSettings


Ranges = tuple[IndexRange, ...]
"""Ranges in rising order and without gaps; neighbours differ."""


def join_ranges(settings: Iterable[IndexSettings]) -> Ranges:
    """Return the settings of the indices 0, 1, … as ranges."""
    found = []
    first = 0
    for value, run in groupby(settings):
        last = first + sum(1 for _ in run) - 1
        found.append(IndexRange(first, last, value))
        first = last + 1
    return tuple(found)


def of_all(registers: QueueRegisters) -> Ranges:
    """Return the settings of every index of a queue."""
    return join_ranges(registers.settings_of(index) for index in range(registers.read("indices")))


def with_default(indices: int, given: Iterable[IndexRange]) -> Ranges:
    """Return the ranges of all ``indices``: the ``given`` ones, and the settings after a reset elsewhere."""
    settings = [IndexSettings()] * indices
    for part in given:
        settings[part.first : part.last + 1] = [part.settings] * (part.last - part.first + 1)
    return join_ranges(settings)


def find_changes(before: Sequence[IndexRange], after: Sequence[IndexRange]) -> Iterator[Change]:
    """Yield the changes from ``before``, which may be empty when it is not known, to ``after``, in the fewest
    ranges."""
    known = {}
    for part in before:
        known.update(dict.fromkeys(range(part.first, part.last + 1), part.settings))
    pairs = (
        (index, known.get(index), part.settings)
        for part in after
        for index in range(part.first, part.last + 1)
    )
    for (old, new), run in groupby(pairs, key=lambda pair: pair[1:]):
        if old != new:
            numbers = [index for index, _, _ in run]
            yield Change(numbers[0], numbers[-1], old, new)
