"""Calls, checked: of functions, actions, methods, tables, parsers and controls; constructors of externs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from olafswitch.p4.check.coercion import coerce_to
from olafswitch.p4.check.expressions import as_written, check_expression, check_writable, constant_int
from olafswitch.p4.check.scope import Functions, Scope
from olafswitch.p4.check.typing import resolve_type, unify_types
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.ir.walk import has_effects, pin_indices
from olafswitch.p4.refuse import Pos, Refused
from olafswitch.p4.syntax import tree
from olafswitch.p4.syntax.annotations import find_annotation

_SIZES = ("minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes")
Parameter = tree.Parameter | ir.Parameter
_P = TypeVar("_P", tree.Parameter, ir.Parameter)


@as_written.register
def check_call(node: tree.Call, scope: Scope, _: t.Type = t.ANY) -> ir.Expr:
    """Return a checked call, with its result's type.

    Raises Refused where the arguments do not fit, or the call is not allowed in this place.
    """
    callee = node.callee
    if isinstance(callee, tree.MemberExpression):
        return _call_method(node, callee, scope)
    if not isinstance(callee, tree.Name):
        raise Refused(node.pos, "call", "not something that can be called")
    entity = scope.look_up(callee.name, callee.pos, callee.top_level)
    match entity:
        case Functions(overloads=overloads):
            return _call_function(node, callee.name, overloads, scope)
        case ir.Action():
            return _call_action(node, entity, scope)
        case tree.ActionDeclaration():
            return _call_action(node, local_action(entity, scope, node.pos), scope)
    raise Refused(node.pos, callee.name, "cannot be called")


def _fits_arguments(params: tuple[tree.Parameter, ...], node: tree.Call) -> bool:
    names = {arg.name for arg in node.args if arg.name}
    return sum(map(_is_required, params)) <= len(node.args) <= len(params) and names <= {
        p.name for p in params
    }


def _call_function(node: tree.Call, name: str, overloads: tuple[tree.Function | tree.ExternFunction, ...],
              scope: Scope) -> ir.Expr:  # fmt: skip
    fitting = [o for o in overloads if _fits_arguments(o.signature.params, node)]
    if len(fitting) != 1:
        why = (
            "no such number or names of arguments" if not fitting else "several functions fit these arguments"
        )
        raise Refused(node.pos, name, why)
    chosen = fitting[0]
    signature = chosen.signature
    owner = f"{name}@{signature.pos}"
    inner, variables = _open_signature(signature, owner, scope.top())
    bindings = _bind_type_args(node, signature.type_params, variables, scope)
    formals = [resolve_type(p.type, inner) for p in signature.params]
    if isinstance(chosen, tree.Function):
        formals = [t.EXACT if formal == t.INTEGER else formal for formal in formals]
    args = bind_arguments(signature.params, node, name, formals, bindings, scope)
    result = t.substitute_types(
        resolve_type(signature.result, inner) if signature.result else t.VOID, bindings
    )
    types = tuple(bindings.get(v, t.ANY) for v in variables)
    if isinstance(chosen, tree.ExternFunction):
        return _extern_function(node, name, types, args, result, scope)
    function = scope.unit.on_demand.function(chosen, types, scope.top(), node.pos)
    scope.frame.exits = scope.frame.exits or function.exits
    return ir.Call(function.result, function, args)


def _open_signature(signature: tree.Signature, owner: str, scope: Scope) -> tuple[Scope, list[t.Variable]]:
    inner = scope.inner()
    variables = [t.Variable(param, owner) for param in signature.type_params]
    for variable in variables:
        inner.declare(variable.name, variable, signature.pos)
    return inner, variables


def _bind_type_args(node: tree.Call, params: tuple[str, ...], variables: list[t.Variable],
           scope: Scope) -> dict[t.Variable, t.Type]:  # fmt: skip
    if node.type_args and len(node.type_args) != len(params):
        raise Refused(node.pos, "type arguments", f"{len(node.type_args)} given for {len(params)}")
    given = (resolve_type(arg, scope) for arg in node.type_args)
    return {v: type_ for v, type_ in zip(variables, given, strict=False) if type_ != t.ANY}


def _extern_function(node: tree.Call, name: str, types: tuple[t.Type, ...], args: tuple[ir.Arg, ...],
                     result: t.Type, scope: Scope) -> ir.Expr:  # fmt: skip
    if name == "static_assert":
        condition = args[0].value
        if not isinstance(condition, ir.Const):
            raise Refused(node.pos, name, "its condition must be known at compile time")
        if not condition.value:
            message = args[1].value if len(args) > 1 else None
            raise Refused(node.pos, name, str(message.value) if isinstance(message, ir.Const) else "is false")
        return condition
    if name == "verify" and scope.frame.kind not in ("parser", "state"):
        raise Refused(node.pos, name, "can be called in parsers only")
    return _order_operands(ir.ExternCall(result, "", name, None, types, args, node.pos), scope)


def _call_action(node: tree.Call, action: ir.Action, scope: Scope) -> ir.Expr:
    if node.type_args:
        raise Refused(node.pos, action.name, "actions have no type parameters")
    if scope.frame.kind not in ("control", "action"):
        raise Refused(node.pos, action.name, "actions can be called from controls only")
    args = bind_to(action.params, node, action.name, scope)
    scope.frame.exits = scope.frame.exits or action.exits
    return ir.Call(t.VOID, action, args)


def _call_method(node: tree.Call, callee: tree.MemberExpression, scope: Scope) -> ir.Expr:
    if isinstance(callee.base, tree.Name):
        name = callee.base
        entity = scope.look_up(name.name, name.pos, name.top_level) if name.name != "error" else None
        match entity:
            case ir.Table():
                return _apply_table(node, entity, callee.name, scope)
            case ir.Block():
                return _apply_block(node, entity, callee.name, scope)
            case ir.Instance():
                return _extern_method(node, callee.name, entity.type, entity, scope)
            case tree.Parser() | tree.Control():
                block = scope.unit.on_demand.block(entity, scope, node.pos)
                return _apply_block(node, block, callee.name, scope)
        if isinstance(entity, t.Type) and callee.name in _SIZES:
            return _constant_size(entity, callee.name)
    base = check_expression(callee.base, scope)
    type_ = t.unwrap_type(base.type)
    if isinstance(type_, t.Extern):
        return _extern_method(node, callee.name, type_, None, scope)
    if callee.name in _SIZES and not isinstance(type_, t.Extern):
        return _constant_size(type_, callee.name)
    return _built_in(node, callee, base, type_, scope)


def _constant_size(type_: t.Type, name: str) -> ir.Expr:
    bits = t.max_width(type_) if name.startswith("max") else t.min_width(type_)
    return ir.Const(t.INTEGER, bits if name.endswith("Bits") else (bits + 7) // 8)


def _built_in(
    node: tree.Call, callee: tree.MemberExpression, base: ir.Expr, type_: t.Type, scope: Scope
) -> ir.Expr:
    name = callee.name
    header, union = t.is_header(type_), t.is_union(type_)
    if name == "isValid" and (header or union) and not node.args:
        return ir.IsValid(t.BOOL, base)
    if name in ("setValid", "setInvalid") and header and not node.args:
        return ir.HeaderCall(t.VOID, name, check_writable(callee.base, scope), 0, node.pos)
    if name in ("push_front", "pop_front") and isinstance(type_, t.Stack) and len(node.args) == 1:
        arg = node.args[0].value
        count = constant_int(arg, scope, f"{name}'s count") if arg else -1
        if count < 0:
            raise Refused(node.pos, name, "its count must not be negative")
        return ir.HeaderCall(t.VOID, name, check_writable(callee.base, scope), count, node.pos)
    raise Refused(node.pos, f".{name}()", f"{base.type} has no such method")


def _apply_table(node: tree.Call, table: ir.Table, method: str, scope: Scope) -> ir.Expr:
    if method != "apply" or node.args:
        raise Refused(node.pos, f"{table.name}.{method}", "a table has apply() only")
    if scope.frame.kind != "control":
        raise Refused(node.pos, f"{table.name}.apply()", "only a control's apply block can apply tables")
    scope.frame.exits = scope.frame.exits or table.exits
    table.applied = True
    return ir.TableApply(t.VOID, table, "")


def _apply_block(node: tree.Call, block: ir.Block, method: str, scope: Scope) -> ir.Expr:
    if method != "apply":
        raise Refused(node.pos, f"{block.name}.{method}", f"a {block.kind} has apply() only")
    place = "state" if block.kind == "parser" else "control"
    if scope.frame.kind != place:
        raise Refused(node.pos, f"{block.name}.apply()", f"a {block.kind} cannot be applied here")
    args = bind_to(block.params, node, block.name, scope)
    scope.frame.exits = scope.frame.exits or block.exits
    return ir.Apply(t.VOID, block, args)


def _extern_method(node: tree.Call, method: str, type_: t.Extern, instance: ir.Instance | None,
                   scope: Scope) -> ir.Expr:  # fmt: skip
    declaration = type_.declaration
    fitting = [
        m for m in declaration.methods if m.result and m.name == method and _fits_arguments(m.params, node)
    ]
    if len(fitting) != 1:
        raise Refused(node.pos, f"{type_}.{method}", "no such method with these arguments")
    signature = fitting[0]
    outer = scope.top().inner()
    for param, arg in zip(declaration.type_params, type_.args, strict=True):
        outer.declare(param, arg, node.pos)
    inner, variables = _open_signature(signature, f"{type_.name}.{method}", outer)
    bindings = _bind_type_args(node, signature.type_params, variables, scope)
    formals = [resolve_type(p.type, inner) for p in signature.params]
    args = bind_arguments(signature.params, node, f"{type_}.{method}", formals, bindings, scope)
    assert signature.result is not None
    result = t.substitute_types(resolve_type(signature.result, inner), bindings)
    if t.has_variables(result):
        raise Refused(node.pos, f"{type_}.{method}", "its type argument cannot be inferred")
    types = tuple(bindings.get(v, t.ANY) for v in variables)
    if type_.name == "packet_in" and scope.frame.kind not in ("parser", "state"):
        raise Refused(node.pos, f"packet_in.{method}", "can be called in parsers only")
    return _order_operands(ir.ExternCall(result, type_.name, method, instance, types, args, node.pos), scope)


def _order_operands(made: ir.ExternCall, scope: Scope) -> ir.Expr:
    """Return the call with operands that have effects in temporaries, so that their order is fixed."""
    if not any(has_effects(arg.value) for arg in made.args) or len(made.args) < 2:
        return made
    before: list[ir.Declare] = []

    def keep(value: ir.Expr) -> ir.Expr:
        if isinstance(value, ir.Make):
            parts = {at: keep(value.parts[at]) for at in value.order or range(len(value.parts))}
            return ir.Make(value.type, tuple(parts[at] for at in range(len(parts))))
        if isinstance(value, ir.Const | ir.Default):
            return value
        local = ir.Local(value.type, scope.unit.unique("operand"))
        before.append(ir.Declare(local, value))
        return local

    args = list(made.args)
    for at in sorted(range(len(args)), key=lambda at: args[at].turn):
        if (value := args[at].value) is not None:
            written = args[at].direction in ("out", "inout")
            args[at] = replace(args[at], value=pin_indices(value, keep) if written else keep(value))
    return ir.Let(made.type, tuple(before), replace(made, args=tuple(args))) if before else made


def local_action(declaration: tree.ActionDeclaration, scope: Scope, pos: Pos) -> ir.Action:
    """Return the enclosing control's own copy of an action declared outside of any control."""
    block = scope.frame.block
    if block is None:
        raise Refused(pos, declaration.name, "actions can be called from controls only")
    for action in block.actions:
        if action.pos == declaration.pos:
            return action
    return scope.unit.on_demand.action(declaration, scope, block)


def _is_required(param: Parameter) -> bool:
    """Return whether the parameter must have an argument."""
    return param.default is None and not find_annotation(param.annotations, "optional")


def pair_arguments(
    params: Sequence[_P], args: Sequence[tree.Argument], what: str, pos: Pos
) -> list[tuple[_P, tree.Argument | None]]:
    """Return each parameter with its argument; None where the default is used.

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
        if arg is None and _is_required(param):
            raise Refused(pos, what, f"no argument for {param.name}")
        pairs.append((param, arg))
    return pairs


def bind_to(params: Sequence[ir.Parameter], node: tree.Call, what: str, scope: Scope) -> tuple[ir.Arg, ...]:
    """Return the checked arguments of an action, a parser or a control. Raises Refused."""
    return bind_arguments(params, node, what, [param.type for param in params], {}, scope)


def bind_arguments(
    params: Sequence[_P],
    node: tree.Call,
    what: str,
    formals: Sequence[t.Type],
    bindings: dict[t.Variable, t.Type],
    scope: Scope,
) -> tuple[ir.Arg, ...]:
    """Return the checked arguments in the parameters' order; ``bindings`` gets the type parameters.

    Raises Refused where an argument has the wrong type or cannot be written.
    """
    pairs = pair_arguments(params, node.args, what, node.pos)
    checked: list[ir.Expr | None] = []
    for (param, arg), formal in zip(pairs, formals, strict=True):
        value = _check_argument(param, arg, t.substitute_types(formal, bindings), scope)
        checked.append(value)
        if value is not None:
            unify_types(formal, value.type, bindings)
    bound = []
    for (param, arg), formal, value in zip(pairs, formals, checked, strict=True):
        type_ = t.substitute_types(formal, bindings)
        where = arg.pos if arg else node.pos
        if value is None:
            if param.direction != "out":
                raise Refused(where, param.name, "_ stands only for an out parameter")
        elif param.direction in ("out", "inout"):
            if value.type != type_:
                raise Refused(where, param.name, f"is {type_}, the argument {value.type}")
        else:
            value = coerce_to(value, type_, where)
        turn = node.args.index(arg) if arg else len(node.args)
        bound.append(ir.Arg(param.direction or "in", value, type_, turn))
    return tuple(bound)


def _check_argument(
    param: Parameter, arg: tree.Argument | None, formal: t.Type, scope: Scope
) -> ir.Expr | None:
    if arg is None:
        assert param.default is not None
        return check_expression(param.default, scope.top())
    if arg.value is None:
        return None
    if param.direction in ("out", "inout"):
        return check_writable(arg.value, scope)
    return check_expression(arg.value, scope, t.ANY if t.has_variables(formal) else formal)


# --- extern objects -----------------------------------------------------------------------------------


def make_instance(
    type_: t.Extern, args: tuple[tree.Argument, ...], scope: Scope, name: str,
    annotations: tree.Annotations, pos: Pos,
) -> ir.Instance:  # fmt: skip
    """Return an extern object with constant constructor arguments.

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
    for param, argument in pair_arguments(fitting[0].params, args, type_.name, pos):
        if argument is None or argument.value is None:
            raise Refused(pos, type_.name, f"no argument for {param.name}")
        value = check_expression(argument.value, scope, resolve_type(param.type, outer))
        if not isinstance(value, ir.Const):
            raise Refused(argument.pos, param.name, "must be known at compile time")
        values[param.name] = value
    made = ir.Instance(name, scope.unit.unique(name), type_, values, annotations, pos)
    scope.unit.instances.append(made)
    return made


def _check_register(type_: t.Extern, pos: Pos) -> None:
    base = t.strip_type(type_.args[0])
    if not (isinstance(base, t.Bit | t.Enum) or base in (t.BOOL, t.ERROR)):
        why = "its cells can be bits, bool, an enumeration or error; use one register for each field"
        raise Refused(pos, str(type_), why)
