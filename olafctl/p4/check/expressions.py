"""Expressions and calls, checked. Each contains the other, so they are one file."""

from collections.abc import Sequence

from olafctl.p4.check import constants, operators, parts
from olafctl.p4.check.arguments import pair
from olafctl.p4.check.coercion import cast, coerce, initial
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
    Value,
)
from olafctl.p4.check.typing import resolve, unify
from olafctl.p4.ir import nodes as ir
from olafctl.p4.ir import types as t
from olafctl.p4.refuse import Pos, Refused
from olafctl.p4.syntax import tree

_SIZES = ("minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes")


def check(node: tree.Expr, scope: Scope, want: t.Type = t.ANY) -> ir.Expr:
    """The expression with its type, converted to ``want`` where that is given.

    Raises Refused where it does not fit the language, or needs what Olaf does not support.
    """
    return coerce(_check(node, scope, want), want, node.pos)


def check_initial(node: tree.Expr, scope: Scope, want: t.Type) -> ir.Expr:
    """As :func:`check`, for the value of a declaration or assignment."""
    return initial(_check(node, scope, want), want, node.pos)


def constant_int(node: tree.Expr, scope: Scope, what: str) -> int:
    """A number known at compile time; raises Refused otherwise."""
    expr = check(node, scope)
    if not isinstance(expr, ir.Const) or isinstance(expr.value, str):
        raise Refused(node.pos, what, "must be known at compile time")
    return constants.signed(int(expr.value), expr.type)


def _check(node: tree.Expr, scope: Scope, want: t.Type) -> ir.Expr:
    match node:
        case tree.Number():
            if node.width is None:
                return ir.Const(t.INTEGER, node.value)
            type_ = t.Bit(node.width, node.signed)
            return ir.Const(type_, node.value & ((1 << node.width) - 1))
        case tree.String():
            return ir.Const(t.STRING, node.value)
        case tree.Boolean():
            return ir.Const(t.BOOL, node.value)
        case tree.Name():
            return _name(node, scope)
        case tree.Member():
            return _member(node, scope)
        case tree.Index():
            return _index(node, scope)
        case tree.Slice():
            return _slice(node, scope)
        case tree.Unary():
            return operators.unary(node.op, check(node.operand, scope), node.pos)
        case tree.Binary():
            return operators.binary(node.op, check(node.left, scope), check(node.right, scope), node.pos)
        case tree.Mux():
            return _mux(node, scope, want)
        case tree.Cast():
            wanted = resolve(node.type, scope)
            return cast(_check(node.operand, scope, wanted), wanted, node.pos)
        case tree.Call():
            return call(node, scope, want)
        case tree.ListOf():
            parts = tuple(_check(item, scope, t.ANY) for item in node.items)
            return ir.Make(t.Tuple(tuple(part.type for part in parts)), parts)
        case tree.Fields():
            return _fields(node, scope)
        case tree.InvalidHeader():
            return ir.Default(t.INVALID)
        case tree.Dots():
            return ir.Default(t.DOTS)
    raise Refused(node.pos, "expression", "not allowed here")


def _fields(node: tree.Fields, scope: Scope) -> ir.Expr:
    names = [name for name, _ in node.items]
    for name in names:
        if names.count(name) > 1:
            raise Refused(node.pos, "struct expression", f"{name} is given twice")
    parts = [_check(value, scope, t.ANY) for _, value in node.items]
    types = tuple(part.type for part in parts)
    if node.rest:
        parts.append(ir.Default(t.DOTS))
        types = (*types, t.DOTS)
    return ir.Make(t.Tuple(types, tuple(names)), tuple(parts))


def _name(node: tree.Name, scope: Scope) -> ir.Expr:
    entity = scope.look_up(node.name, node.pos, node.top_level)
    if isinstance(entity, Value):
        return entity.expr
    if isinstance(entity, InstanceName):
        raise Refused(
            node.pos,
            node.name,
            "an instance is not a value; extern objects can be given to constructors only",
        )
    raise Refused(node.pos, node.name, "not a value")


def _member(node: tree.Member, scope: Scope) -> ir.Expr:
    if isinstance(node.base, tree.Name):
        if node.base.name == "error" and scope.find("error") is None:
            if node.name not in scope.unit.declared_errors:
                raise Refused(node.pos, f"error.{node.name}", "not declared")
            return ir.Const(t.ERROR, scope.unit.errors.index(node.name))
        entity = scope.look_up(node.base.name, node.base.pos, node.base.top_level)
        if isinstance(entity, TypeName):
            return parts.enumerator(entity.type, node)
        if isinstance(entity, InstanceName):
            raise Refused(node.pos, node.name, "not a value")
    base = _check(node.base, scope, t.ANY)
    type_ = t.unwrapped(base.type)
    if isinstance(base, ir.TableApply):
        return parts.table_result(base, node)
    if isinstance(type_, t.Struct):
        field = type_.field(node.name)
        if field is None:
            raise Refused(node.pos, f"{type_}.{node.name}", "no such field")
        return parts.struct_field(base, type_, node.name, field)
    if isinstance(type_, t.Tuple) and type_.names is not None and node.name in type_.names:
        at = type_.names.index(node.name)
        return (
            base.parts[at]
            if isinstance(base, ir.Make)
            else ir.Element(type_.items[at], base, ir.Const(t.INTEGER, at))
        )
    if isinstance(type_, t.Stack):
        return parts.stack_part(base, type_, node, scope)
    raise Refused(node.pos, f".{node.name}", f"{base.type} has no such member")


def _index(node: tree.Index, scope: Scope) -> ir.Expr:
    base = _check(node.base, scope, t.ANY)
    index = check(node.index, scope)
    type_ = t.unwrapped(base.type)
    if isinstance(index.type, t.Enum) and index.type.underlying is not None:
        index = coerce(index, index.type.underlying, node.pos)
    known = int(index.value) if isinstance(index, ir.Const) else None
    size = type_.size if isinstance(type_, t.Stack) else len(getattr(type_, "items", ()))
    if isinstance(type_, t.Bit):
        if known is None:
            raise Refused(node.pos, "bit index", "must be known at compile time")
        return parts.bit_slice(base, known, known, node.pos)
    if not isinstance(type_, t.Stack | t.Tuple):
        raise Refused(node.pos, "index", f"{base.type} has no elements")
    if known is not None and not 0 <= known < size:
        raise Refused(node.pos, "index", f"{known} is outside of {base.type}")
    if isinstance(type_, t.Tuple):
        if known is None:
            raise Refused(node.pos, "tuple index", "must be known at compile time")
        if isinstance(base, ir.Make):
            return base.parts[known]
        return ir.Element(type_.items[known], base, index)
    if not (isinstance(index.type, t.Bit) or index.type == t.INTEGER):
        raise Refused(node.pos, "index", f"must be a number, not {index.type}")
    return ir.Element(type_.element, base, index)


def _slice(node: tree.Slice, scope: Scope) -> ir.Expr:
    base = operators.as_number(_check(node.base, scope, t.ANY))
    low = constant_or_none(node.low, scope)
    high = constant_or_none(node.high, scope)
    if not node.width:
        if high is None or low is None:
            raise Refused(node.pos, "slice", "its bounds must be known at compile time")
        return parts.bit_slice(base, high, low, node.pos)
    if low is None or low < 1:
        raise Refused(node.pos, "slice", "its width must be known at compile time, and positive")
    if high is not None:
        return parts.bit_slice(base, high + low - 1, high, node.pos)
    start = check(node.high, scope)
    if not (isinstance(t.stripped(base.type), t.Bit) and isinstance(start.type, t.Bit)) or start.type.signed:
        raise Refused(node.pos, "slice", "needs bits, and an unsigned start")
    return ir.WindowSlice(t.Bit(low), base, start)


def constant_or_none(node: tree.Expr, scope: Scope) -> int | None:
    """The number when it is known at compile time."""
    expr = check(node, scope)
    return int(expr.value) if isinstance(expr, ir.Const) and not isinstance(expr.value, str) else None


def _mux(node: tree.Mux, scope: Scope, want: t.Type) -> ir.Expr:
    condition = check(node.condition, scope, t.BOOL)
    yes, no = _check(node.yes, scope, want), _check(node.no, scope, want)
    if want != t.ANY:
        yes, no = coerce(yes, want, node.yes.pos), coerce(no, want, node.no.pos)
    elif yes.type != no.type:
        if yes.type in (t.INTEGER, t.INVALID, t.DOTS) or isinstance(yes.type, t.Tuple):
            yes = coerce(yes, no.type, node.yes.pos)
        else:
            no = coerce(no, yes.type, node.no.pos)
    if isinstance(condition, ir.Const):
        return yes if condition.value else no
    if yes.type == t.INTEGER:
        raise Refused(node.pos, "?:", "the width of its result is not known")
    return ir.Mux(yes.type, condition, yes, no)


def writable(node: tree.Expr, scope: Scope) -> ir.Expr:
    """An expression that can be assigned to.

    Raises Refused when it cannot, with the reason.
    """
    root: tree.Expr = node
    while isinstance(root, tree.Member | tree.Index | tree.Slice):
        root = root.base
    if not isinstance(root, tree.Name):
        raise Refused(node.pos, "assignment", "the target is not a variable")
    entity = scope.look_up(root.name, root.pos, root.top_level)
    if not isinstance(entity, Value) or not isinstance(entity.expr, ir.Local):
        raise Refused(node.pos, root.name, "is not a variable")
    if not entity.writable:
        raise Refused(node.pos, root.name, entity.why or "cannot be written")
    expr = _check(node, scope, t.ANY)
    if isinstance(expr, ir.StackPart) and expr.part == "lastIndex":
        raise Refused(node.pos, ".lastIndex", "cannot be written")
    return expr


# --- calls -------------------------------------------------------------------------------------------


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
            return _action(node, local_action(declaration, scope, node.pos), scope)
    raise Refused(node.pos, callee.name, "cannot be called")


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
    function = scope.unit.on_demand.function(chosen, types, scope.top(), node.pos)
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
                block = scope.unit.on_demand.block(declaration, scope, node.pos)
                return _apply(node, block, callee.name, scope)
            case TypeName(type=type_) if callee.name in _SIZES:
                return _size(type_, callee.name)
    base = check(callee.base, scope)
    type_ = t.unwrapped(base.type)
    if isinstance(type_, t.Extern):
        return _extern_method(node, callee.name, type_, None, scope)
    if callee.name in _SIZES and not isinstance(type_, t.Extern):
        return _size(type_, callee.name)
    return _built_in(node, callee, base, type_, scope)


def _size(type_: t.Type, name: str) -> ir.Expr:
    bits = t.max_width(type_) if name.startswith("max") else t.min_width(type_)
    return ir.Const(t.INTEGER, bits if name.endswith("Bits") else (bits + 7) // 8)


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


def local_action(declaration: tree.Action, scope: Scope, pos: Pos) -> ir.Action:
    """The enclosing control's own copy of an action declared outside of any control."""
    block = scope.frame.block
    if block is None:
        raise Refused(pos, declaration.name, "actions can be called from controls only")
    for action in block.actions:
        if action.pos == declaration.pos:
            return action
    return scope.unit.on_demand.action(declaration, scope, block)


# --- arguments ---------------------------------------------------------------------------------------


def bind(
    pairs: list[tuple[tree.Parameter, tree.Argument | None]],
    formals: Sequence[t.Type],
    bindings: dict[t.Variable, t.Type],
    scope: Scope,
    pos: Pos,
) -> tuple[ir.Arg, ...]:
    """The checked arguments, in the parameters' order; ``bindings`` gets the type parameters.

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
