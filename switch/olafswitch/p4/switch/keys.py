"""A table's key in the library's format: for each field, words of a value and words of a mask."""

from collections.abc import Iterable, Sequence
from typing import Any

from olafswitch.p4runtime.dataplane import Exact, Key, Lpm, Match, Optional, Range, Ternary


class KeyForm:
    """An encoder of the keys of one table or value set."""

    def __init__(self, fields: Sequence[dict[str, Any]], kind: str) -> None:
        self._fields = [(f["kind"], int(f["width"]), 8 * int(f["words"])) for f in fields]
        self._exact = kind == "EXACT"
        self.kind = kind

    def encode(self, key: Key) -> tuple[bytes, bytes, int]:
        """Return value words, mask words (a range's upper bounds), and the prefix length of an LPM table."""
        if self._exact:
            row = b"".join(
                match.value.to_bytes(size, "little")  # type: ignore[union-attr]  # exact fields are Exact
                for match, (_, _, size) in zip(key, self._fields, strict=True)
            )
            return row, row, 0
        values, masks, prefix = [], [], 0
        for match, (kind, width, size) in zip(key, self._fields, strict=True):
            value, mask = key_bounds(match, width)
            if kind == "range" and match is None:
                mask = (1 << width) - 1
            if kind == "lpm":
                prefix = match.prefix_len if isinstance(match, Lpm) else 0
            values.append(value.to_bytes(size, "little"))
            masks.append(mask.to_bytes(size, "little"))
        return b"".join(values), b"".join(masks), prefix


def declared_key(fields: Iterable[tuple[str, int]], matches: Iterable[Iterable[int | None]]) -> Key:
    """Return the key of a program's entry from (value, mask, high) triples; fields are kinds and bits."""
    made: list[Match] = []
    for (value, mask, high), (kind, width) in zip(matches, fields, strict=True):
        full = (1 << width) - 1
        if value is None:
            made.append(None)
        elif kind == "exact":
            made.append(Exact(value))
        elif kind == "lpm":
            length = (full if mask is None else mask).bit_count()
            made.append(Lpm(value, length) if length else None)
        elif kind == "ternary":
            made.append(Ternary(value, full if mask is None else mask) if mask != 0 else None)
        elif kind == "range":
            made.append(Range(value, value if high is None else high))
        else:
            made.append(Optional(value))
    return tuple(made)


def key_bounds(match: Match, width: int) -> tuple[int, int]:
    """Return the value and mask of a match, or the bounds of a range."""
    full = (1 << width) - 1
    match match:
        case Exact(value) | Optional(value):
            return value, full
        case Lpm(value, length):
            mask = full & ~((1 << (width - length)) - 1)
            return value & mask, mask
        case Ternary(value, mask):
            return value & mask, mask
        case Range(low, high):
            return low, high
    return 0, 0
