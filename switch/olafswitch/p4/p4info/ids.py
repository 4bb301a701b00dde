"""P4Runtime ids: given by the program, or derived from names (P4Runtime §6.3)."""

from collections.abc import Sequence
from typing import Any

from olafswitch.p4.refuse import Refused
from olafswitch.p4.syntax.annotations import find_annotation, given_number, only_number
from olafswitch.p4.syntax.tree import Annotations

PREFIX = {
    "action": 0x01, "table": 0x02, "value_set": 0x03, "controller_header": 0x04,
    "action_profile": 0x11, "counter": 0x12, "direct_counter": 0x13, "meter": 0x14, "direct_meter": 0x15,
    "register": 0x16, "digest": 0x17,
}  # fmt: skip


def name_hash(name: str) -> int:
    """Return Bob Jenkins' one-at-a-time hash of ``name``, 32 bits."""
    value = 0
    for byte in name.encode():
        value = (value + byte) & 0xFFFFFFFF
        value = (value + (value << 10)) & 0xFFFFFFFF
        value ^= value >> 6
    value = (value + (value << 3)) & 0xFFFFFFFF
    value ^= value >> 11
    return (value + (value << 15)) & 0xFFFFFFFF


class Ids:
    """An assigner of ids: first those that ``@id`` gives, then hashes of names in alphabetical order."""

    def __init__(self) -> None:
        self._by_name: dict[tuple[str, str], int] = {}

    def assign(self, kind: str, objects: Sequence[tuple[str, Annotations, Any]]) -> None:
        """Give each (name, annotations, pos) of a kind its id.

        Raises Refused when an ``@id`` has a wrong prefix or is given twice.
        """
        prefix = PREFIX[kind] << 24
        taken: set[int] = set()
        rest = []
        names = [name for name, _, _ in objects]
        for name, annotations, pos in objects:
            if names.count(name) > 1:
                raise Refused(pos, name, f"is the control plane name of more than one {kind}")
            wanted = given_number(annotations, "id")
            if wanted is None:
                rest.append(name)
                continue
            wanted = wanted if wanted >> 24 else wanted | prefix
            if wanted & 0xFF000000 != prefix:
                raise Refused(
                    pos, "@id", f"{wanted:#010x} does not have the prefix {PREFIX[kind]:#04x} of a {kind}"
                )
            if wanted in taken:
                raise Refused(pos, "@id", f"{wanted:#010x} is used twice")
            taken.add(wanted)
            self._by_name[kind, name] = wanted
        for name in sorted(rest):
            value = name_hash(name) & 0xFFFFFF
            while (prefix | value) in taken or value == 0:
                value = (value + 1) & 0xFFFFFF
            taken.add(prefix | value)
            self._by_name[kind, name] = prefix | value

    def of(self, kind: str, name: str) -> int:
        return self._by_name[kind, name]


def field_ids(fields: Sequence[Annotations]) -> list[int]:
    """Return the ids of key fields, parameters or header fields: given, or the next free one from 1.

    Raises Refused when an ``@id`` is 0 or is given twice.
    """
    given = [find_annotation(annotations, "id") for annotations in fields]
    taken: set[int] = set()
    for found in given:
        if found is not None:
            wanted = only_number(found)
            if wanted == 0 or wanted in taken:
                raise Refused(found.pos, "@id", f"{wanted} is {'used twice' if wanted else 'no id'}")
            taken.add(wanted)
    ids, free = [], 1
    for found in given:
        if found is not None:
            ids.append(only_number(found))
            free += 1
            continue
        while free in taken:
            free += 1
        taken.add(free)
        ids.append(free)
    return ids
