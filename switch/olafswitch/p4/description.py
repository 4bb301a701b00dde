"""Map P4Runtime's ids and widths to places in a compiled library."""

import itertools
from collections.abc import Sequence
from typing import Any

from olafswitch.p4.emit.rows import type_leaves
from olafswitch.p4.emit.tables import table_kind
from olafswitch.p4.emit.writer import words_of
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.p4info.describe import Describer

Row = dict[str, Any]


def describe_program(describer: Describer) -> Row:
    """Return what :mod:`olafswitch.p4.switch.native` needs to program the library."""
    ids, inventory = describer.ids, describer.inventory
    places = itertools.count()
    entries = {table: [next(places) for _ in table.entries] for table in describer.program.tables}
    return {
        "architecture": describer.program.architecture,
        "user_metadata": _user_metadata(describer.program),
        "user_externs": [
            {
                "name": instance.name,
                "input_width": t.max_width(instance.type.args[0]),
                "output_width": t.max_width(instance.type.args[1]),
                "latency": instance.number("latency_in_cycles"),
            }
            for instance in describer.places.user_externs
        ],
        "tables": [
            _describe_table(table, describer, entries[table])
            for table in describer.program.tables
            if table in inventory.tables
        ],
        "actions": {
            str(ids.of("action", action.name)): {
                "name": action.name,
                "words": [words_of(param.type) for param in action.data],
                "widths": [t.key_width(param.type) for param in action.data],
            }
            for action in inventory.actions
        },
        "arrays": {extern: _describe_arrays(extern, describer) for extern in describer.places.arrays},
        "value_sets": [
            {
                "id": ids.of("value_set", v.name),
                "place": v.index,
                "keys": _describe_fields(v.keys),
                "size": v.size,
            }
            for v in inventory.value_sets
        ],
        "digests": [
            {"id": ids.of("digest", name), "words": _count_words(type_)}
            for name, type_, _ in describer.digests
        ],
    }


def _user_metadata(program: ir.Program) -> list[Row]:
    """Return name and width of each field of user metadata, the most significant first; v1model has none."""
    return _flatten_fields(program.metadata, "") if program.architecture == "xsa" else []


def _flatten_fields(type_: t.Type, path: str) -> list[Row]:
    base = t.strip_type(type_)
    if not isinstance(base, t.Struct):
        return [{"name": path, "width": t.max_width(base)}]
    return [
        row
        for name, inner in base.fields
        for row in _flatten_fields(inner, f"{path}.{name}" if path else name)
    ]


def _count_words(type_: t.Type) -> list[int]:
    return [words_of(leaf) for _, leaf, _ in type_leaves(t.strip_type(type_), "", "")]


def _describe_fields(keys: Sequence[ir.Key]) -> list[Row]:
    return [
        {"name": k.name, "kind": k.kind, "width": t.key_width(k.value.type), "words": words_of(k.value.type)}
        for k in keys
    ]


def _describe_table(table: ir.Table, describer: Describer, places: list[int]) -> Row:
    ids = describer.ids
    number = describer.places.action_number
    return {
        "id": ids.of("table", table.name),
        "name": table.name,
        "place": table.index,
        "kind": table_kind(table.match_keys),
        "keys": _describe_fields(table.match_keys),
        "size": table.size,
        "profile": ids.of("action_profile", table.profile.name) if table.profile else 0,
        "actions": {str(ids.of("action", a.action.name)): number(a.action) for a in table.actions},
        "entries": [
            {
                "place": place,
                "matches": [[match.value, match.mask, match.high] for match in entry.matches],
                "priority": entry.priority,
                "const": entry.const,
                "action": ids.of("action", table.actions[entry.action].action.name),
                "data": list(entry.data),
            }
            for place, entry in zip(places, table.entries, strict=True)
        ],
    }


def _describe_arrays(extern: str, describer: Describer) -> Row:
    return {
        str(describer.ids.of(extern, instance.name)): {
            "place": at,
            "name": instance.name,
            "size": describer.places.cells(instance),
            "words": words_of(instance.type.args[0]) if extern == "register" else 1,
        }
        for at, instance in enumerate(describer.places.arrays[extern])
        if instance in describer.inventory.externs
    }
