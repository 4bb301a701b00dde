"""Walks over the code of the checked program."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from olafctl.p4.ir import nodes as ir


def live(node: Any) -> Iterator[ir.Expr]:
    """The expressions inside a statement or expression, in order; called code is not entered.

    Without the branches that a constant condition excludes, as p4c removes them.
    """
    match node:
        case ir.If(condition=ir.Const(value=value)):
            chosen = node.yes if value else node.no
            yield from live(chosen) if chosen is not None else ()
        case _:
            for field in fields(node):
                value = getattr(node, field.name)
                for item in value if isinstance(value, tuple) else (value,):
                    if isinstance(item, ir.Expr | ir.Statement | ir.Arg | ir.Case):
                        yield from live(item)
            if isinstance(node, ir.Expr):
                yield node


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
