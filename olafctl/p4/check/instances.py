"""Extern objects: their constructors' arguments."""

from olafctl.p4.check.arguments import pair
from olafctl.p4.check.expressions import check
from olafctl.p4.check.scope import Scope
from olafctl.p4.check.typing import resolve
from olafctl.p4.ir import nodes as ir
from olafctl.p4.ir import types as t
from olafctl.p4.refuse import Pos, Refused
from olafctl.p4.syntax import tree


def make_instance(
    type_: t.Extern, args: tuple[tree.Argument, ...], scope: Scope, name: str,
    annotations: tree.Annotations, pos: Pos,
) -> ir.Instance:  # fmt: skip
    """An extern object with constant constructor arguments.

    Raises Refused when the architecture has no such extern or its arguments are not constant.
    """
    declaration = type_.declaration
    if type_.name == "register":
        _check_register(type_, pos)
    if type_.name not in scope.unit.architecture.externs:
        raise Refused(pos, f"extern {type_.name}", "not supported")
    fitting = [m for m in declaration.methods if m.result is None and len(m.params) == len(args)]
    if len(fitting) != 1:
        raise Refused(pos, type_.name, f"no constructor with {len(args)} arguments")
    outer = scope.top().inner()
    for variable, arg in zip(declaration.type_params, type_.args, strict=True):
        outer.declare(variable, arg, pos)
    values: dict[str, ir.Expr] = {}
    for param, argument in pair(fitting[0].params, args, type_.name, pos):
        if argument is None or argument.value is None:
            raise Refused(pos, type_.name, f"no argument for {param.name}")
        value = check(argument.value, scope, resolve(param.type, outer))
        if not isinstance(value, ir.Const):
            raise Refused(argument.pos, param.name, "must be known at compile time")
        values[param.name] = value
    made = ir.Instance(name, scope.unit.unique(name), type_, values, annotations, pos)
    scope.unit.instances.append(made)
    return made


def _check_register(type_: t.Extern, pos: Pos) -> None:
    base = t.stripped(type_.args[0])
    if not (isinstance(base, t.Bit | t.Enum) or base in (t.BOOL, t.ERROR)):
        why = "its cells can be bits, bool, an enumeration or error; use one register for each field"
        raise Refused(pos, str(type_), why)
