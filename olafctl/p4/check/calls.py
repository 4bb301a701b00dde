"""Calls: of functions, actions, methods, tables, parsers and controls."""

from olafctl.p4 import ir
from olafctl.p4 import types as t
from olafctl.p4.check.arguments import bind, pair
from olafctl.p4.check.expressions import check, constant_int, writable
from olafctl.p4.check.scope import (
    ActionName,
    BlockName,
    Frame,
    Functions,
    InstanceName,
    OpenAction,
    Scope,
    TableName,
    TypeName,
)
from olafctl.p4.check.typing import resolve
from olafctl.p4.refuse import Refused
from olafctl.p4.syntax import tree

_SIZES = ("minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes")


def call(node: tree.Call, scope: Scope, want: t.Type = t.ANY) -> ir.Expr:
    """A call and its result's type.

    Raises Refused where the arguments do not fit, or the call is not allowed in this place.
    """
    callee = node.callee
    if isinstance(callee, tree.Member):
        return _method(node, callee, scope)
    if not isinstance(callee, tree.Name):
        raise Refused(node.pos, "call", "not something that can be called")
    entity = scope.look_up(callee.name, callee.pos, callee.top_level)
    match entity:
        case Functions(overloads=overloads):
            return _function(node, callee.name, overloads, scope)
        case ActionName(action=action):
            return _action(node, action, scope)
        case OpenAction(declaration=declaration):
            return _action(node, local_action(declaration, scope, node), scope)
    raise Refused(node.pos, callee.name, "cannot be called")


def local_action(declaration: tree.Action, scope: Scope, node: tree.Node) -> ir.Action:
    """This control's own copy of an action declared outside of any control."""
    from olafctl.p4.check.actions import make_action  # the two need each other

    block = scope.frame.block
    if block is None:
        raise Refused(node.pos, declaration.name, "actions can be called from controls only")
    for action in block.actions:
        if action.pos == declaration.pos:
            return action
    action = make_action(declaration, scope.top(), "", block)
    block.actions.append(action)
    return action


def _fits(params: tuple[tree.Parameter, ...], node: tree.Call) -> bool:
    names = {arg.name for arg in node.args if arg.name}
    needed = sum(p.default is None and not any(a.name == "optional" for a in p.annotations) for p in params)
    return needed <= len(node.args) <= len(params) and names <= {p.name for p in params}


def _function(node: tree.Call, name: str, overloads: tuple[tree.Function | tree.ExternFunction, ...],
              scope: Scope) -> ir.Expr:  # fmt: skip
    fitting = [o for o in overloads if _fits(o.signature.params, node)]
    if len(fitting) != 1:
        why = (
            "no such number or names of arguments" if not fitting else "several functions fit these arguments"
        )
        raise Refused(node.pos, name, why)
    chosen = fitting[0]
    signature = chosen.signature
    owner = f"{name}@{signature.pos}"
    inner, variables = _open_signature(signature, owner, scope.top())
    bindings = _given(node, signature.type_params, variables, scope)
    formals = [resolve(p.type, inner) for p in signature.params]
    args = bind(pair(signature.params, node.args, name, node.pos), formals, bindings, scope, node.pos)
    result = t.substitute(resolve(signature.result, inner) if signature.result else t.VOID, bindings)
    types = tuple(bindings.get(v, t.ANY) for v in variables)
    if isinstance(chosen, tree.ExternFunction):
        return _extern_function(node, name, types, args, result, scope)
    from olafctl.p4.check.actions import make_function

    function = make_function(chosen, types, scope.top(), node)
    scope.frame.exits = scope.frame.exits or function.exits
    return ir.Call(function.result, function, args)


def _open_signature(signature: tree.Signature, owner: str, scope: Scope) -> tuple[Scope, list[t.Variable]]:
    inner = scope.inner()
    variables = [t.Variable(param, owner) for param in signature.type_params]
    for variable in variables:
        inner.declare(variable.name, TypeName(variable), signature.pos)
    return inner, variables


def _given(node: tree.Call, params: tuple[str, ...], variables: list[t.Variable],
           scope: Scope) -> dict[t.Variable, t.Type]:  # fmt: skip
    if node.type_args and len(node.type_args) != len(params):
        raise Refused(node.pos, "type arguments", f"{len(node.type_args)} given for {len(params)}")
    given = (resolve(arg, scope) for arg in node.type_args)
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
    return ir.ExternCall(result, "", name, None, types, args, node.pos)


def _action(node: tree.Call, action: ir.Action, scope: Scope) -> ir.Expr:
    if node.type_args:
        raise Refused(node.pos, action.name, "actions have no type parameters")
    if scope.frame.kind not in ("control", "action"):
        raise Refused(node.pos, action.name, "actions can be called from controls only")
    named = {arg.name: arg for arg in node.args if arg.name}
    if len(node.args) > len(action.params) or (named and len(named) != len(node.args)):
        raise Refused(
            node.pos, action.name, f"{len(node.args)} arguments for {len(action.params)} parameters"
        )
    args = []
    for at, param in enumerate(action.params):
        arg = named.get(param.name) if named else (node.args[at] if at < len(node.args) else None)
        if arg is None and param.default is not None:
            args.append(ir.Arg("in", check(param.default, scope.top(), param.type), param.type))
            continue
        if arg is None or arg.value is None:
            raise Refused(node.pos, action.name, f"no argument for {param.name}")
        if param.direction in ("out", "inout"):
            value = writable(arg.value, scope)
            if value.type != param.type:
                raise Refused(arg.pos, param.name, f"is {param.type}, the argument {value.type}")
        else:
            value = check(arg.value, scope, param.type)
        args.append(ir.Arg(param.direction or "in", value, param.type))
    scope.frame.exits = scope.frame.exits or action.exits
    scope.frame.reads_meter = scope.frame.reads_meter or action.reads_meter
    return ir.Call(t.VOID, action, tuple(args))


def _method(node: tree.Call, callee: tree.Member, scope: Scope) -> ir.Expr:
    if isinstance(callee.base, tree.Name):
        name = callee.base
        entity = scope.look_up(name.name, name.pos, name.top_level) if name.name != "error" else None
        match entity:
            case TableName(table=table):
                return _apply_table(node, table, callee.name, scope)
            case InstanceName(instance=ir.Block() as block):
                return _apply(node, block, callee.name, scope)
            case InstanceName(instance=ir.Instance() as instance):
                return _extern_method(node, callee.name, instance.type, instance, scope)
            case BlockName(declaration=declaration):
                from olafctl.p4.check.blocks import instantiate

                block = instantiate(declaration, (), scope, declaration.name, (), node.pos)
                return _apply(node, block, callee.name, scope)
            case TypeName(type=type_) if callee.name in _SIZES:
                return _size(type_, node, callee.name)
    base = check(callee.base, scope)
    type_ = t.unwrapped(base.type)
    if isinstance(type_, t.Extern):
        return _extern_method(node, callee.name, type_, None, scope)
    if callee.name in _SIZES and not isinstance(type_, t.Extern):
        return _size(type_, node, callee.name)
    return _built_in(node, callee, base, type_, scope)


def _size(type_: t.Type, node: tree.Call, name: str) -> ir.Expr:
    bits = t.max_width(type_) if name.startswith("max") else _min_width(type_)
    return ir.Const(t.INTEGER, bits if name.endswith("Bits") else (bits + 7) // 8)


def _min_width(type_: t.Type) -> int:
    match t.stripped(type_):
        case t.Varbit():
            return 0
        case t.Struct(kind="header_union", fields=fields):
            return min((_min_width(f) for _, f in fields), default=0)
        case t.Struct(fields=fields):
            return sum(_min_width(f) for _, f in fields)
        case t.Stack(element=element, size=size):
            return _min_width(element) * size
        case other:
            return t.max_width(other)


def _built_in(node: tree.Call, callee: tree.Member, base: ir.Expr, type_: t.Type, scope: Scope) -> ir.Expr:
    name = callee.name
    header, union = t.is_header(type_), t.is_union(type_)
    if name == "isValid" and (header or union) and not node.args:
        return ir.IsValid(t.BOOL, base)
    if name in ("setValid", "setInvalid") and header and not node.args:
        return ir.HeaderCall(t.VOID, name, writable(callee.base, scope), 0, node.pos)
    if name in ("push_front", "pop_front") and isinstance(type_, t.Stack) and len(node.args) == 1:
        arg = node.args[0].value
        count = constant_int(arg, scope, f"{name}'s count") if arg else -1
        if count < 0:
            raise Refused(node.pos, name, "its count must not be negative")
        return ir.HeaderCall(t.VOID, name, writable(callee.base, scope), count, node.pos)
    raise Refused(node.pos, f".{name}()", f"{base.type} has no such method")


def _apply_table(node: tree.Call, table: ir.Table, method: str, scope: Scope) -> ir.Expr:
    if method != "apply" or node.args:
        raise Refused(node.pos, f"{table.name}.{method}", "a table has apply() only")
    if scope.frame.kind != "control":
        raise Refused(node.pos, f"{table.name}.apply()", "only a control's apply block can apply tables")
    scope.frame.exits = scope.frame.exits or table.exits
    table.applied = True
    return ir.TableApply(t.VOID, table, "")


def _apply(node: tree.Call, block: ir.Block, method: str, scope: Scope) -> ir.Expr:
    if method != "apply":
        raise Refused(node.pos, f"{block.name}.{method}", f"a {block.kind} has apply() only")
    place = "state" if block.kind == "parser" else "control"
    if scope.frame.kind != place:
        raise Refused(node.pos, f"{block.name}.apply()", f"a {block.kind} cannot be applied here")
    params = [
        tree.Parameter(node.pos, p.name, p.annotations, p.direction, tree.BaseType(node.pos, "_"), p.default)
        for p in block.params
    ]
    pairs = pair(params, node.args, block.name, node.pos)
    args = bind(pairs, [p.type for p in block.params], {}, scope, node.pos)
    scope.frame.exits = scope.frame.exits or block.exits
    return ir.Apply(t.VOID, block, args)


def _extern_method(node: tree.Call, method: str, type_: t.Extern, instance: ir.Instance | None,
                   scope: Scope) -> ir.Expr:  # fmt: skip
    declaration = type_.declaration
    fitting = [m for m in declaration.methods if m.result and m.name == method and _fits(m.params, node)]
    if len(fitting) != 1:
        raise Refused(node.pos, f"{type_}.{method}", "no such method with these arguments")
    signature = fitting[0]
    outer = scope.top().inner()
    for param, arg in zip(declaration.type_params, type_.args, strict=True):
        outer.declare(param, TypeName(arg), node.pos)
    inner, variables = _open_signature(signature, f"{type_.name}.{method}", outer)
    bindings = _given(node, signature.type_params, variables, scope)
    formals = [resolve(p.type, inner) for p in signature.params]
    pairs = pair(signature.params, node.args, f"{type_}.{method}", node.pos)
    args = bind(pairs, formals, bindings, scope, node.pos)
    assert signature.result is not None
    result = t.substitute(resolve(signature.result, inner), bindings)
    if t.has_variables(result):
        raise Refused(node.pos, f"{type_}.{method}", "its type argument cannot be inferred")
    types = tuple(bindings.get(v, t.ANY) for v in variables)
    _check_place(node, type_, method, scope.frame)
    return ir.ExternCall(result, type_.name, method, instance, types, args, node.pos)


def _check_place(node: tree.Call, type_: t.Extern, method: str, frame: Frame) -> None:
    if type_.name == "packet_in" and frame.kind not in ("parser", "state"):
        raise Refused(node.pos, f"packet_in.{method}", "can be called in parsers only")
    if type_.name == "direct_meter":
        frame.reads_meter = True
