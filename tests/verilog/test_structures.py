"""Random programs of the whole subset, as Verilog and as C++; their constructs are counted."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress

import pytest

from olafswitch.p4.check.program import check_program
from olafswitch.p4.frozen import Frozen, walk_nodes
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Refused
from olafswitch.p4.syntax.parse import parse_program
from olafswitch.p4.syntax.preprocess import preprocess_text
from olafswitch.p4.verilog.compile import compile_module
from olafswitch.p4.verilog.externs import _CALLS
from olafswitch.p4.verilog.tables import LATENCY, choose_engine
from olaftest.programs.equality import compare_text
from olaftest.programs.structures import HASHES, Structures, structured_texts

PROGRAMS = 40
LEAST = 3
"""How often each construct occurs at least in PROGRAMS programs."""
_OPERATORS = ("+", "-", "*", "&", "|", "^", "|+|", "|-|", "++", "<<", ">>", "==", "!=", "<", "<=", "&&", "||")
NOT_OF_V1MODEL = {"UserExtern.apply", "Checksum.apply", "Counter.count"}


def _list_nodes(program: ir.Program) -> Iterator[Frozen]:
    roots: list[Frozen] = [function.body for function in program.functions]
    for block in program.blocks:
        roots += [*block.variables, block.body, *block.states, *(each.body for each in block.actions)]
    for root in roots:
        yield from walk_nodes(root)


def _name_constructs(program: ir.Program) -> Iterator[str]:
    """Name the constructs of a program, from the checked program, not from the generator's intention."""
    for table in program.tables:
        yield f"engine {choose_engine(table).kind}"
        yield from (f"key {key.kind}" for key in table.match_keys)
        if table.counter is not None:
            yield "direct counter"
    for node in _list_nodes(program):
        yield type(node).__name__
        match node:
            case ir.ExternCall():
                yield f"{node.owner}.{node.method}" if node.owner else node.method
                yield from (f"hash {name}" for name in HASHES if f"'{name}'" in repr(node.args))
            case ir.HeaderCall(method=method):
                yield method
            case ir.StackPart(part=part):
                yield part
            case ir.Jump(word=word):
                yield word
            case ir.Apply(target=target):
                yield f"{target.kind} applied"
            case ir.TableApply(part=part):
                yield f"table {part}"
            case ir.SelectCase(sets=ir.ValueSet()):
                yield "value set"
            case ir.Transition(state="reject"):
                yield "reject"
            case ir.Field(base=base) if t.is_union(t.strip_type(base.type)):
                yield "header union"
            case ir.Binary(op=op):
                yield f"operator {op}"


def _list_wanted() -> set[str]:
    """Name the constructs of the back end: its externs, engines, statements and expressions."""
    kinds: Iterable[type] = [*ir.Statement.__subclasses__(), *ir.Expr.__subclasses__()]
    return {
        *(each.__name__ for each in kinds),
        *(set(_CALLS) - NOT_OF_V1MODEL),
        *(f"engine {kind}" for kind in LATENCY),
        *(f"key {kind}" for kind in ("exact", "lpm", "ternary", "range", "optional")),
        *(f"hash {name}" for name in HASHES),
        *("setValid", "setInvalid", "push_front", "pop_front", "next", "last", "lastIndex"),
        *("break", "continue", "exit", "parser applied", "control applied", "direct counter", "value set"),
        *("table hit", "table miss", "table action_run", "header union"),
        *(f"operator {op}" for op in _OPERATORS),
    }


def test_the_programs_hold_every_construct_of_the_subset() -> None:
    seen: Counter[str] = Counter()
    for text in structured_texts(PROGRAMS):
        seen.update(
            set(_name_constructs(check_program(parse_program(preprocess_text(text, "case.p4")), "case.p4")))
        )
    missing = {name: seen[name] for name in sorted(_list_wanted()) if seen[name] < LEAST}
    assert not missing


@pytest.mark.parametrize("first", [101, 111, 121])
def test_a_program_is_the_same_in_verilog(first: int) -> None:
    """Take the first program from ``first`` on for which hardware has room."""
    for seed in range(first, first + 10):
        text = preprocess_text(Structures(seed).random_structures(), "case.p4")
        with suppress(Refused):
            compile_module(text, "case.p4")
            break
    assert compare_text(text, 200).frames == 200
