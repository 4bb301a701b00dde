"""Actions and functions: their parameters and bodies."""

from itertools import pairwise

from olafswitch.p4.check.scope import Frame, Scope, Value
from olafswitch.p4.check.statements import check_block
from olafswitch.p4.check.typing import resolve_type
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.ir.walk import ends_always
from olafswitch.p4.refuse import Pos, Refused
from olafswitch.p4.syntax import tree
from olafswitch.p4.syntax.annotations import control_plane_name

PACKETS = ("packet_in", "packet_out")
"""The extern objects that may be parameters of blocks."""
MAX_DEPTH = 64
"""The most nested function calls; more are assumed to be recursion, which P4 does not have."""


def declare_params(params: tuple[tree.Parameter, ...], scope: Scope) -> list[ir.Parameter]:
    """Declare the parameters as variables of ``scope``; only ``out`` and ``inout`` ones can be written."""
    made = []
    for param in params:
        type_ = resolve_type(param.type, scope)
        extern = isinstance(t.unwrap_type(type_), t.Extern)
        if param.default is not None and "out" in param.direction:
            raise Refused(
                param.pos, f"parameter {param.name}", "only an in parameter can have a default value"
            )
        if type_ == t.INTEGER:
            if param.direction:
                raise Refused(param.pos, f"parameter {param.name}", "an int cannot have a direction")
            type_ = t.EXACT
        if extern and str(type_) not in PACKETS:
            why = f"a {type_} can be a constructor's parameter only"
            raise Refused(param.pos, f"parameter {param.name}", why)
        local = ir.Local(type_, scope.unit.unique(param.name))
        writable = param.direction in ("out", "inout") or extern
        scope.declare(param.name, Value(local, writable, "is a read-only parameter"), param.pos)
        made.append(ir.Parameter(param.name, param.direction, local, param.annotations, param.default))
    return made


def make_action(declaration: tree.ActionDeclaration, scope: Scope, path: str, block: ir.Block) -> ir.Action:
    """Return the action, checked.

    Raises Refused where its parameters' order or its body breaks a rule.
    """
    frame = Frame("action", path, block, pipe=block.kind)
    inner = scope.inner(frame)
    params = declare_params(declaration.params, inner)
    for before, after in pairwise(params):
        if not before.direction and after.direction:
            raise Refused(
                declaration.pos, f"action {declaration.name}", "its data must follow its directed parameters"
            )
    for param in params:
        if not param.direction and not _is_plain_type(param.type):
            raise Refused(
                declaration.pos,
                f"action {declaration.name}",
                f"the control plane cannot give {param.name} of type {param.type}",
            )
    body = check_block(declaration.body, inner)
    name = control_plane_name(declaration.name, path, declaration.annotations)
    return ir.Action(
        name, scope.unit.unique(declaration.name), params, declaration.annotations, body, declaration.pos,
        frame.exits,
    )  # fmt: skip


def _is_plain_type(type_: t.Type) -> bool:
    base = t.strip_type(type_)
    return (
        isinstance(base, t.Bit) or base in (t.BOOL, t.ERROR) or isinstance(base, t.Enum | t.Struct | t.Varbit)
    )


def make_function(
    declaration: tree.Function, types: tuple[t.Type, ...], scope: Scope, pos: Pos
) -> ir.Function:
    """Return the function for these type arguments, checked once."""
    unit = scope.unit
    key = (id(declaration), types)
    if key in unit.functions:
        return unit.functions[key]
    signature = declaration.signature
    if unit.depth > MAX_DEPTH:
        raise Refused(pos, signature.name, "functions must not be recursive")
    outer = scope.inner()
    for param, type_ in zip(signature.type_params, types, strict=True):
        outer.declare(param, type_, declaration.pos)
    result = resolve_type(signature.result, outer) if signature.result else t.VOID
    frame = Frame("function", result=result)
    inner = outer.inner(frame)
    params = declare_params(signature.params, inner)
    unit.depth += 1
    body = check_block(declaration.body, inner)
    unit.depth -= 1
    if result != t.VOID and not ends_always(body):
        raise Refused(declaration.pos, signature.name, "does not return a value on every path")
    made = ir.Function(unit.unique(signature.name), params, result, body, frame.exits)
    unit.functions[key] = made
    return made
