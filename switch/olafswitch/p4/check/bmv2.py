"""Constructs that p4c or BMv2 understand otherwise: a program with one behaves differently there."""

from collections.abc import Iterator

from olafswitch.p4.frozen import Frozen, walk_nodes
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Pos

_WIDE_RANGE = 32


def find_differences(program: ir.Program) -> list[tuple[Pos, str]]:
    """Return the places of such constructs, each kind once, with what p4c 1.2.5 and BMv2 1.15 do."""
    kinds = [_find_loops, _find_zero_masks, _find_wide_ranges]
    if _reads_error(program):
        kinds += [_find_unmatched, _find_unused_lookahead]
    found: dict[str, Pos] = {}
    for pos, what in (each for block in program.blocks for find in kinds for each in find(block)):
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


def _reads_error(program: ir.Program) -> bool:
    parts: list[Frozen] = [each.body for each in program.functions]
    for block in program.blocks:
        parts += [block.body, *(action.body for action in block.actions)]
        parts += [key.value for table in block.tables for key in table.keys]
    fields = (each for part in parts for each in walk_nodes(part) if isinstance(each, ir.Field))
    return any(each.name == "parser_error" for each in fields)


def _find_unmatched(block: ir.Block) -> Iterator[tuple[Pos, str]]:
    for transition in (state.transition for state in block.states if state.transition.cases):
        if not _takes_all(transition):
            yield transition.cases[0].pos, "BMv2 sets no parser_error where no case of a select matches"


def _takes_all(transition: ir.Transition) -> bool:
    """Return whether a case is a default, or every value of the only subject has a case."""
    rows = [[each.match for each in case.sets] for case in transition.cases if isinstance(case.sets, tuple)]
    if any(all(match is not None and match.value is None for match in row) for row in rows):
        return True
    exact = {row[0] for row in rows if row[0] is not None and row[0].mask is row[0].high is None}
    return len(transition.subjects) == 1 and len(exact) == 1 << (
        t.key_width(transition.subjects[0].type) or 0
    )


def _find_unused_lookahead(block: ir.Block) -> Iterator[tuple[Pos, str]]:
    for body in (each for state in block.states for each in walk_nodes(state.body)):
        if (
            isinstance(body, ir.Do)
            and isinstance(body.call, ir.ExternCall)
            and body.call.method == "lookahead"
        ):
            yield body.call.pos, "BMv2 sets no parser_error for a lookahead whose value is not used"
