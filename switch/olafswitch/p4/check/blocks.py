"""Parsers and controls, one ir.Block for each instance."""

from collections.abc import Mapping

from olafswitch.p4.check.actions import declare_params, make_action
from olafswitch.p4.check.calls import make_instance, pair_arguments
from olafswitch.p4.check.expressions import check_expression
from olafswitch.p4.check.parsers import declare_value_set, make_states
from olafswitch.p4.check.scope import Frame, Scope, Value
from olafswitch.p4.check.statements import check_block, declare_constant, declare_variable, is_constant
from olafswitch.p4.check.tables import make_table
from olafswitch.p4.check.typing import resolve_type
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Pos, Refused
from olafswitch.p4.syntax import tree
from olafswitch.p4.syntax.annotations import control_plane_name

MAX_DEPTH = 32
"""The most nested blocks; more are assumed to be a block that contains itself."""
Argument = ir.Instance | ir.Block | Value
"""The meaning of a constructor's parameter."""


def instantiate_block(
    declaration: tree.Parser | tree.Control, args: tuple[tree.Argument, ...] | Mapping[str, Argument],
    scope: Scope, name: str, annotations: tree.Annotations, pos: Pos, path: str | None = None,
) -> ir.Block:  # fmt: skip
    """Return an instance of a parser or control; ``args`` are as written, or meanings by name.

    Raises Refused where its constructor's arguments or its body do not fit.
    """
    unit = scope.unit
    if unit.depth > MAX_DEPTH:
        raise Refused(pos, declaration.name, "contains itself")
    if declaration.type_params:
        raise Refused(declaration.pos, declaration.name, "a parser or control cannot have type parameters")
    kind = "parser" if isinstance(declaration, tree.Parser) else "control"
    full = control_plane_name(name, scope.frame.path if path is None else path, annotations)
    block = ir.Block(kind, full, unit.unique(declaration.name), (), pos=declaration.pos)
    frame = Frame(kind, full, block)
    inner = scope.top().inner(frame)
    if isinstance(args, tuple):
        args = _bind_constructor(declaration, args, scope, inner, pos)
    for param in declaration.constructor:
        inner.declare(param.name, args[param.name], param.pos)
    block.params = declare_params(declaration.params, inner)
    unit.depth += 1
    local = inner.inner()
    for item in declaration.locals:
        _declare_local(item, local, block, frame)
    if isinstance(declaration, tree.Control):
        block.body = check_block(declaration.body, local)
    else:
        block.states = make_states(declaration, local.inner(Frame("state", full, block)))
    unit.depth -= 1
    block.exits = frame.exits
    unit.blocks.append(block)
    return block


def _bind_constructor(
    declaration: tree.Parser | tree.Control,
    args: tuple[tree.Argument, ...],
    scope: Scope,
    inner: Scope,
    pos: Pos,
) -> dict[str, Argument]:
    given: dict[str, Argument] = {}
    for param, arg in pair_arguments(declaration.constructor, args, declaration.name, pos):
        node = arg.value if arg else param.default
        type_ = resolve_type(param.type, inner)
        if node is None:
            raise Refused(pos, declaration.name, f"no argument for {param.name}")
        if isinstance(type_, t.Extern | t.BlockType):
            given[param.name] = object_argument(node, scope, param.name)
            continue
        value = check_expression(node, scope, type_)
        if not is_constant(value):
            raise Refused(node.pos, param.name, "must be known at compile time")
        given[param.name] = Value(value, False, "is a constructor's parameter")
    return given


def object_argument(
    node: tree.Expr, scope: Scope, name: str, path: str | None = None, of_package: bool = False
) -> ir.Instance | ir.Block:
    """Return the extern object, parser or control that a constructor's argument names or makes."""
    if isinstance(node, tree.Name):
        entity = scope.look_up(node.name, node.pos, node.top_level)
        if isinstance(entity, ir.Instance | ir.Block):
            return entity
    if isinstance(node, tree.Call) and isinstance(node.callee, tree.Name):
        made = _made_in_place(node, node.callee, scope, name, path, of_package)
        if made is not None:
            if scope.frame.block is not None:
                scope.frame.block.locals.append(made)
            return made
    raise Refused(node.pos, name, "an instance is needed here")


def _made_in_place(
    node: tree.Call, callee: tree.Name, scope: Scope, name: str, path: str | None, of_package: bool
) -> ir.Instance | ir.Block | None:
    entity = scope.look_up(callee.name, callee.pos)
    if isinstance(entity, tree.Parser | tree.Control):
        own = entity.name if of_package else name
        return instantiate_block(entity, node.args, scope, own, (), node.pos, path)
    base = tree.NamedType(callee.pos, callee.name)
    type_ = resolve_type(tree.Specialized(node.pos, base, node.type_args) if node.type_args else base, scope)
    if isinstance(type_, t.Extern):
        full = control_plane_name(name, scope.frame.path, ())
        return make_instance(type_, node.args, scope, full, (), node.pos)
    return None


def _declare_local(item: tree.Declared, scope: Scope, block: ir.Block, frame: Frame) -> None:
    match item:
        case tree.Constant():
            declare_constant(item, scope)
        case tree.Variable():
            block.variables.append(declare_variable(item, scope))
        case tree.ActionDeclaration():
            block.actions.append(action := make_action(item, scope, frame.path, block))
            block.locals.append(action)
            scope.declare(item.name, action, item.pos)
        case tree.Table():
            block.tables.append(table := make_table(item, scope, frame.path, block))
            block.locals.append(table)
            scope.declare(item.name, table, item.pos)
        case tree.Instance():
            block.locals.append(instance := make_local_instance(item, scope))
            scope.declare(item.name, instance, item.pos)
        case tree.ValueSet():
            block.locals.append(declare_value_set(item, scope))
        case _:
            raise Refused(item.pos, item.name, "cannot be declared here")


def make_local_instance(item: tree.Instance, scope: Scope) -> ir.Instance | ir.Block:
    """Return the instance that ``Type(args) name;`` declares in a block or at top level."""
    if item.initializer is not None:
        raise Refused(item.pos, f"instance {item.name}", "an initializer is not supported")
    type_ = resolve_type(item.type, scope)
    if isinstance(type_, t.Extern):
        name = control_plane_name(item.name, scope.frame.path, item.annotations)
        return make_instance(type_, item.args, scope, name, item.annotations, item.pos)
    if isinstance(type_, t.BlockType) and isinstance(type_.declaration, tree.Parser | tree.Control):
        return instantiate_block(type_.declaration, item.args, scope, item.name, item.annotations, item.pos)
    raise Refused(item.pos, f"instance {item.name}", f"{type_} cannot be instantiated")
