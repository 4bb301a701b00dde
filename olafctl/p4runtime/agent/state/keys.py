"""Match keys of a table or value set: checked against the P4Info, as P4Runtime §9.1.1 demands.

The specification's general rule for byte strings says OUT_OF_RANGE, its rules for matches and for
action parameters say INVALID_ARGUMENT; the particular rule wins, as it does in BMv2.
"""

from collections.abc import Hashable, Sequence

from olafctl.p4runtime import bytestrings
from olafctl.p4runtime.agent.state.refusal import invalid
from olafctl.p4runtime.dataplane import Exact, Key, Lpm, Match, Optional, Range, Ternary
from olafctl.p4runtime.plain import FieldRequest
from olafctl.p4runtime.program import MatchField, MatchKind

Identity = Hashable
"""A key as plain numbers: cheaper to hash and compare than a Key."""


class KeyReader:
    """Reads the keys of one table (or value set), called ``where`` in messages."""

    def __init__(self, fields: Sequence[MatchField], where: str) -> None:
        self._where = where
        self._fields = fields
        self._places = {
            field.id: (place, field.kind, field.bits, field) for place, field in enumerate(fields)
        }
        self._exact = [place for place, field in enumerate(fields) if field.kind is MatchKind.EXACT]

    def read(self, match: Sequence[FieldRequest]) -> tuple[Key, Identity]:
        """The key of a request's field matches, fields that are left out matching everything."""
        key: list[Match] = [None] * len(self._fields)
        identity: list[object] = [None] * len(self._fields)
        for field_id, kind, first, second in match:
            found = self._places.get(field_id)
            if found is None:
                raise invalid(f"{self._where} has no match field {field_id}")
            place, expected, bits, field = found
            if kind is not expected:
                got = kind.name if kind else "no P4Runtime match"
                raise invalid(f"{self._where}: field {field.name} is {expected.name}, the request's is {got}")
            if identity[place] is not None:
                raise invalid(f"{self._where}: field {field.name} is given twice")
            if expected is MatchKind.EXACT and first:
                value = int.from_bytes(first, "big")
                if not value >> bits:
                    key[place] = Exact(value)
                    identity[place] = value
                    continue
            try:
                key[place], identity[place] = _match(expected, first, second, bits)
            except ValueError as error:
                raise invalid(f"{self._where}: field {field.name}: {error}") from None
        for place in self._exact:
            if identity[place] is None:
                raise invalid(f"{self._where}: the exact field {self._fields[place].name} is missing")
        return tuple(key), tuple(identity)


def _match(kind: MatchKind, first: bytes, second: bytes | int, bits: int) -> tuple[Match, object]:
    value = bytestrings.decode(first, bits)
    if kind is MatchKind.EXACT:
        return Exact(value), value
    if kind is MatchKind.OPTIONAL:
        return Optional(value), value
    if kind is MatchKind.LPM:
        assert isinstance(second, int)
        if not 0 < second <= bits:
            raise ValueError(f"prefix length {second} is not in 1…{bits} (leave the field out to match all)")
        if value & ((1 << bits - second) - 1):
            raise ValueError(f"{value:#x}/{second} has bits set beyond its prefix")
        return Lpm(value, second), (value, second)
    assert isinstance(second, bytes)
    other = bytestrings.decode(second, bits)
    if kind is MatchKind.TERNARY:
        if other == 0:
            raise ValueError("the mask is zero (leave the field out to match all)")
        if value & ~other:
            raise ValueError(f"{value:#x} has bits set outside its mask {other:#x}")
        return Ternary(value, other), (value, other)
    if value > other:
        raise ValueError(f"the range's low bound {value:#x} is above its high bound {other:#x}")
    if value == 0 and other == (1 << bits) - 1:
        raise ValueError("the range is everything (leave the field out to match all)")
    return Range(value, other), (value, other)
