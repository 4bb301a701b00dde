"""Constructs that p4c or BMv2 understand otherwise: a program that has them behaves differently there."""

from collections.abc import Iterator

from olafswitch.p4.frozen import walk_nodes
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Pos

_WIDE_RANGE = 32


def find_differences(program: ir.Program) -> list[tuple[Pos, str]]:
    """Return the places of such constructs, each kind once, with what p4c 1.2.5 and BMv2 1.15 do there."""
    found: dict[str, Pos] = {}
    for block in program.blocks:
        for pos, what in (*_find_loops(block), *_find_zero_masks(block), *_find_wide_ranges(block)):
            found.setdefault(what, pos)
    return [(pos, what) for what, pos in found.items()]


def _find_loops(block: ir.Block) -> Iterator[tuple[Pos, str]]:
    if block.kind != "control":
        return
    for body in walk_nodes(block.body):
        if isinstance(body, ir.Body):
            for statement, place in zip(body.statements, body.places, strict=False):
                if isinstance(statement, ir.Loop):
                    yield place, "p4c runs the body of a for in a control's apply once"


def _find_zero_masks(block: ir.Block) -> Iterator[tuple[Pos, str]]:
    for case in (case for state in block.states for case in state.transition.cases):
        sets = case.sets if isinstance(case.sets, tuple) else ()
        if any(each.match is not None and each.match.mask == 0 for each in sets):
            yield case.pos, "BMv2 prefers the default to a select case whose mask is 0"


def _find_wide_ranges(block: ir.Block) -> Iterator[tuple[Pos, str]]:
    for table in block.tables:
        for at, key in enumerate(table.match_keys):
            wide = key.kind == "range" and (t.key_width(key.value.type) or 0) >= _WIDE_RANGE
            if wide and any(entry.matches[at].value is None for entry in table.entries):
                yield key.pos, f"p4c writes a wrong range for _ in a key of {_WIDE_RANGE} bits or more"
