"""Which argument goes to which parameter, and what the type parameters are."""

from collections.abc import Sequence

from olafctl.p4 import ir
from olafctl.p4 import types as t
from olafctl.p4.check.coercion import coerce
from olafctl.p4.check.expressions import check, writable
from olafctl.p4.check.scope import Scope
from olafctl.p4.check.typing import unify
from olafctl.p4.refuse import Pos, Refused
from olafctl.p4.syntax import tree


def pair(
    params: Sequence[tree.Parameter], args: Sequence[tree.Argument], what: str, pos: Pos
) -> list[tuple[tree.Parameter, tree.Argument | None]]:
    """Each parameter with its argument; None where its default stands in.

    Raises Refused when they do not fit.
    """
    named = {arg.name: arg for arg in args if arg.name is not None}
    if named and len(named) != len(args):
        raise Refused(pos, what, "all arguments must be named, each once, or none")
    if len(args) > len(params):
        raise Refused(pos, what, f"{len(args)} arguments for {len(params)} parameters")
    for name in named:
        if name not in {param.name for param in params}:
            raise Refused(pos, what, f"has no parameter {name}")
    pairs = []
    for at, param in enumerate(params):
        arg = named.get(param.name) if named else (args[at] if at < len(args) else None)
        if arg is None and param.default is None and not any(a.name == "optional" for a in param.annotations):
            raise Refused(pos, what, f"no argument for {param.name}")
        pairs.append((param, arg))
    return pairs


def bind(
    pairs: list[tuple[tree.Parameter, tree.Argument | None]],
    formals: Sequence[t.Type],
    bindings: dict[t.Variable, t.Type],
    scope: Scope,
    pos: Pos,
) -> tuple[ir.Arg, ...]:
    """The checked arguments, in the parameters' order; ``bindings`` learns the type parameters.

    Raises Refused where an argument has the wrong type or cannot be written.
    """
    checked: list[ir.Expr | None] = []
    for (param, arg), formal in zip(pairs, formals, strict=True):
        value = _value(param, arg, t.substitute(formal, bindings), scope)
        checked.append(value)
        if value is not None:
            unify(formal, value.type, bindings)
    bound = []
    for (param, arg), formal, value in zip(pairs, formals, checked, strict=True):
        type_ = t.substitute(formal, bindings)
        where = arg.pos if arg else pos
        if value is None:
            if param.direction != "out":
                raise Refused(where, param.name, "_ stands only for an out parameter")
        elif param.direction in ("out", "inout"):
            if value.type != type_:
                raise Refused(where, param.name, f"is {type_}, the argument {value.type}")
        else:
            value = coerce(value, type_, where)
        bound.append(ir.Arg(param.direction or "in", value, type_))
    return tuple(bound)


def _value(param: tree.Parameter, arg: tree.Argument | None, formal: t.Type, scope: Scope) -> ir.Expr | None:
    if arg is None:
        assert param.default is not None
        return check(param.default, scope.top())
    if arg.value is None:
        return None
    if param.direction in ("out", "inout"):
        return writable(arg.value, scope)
    return check(arg.value, scope, t.ANY if t.has_variables(formal) else formal)
