"""Walk over the code of the checked program."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from olafswitch.p4.frozen import child_nodes
from olafswitch.p4.ir import nodes as ir


def live_expressions(node: Any) -> Iterator[ir.Expr]:
    """Yield the expressions inside a statement or expression, in order; called code is not entered.

    Branches that a constant condition excludes are left out, as p4c removes them.
    """
    match node:
        case ir.If(condition=ir.Const(value=value)):
            chosen = node.yes if value else node.no
            yield from live_expressions(chosen) if chosen is not None else ()
        case _:
            for each in child_nodes(node):
                if isinstance(each, ir.Expr | ir.Statement | ir.Arg | ir.Case):
                    yield from live_expressions(each)
            if isinstance(node, ir.Expr):
                yield node


_EFFECTS = (ir.Call, ir.Apply, ir.TableApply, ir.ExternCall, ir.HeaderCall, ir.StackPart)


def has_effects(expr: ir.Expr | None) -> bool:
    """Return whether evaluating ``expr`` may change anything, or depends on when it is evaluated."""
    return expr is not None and any(isinstance(each, _EFFECTS) for each in live_expressions(expr))


def ends_always(statement: ir.Statement | None) -> bool:
    """Return whether code after the statement is never reached: it returns or exits on every path."""
    match statement:
        case ir.Return() | ir.Jump(word="exit"):
            return True
        case ir.Body(statements=statements):
            return any(map(ends_always, statements))
        case ir.If(condition=ir.Const(value=value)):
            return ends_always(statement.yes if value else statement.no)
        case ir.If(yes=yes, no=no):
            return ends_always(yes) and ends_always(no)
        case ir.Switch(cases=cases):
            return all(ends_always(case.body) for case in cases) and any(
                case.labels is None for case in cases
            )
    return False


def jumps_out(node: Any) -> bool:
    """Return whether a ``break`` or ``continue`` in ``node`` goes to a loop around it."""
    match node:
        case ir.Jump(word=word):
            return word != "exit"
        case ir.Loop():
            return False
    return any(map(jumps_out, child_nodes(node)))


def pin_indices(target: ir.Expr, keep: Callable[[ir.Expr], ir.Expr]) -> ir.Expr:
    """Return an assignment's target with each index that is not constant replaced by ``keep`` of it."""
    match target:
        case ir.Element(base=base, index=index):
            base = pin_indices(base, keep)
            return replace(target, base=base, index=index if isinstance(index, ir.Const) else keep(index))
        case ir.WindowSlice(base=base, start=start):
            return replace(target, base=pin_indices(base, keep), start=keep(start))
        case ir.Slice(base=base) | ir.Field(base=base):
            return replace(target, base=pin_indices(base, keep))
        case ir.Cast(operand=operand):
            return replace(target, operand=pin_indices(operand, keep))
    return target
