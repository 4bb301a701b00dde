"""Walks over the code of the checked program."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from olafswitch.p4.frozen import inside
from olafswitch.p4.ir import nodes as ir


def live(node: Any) -> Iterator[ir.Expr]:
    """The expressions inside a statement or expression, in order; called code is not entered.

    Without the branches that a constant condition excludes, as p4c removes them.
    """
    match node:
        case ir.If(condition=ir.Const(value=value)):
            chosen = node.yes if value else node.no
            yield from live(chosen) if chosen is not None else ()
        case _:
            for each in inside(node):
                if isinstance(each, ir.Expr | ir.Statement | ir.Arg | ir.Case):
                    yield from live(each)
            if isinstance(node, ir.Expr):
                yield node


_EFFECTS = (ir.Call, ir.Apply, ir.TableApply, ir.ExternCall, ir.HeaderCall, ir.StackPart)


def has_effects(expr: ir.Expr | None) -> bool:
    """Return whether evaluating ``expr`` may change anything, or depends on when it happens."""
    return expr is not None and any(isinstance(each, _EFFECTS) for each in live(expr))


def ends(statement: ir.Statement | None) -> bool:
    """Whether nothing that follows the statement is reached: it returns or exits on every path."""
    match statement:
        case ir.Return() | ir.Jump(word="exit"):
            return True
        case ir.Body(statements=statements):
            return any(map(ends, statements))
        case ir.If(condition=ir.Const(value=value)):
            return ends(statement.yes if value else statement.no)
        case ir.If(yes=yes, no=no):
            return ends(yes) and ends(no)
        case ir.Switch(cases=cases):
            return all(ends(case.body) for case in cases) and any(case.labels is None for case in cases)
    return False


def jumps(node: Any) -> bool:
    """Whether a ``break`` or ``continue`` in it goes to a loop around it."""
    match node:
        case ir.Jump(word=word):
            return word != "exit"
        case ir.Loop():
            return False
    return any(map(jumps, inside(node)))


def pinned(target: ir.Expr, keep: Callable[[ir.Expr], ir.Expr]) -> ir.Expr:
    """A target of an assignment with what ``keep`` makes of each of its indices that is not constant."""
    match target:
        case ir.Element(base=base, index=index):
            base = pinned(base, keep)
            return replace(target, base=base, index=index if isinstance(index, ir.Const) else keep(index))
        case ir.WindowSlice(base=base, start=start):
            return replace(target, base=pinned(base, keep), start=keep(start))
        case ir.Slice(base=base) | ir.Field(base=base):
            return replace(target, base=pinned(base, keep))
        case ir.Cast(operand=operand):
            return replace(target, operand=pinned(operand, keep))
    return target
