"""Check expressions; ``calls`` checks calls, which contain expressions and are contained in them."""

from functools import singledispatch

from olafswitch.p4.check import constants, operators
from olafswitch.p4.check.coercion import cast_to, coerce_initial, coerce_to
from olafswitch.p4.check.scope import Scope, Value
from olafswitch.p4.check.typing import resolve_type
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.ir.walk import has_effects
from olafswitch.p4.refuse import Pos, Refused
from olafswitch.p4.syntax import tree


def check_expression(node: tree.Expr, scope: Scope, want: t.Type = t.ANY) -> ir.Expr:
    """Return the expression with its type, converted to ``want`` where that is given.

    Raises Refused where it does not fit the language, or needs what Olaf does not support.
    """
    return coerce_to(as_written(node, scope, want), want, node.pos)


def check_initial(node: tree.Expr, scope: Scope, want: t.Type) -> ir.Expr:
    """Return the expression as :func:`check_expression` does, as a declaration's or assignment's value."""
    return coerce_initial(as_written(node, scope, want), want, node.pos)


def constant_int(node: tree.Expr, scope: Scope, what: str) -> int:
    """Return a number known at compile time; raises Refused for any other expression."""
    expr = check_constant(node, scope, what)
    return constants.sign_value(int(expr.value), expr.type)


def check_constant(node: tree.Expr, scope: Scope, what: str, want: t.Type = t.ANY) -> ir.Const:
    """Return a number or bool known at compile time; raises Refused for any other expression."""
    expr = check_expression(node, scope, want)
    if not isinstance(expr, ir.Const) or isinstance(expr.value, str):
        raise Refused(node.pos, what, "must be known at compile time")
    return expr


@singledispatch
def as_written(node: tree.Expr, scope: Scope, want: t.Type) -> ir.Expr:
    """Return the expression with its own type, which ``want`` may decide without a conversion to it.

    Raises Refused.
    """
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
            return _check_name(node, scope)
        case tree.MemberExpression():
            return _check_member(node, scope)
        case tree.Index():
            return _check_index(node, scope)
        case tree.Slice():
            return _check_slice(node, scope)
        case tree.Unary():
            return operators.make_unary(node.op, check_expression(node.operand, scope), node.pos)
        case tree.Binary():
            return operators.make_binary(
                node.op, check_expression(node.left, scope), check_expression(node.right, scope), node.pos
            )
        case tree.Mux():
            return _check_mux(node, scope, want)
        case tree.Cast():
            wanted = resolve_type(node.type, scope)
            return cast_to(as_written(node.operand, scope, t.ANY), wanted, node.pos)
        case tree.ListOf():
            parts = tuple(as_written(item, scope, t.ANY) for item in node.items)
            return ir.Make(t.Tuple(tuple(part.type for part in parts)), parts)
        case tree.Fields():
            return _check_fields(node, scope)
        case tree.InvalidHeader():
            return ir.Default(t.INVALID)
        case tree.Dots():
            return ir.Default(t.DOTS)
    raise Refused(node.pos, "expression", "not allowed here")


def _check_fields(node: tree.Fields, scope: Scope) -> ir.Expr:
    names = [name for name, _ in node.items]
    for name in names:
        if names.count(name) > 1:
            raise Refused(node.pos, "struct expression", f"{name} is given twice")
    parts = [as_written(value, scope, t.ANY) for _, value in node.items]
    types = tuple(part.type for part in parts)
    if node.rest:
        parts.append(ir.Default(t.DOTS))
        types = (*types, t.DOTS)
    return ir.Make(t.Tuple(types, tuple(names)), tuple(parts))


def _check_name(node: tree.Name, scope: Scope) -> ir.Expr:
    entity = scope.look_up(node.name, node.pos, node.top_level)
    if isinstance(entity, Value):
        return entity.expr
    if isinstance(entity, ir.Instance | ir.Block):
        raise Refused(
            node.pos,
            node.name,
            "an instance is not a value; extern objects can be given to constructors only",
        )
    raise Refused(node.pos, node.name, "not a value")


def _check_member(node: tree.MemberExpression, scope: Scope) -> ir.Expr:
    if isinstance(node.base, tree.Name):
        if node.base.name == "error" and scope.find("error") is None:
            if node.name not in scope.unit.declared_errors:
                raise Refused(node.pos, f"error.{node.name}", "not declared")
            return ir.Const(t.ERROR, scope.unit.errors.index(node.name))
        entity = scope.look_up(node.base.name, node.base.pos, node.base.top_level)
        if isinstance(entity, t.Type):
            return _find_enumerator(entity, node)
        if isinstance(entity, ir.Instance | ir.Block):
            raise Refused(node.pos, node.name, "not a value")
    base = as_written(node.base, scope, t.ANY)
    type_ = t.unwrap_type(base.type)
    if isinstance(base, ir.TableApply):
        return _table_result(base, node)
    if isinstance(type_, t.Struct):
        field = type_.field(node.name)
        if field is None:
            raise Refused(node.pos, f"{type_}.{node.name}", "no such field")
        return _struct_field(base, type_, node.name, field)
    if isinstance(type_, t.Tuple) and type_.names is not None and node.name in type_.names:
        at = type_.names.index(node.name)
        return (
            base.parts[at]
            if isinstance(base, ir.Make) and not has_effects(base)
            else ir.Element(type_.items[at], base, ir.Const(t.INTEGER, at))
        )
    if isinstance(type_, t.Stack):
        return _stack_part(base, type_, node, scope)
    raise Refused(node.pos, f".{node.name}", f"{base.type} has no such member")


def _check_index(node: tree.Index, scope: Scope) -> ir.Expr:
    base = as_written(node.base, scope, t.ANY)
    index = check_expression(node.index, scope)
    type_ = t.unwrap_type(base.type)
    if isinstance(index.type, t.Enum) and index.type.underlying is not None:
        index = coerce_to(index, index.type.underlying, node.pos)
    known = int(index.value) if isinstance(index, ir.Const) else None
    size = type_.size if isinstance(type_, t.Stack) else len(getattr(type_, "items", ()))
    if isinstance(type_, t.Bit):
        if known is None:
            raise Refused(node.pos, "bit index", "must be known at compile time")
        return _bit_slice(base, known, known, node.pos)
    if not isinstance(type_, t.Stack | t.Tuple):
        raise Refused(node.pos, "index", f"{base.type} has no elements")
    if known is not None and not 0 <= known < size:
        raise Refused(node.pos, "index", f"{known} is outside of {base.type}")
    if isinstance(type_, t.Tuple):
        if known is None:
            raise Refused(node.pos, "tuple index", "must be known at compile time")
        if isinstance(base, ir.Make) and not has_effects(base):
            return base.parts[known]
        return ir.Element(type_.items[known], base, index)
    if not (isinstance(index.type, t.Bit) or index.type == t.INTEGER):
        raise Refused(node.pos, "index", f"must be a number, not {index.type}")
    return ir.Element(type_.element, base, index)


def _check_slice(node: tree.Slice, scope: Scope) -> ir.Expr:
    base = operators.as_number(as_written(node.base, scope, t.ANY))
    low = constant_or_none(node.low, scope)
    high = constant_or_none(node.high, scope)
    if not node.width:
        if high is None or low is None:
            raise Refused(node.pos, "slice", "its bounds must be known at compile time")
        return _bit_slice(base, high, low, node.pos)
    if low is None or low < 1:
        raise Refused(node.pos, "slice", "its width must be known at compile time, and positive")
    if high is not None:
        return _bit_slice(base, high + low - 1, high, node.pos)
    start = check_expression(node.high, scope)
    if (
        not (isinstance(t.strip_type(base.type), t.Bit) and isinstance(start.type, t.Bit))
        or start.type.signed
    ):
        raise Refused(node.pos, "slice", "needs bits, and an unsigned start")
    return ir.WindowSlice(t.Bit(low), base, start)


def constant_or_none(node: tree.Expr, scope: Scope) -> int | None:
    """Return the number when it is known at compile time, else None."""
    expr = check_expression(node, scope)
    return int(expr.value) if isinstance(expr, ir.Const) and not isinstance(expr.value, str) else None


def _check_mux(node: tree.Mux, scope: Scope, want: t.Type) -> ir.Expr:
    condition = check_expression(node.condition, scope, t.BOOL)
    yes, no = as_written(node.yes, scope, want), as_written(node.no, scope, want)
    ints = [each.type == t.INTEGER or t.is_exact(each.type) for each in (yes, no)]
    if all(ints) and not isinstance(condition, ir.Const):
        raise Refused(node.pos, "?:", "the width of its result is not known: give one side a width, as 8w1")
    if want != t.ANY:
        yes, no = coerce_to(yes, want, node.yes.pos), coerce_to(no, want, node.no.pos)
    elif yes.type != no.type:
        if yes.type in (t.INTEGER, t.INVALID, t.DOTS) or isinstance(yes.type, t.Tuple):
            yes = coerce_to(yes, no.type, node.yes.pos)
        else:
            no = coerce_to(no, yes.type, node.no.pos)
    if isinstance(condition, ir.Const):
        return yes if condition.value else no
    return ir.Mux(yes.type, condition, yes, no)


def check_writable(node: tree.Expr, scope: Scope) -> ir.Expr:
    """Return an expression that can be assigned to.

    Raises Refused when it cannot, with the reason.
    """
    root: tree.Expr = node
    while isinstance(root, tree.MemberExpression | tree.Index | tree.Slice):
        root = root.base
    if not isinstance(root, tree.Name):
        raise Refused(node.pos, "assignment", "the target is not a variable")
    entity = scope.look_up(root.name, root.pos, root.top_level)
    if not isinstance(entity, Value) or not isinstance(entity.expr, ir.Local):
        raise Refused(node.pos, root.name, "is not a variable")
    if not entity.writable:
        raise Refused(node.pos, root.name, entity.why or "cannot be written")
    expr = as_written(node, scope, t.ANY)
    if isinstance(expr, ir.StackPart) and expr.part == "lastIndex":
        raise Refused(node.pos, ".lastIndex", "cannot be written")
    return expr


# --- parts of values ---------------------------------------------------------------------------------


def _struct_field(base: ir.Expr, type_: t.Struct, name: str, field: t.Type) -> ir.Expr:
    if isinstance(base, ir.Make) and not has_effects(base):
        return base.parts[[n for n, _ in type_.fields].index(name)]
    return ir.Field(field, base, name)


def _find_enumerator(type_: t.Type, node: tree.MemberExpression) -> ir.Expr:
    if isinstance(type_, t.Enum):
        for name, value in type_.members:
            if name == node.name:
                return ir.Const(type_, value)
    raise Refused(node.pos, f"{type_}.{node.name}", "not declared")


def _table_result(base: ir.TableApply, node: tree.MemberExpression) -> ir.Expr:
    if base.part or node.name not in ("hit", "miss", "action_run"):
        raise Refused(node.pos, f".{node.name}", "a table's result has hit, miss and action_run")
    type_ = t.BOOL if node.name != "action_run" else t.Simple("action_run")
    return ir.TableApply(type_, base.table, node.name)


def _stack_part(base: ir.Expr, type_: t.Stack, node: tree.MemberExpression, scope: Scope) -> ir.Expr:
    if node.name == "size":
        return ir.Const(t.Bit(32), type_.size)
    if node.name not in ("next", "last", "lastIndex"):
        raise Refused(node.pos, f".{node.name}", "a header stack has next, last, lastIndex and size")
    if node.name != "lastIndex" and scope.frame.kind not in ("parser", "state"):
        raise Refused(node.pos, f".{node.name}", "only parsers know a stack's next and last element")
    part_type = t.Bit(32) if node.name == "lastIndex" else type_.element
    return ir.StackPart(part_type, base, node.name, node.pos)


def _bit_slice(base: ir.Expr, high: int, low: int, pos: Pos) -> ir.Expr:
    """Return ``base[high:low]``."""
    type_ = t.strip_type(base.type)
    if not 0 <= low <= high:
        raise Refused(pos, "slice", f"[{high}:{low}] is empty or negative")
    if isinstance(base, ir.Const) and type_ == t.INTEGER:
        return ir.Const(t.Bit(high - low + 1), (int(base.value) >> low) & ((1 << (high - low + 1)) - 1))
    if not isinstance(type_, t.Bit):
        raise Refused(pos, "slice", f"{base.type} has no bits to slice")
    if high >= type_.width:
        raise Refused(pos, "slice", f"[{high}:{low}] is outside of {base.type}")
    width = high - low + 1
    if isinstance(base, ir.Const):
        return ir.Const(t.Bit(width), (int(base.value) >> low) & ((1 << width) - 1))
    return ir.Slice(t.Bit(width), base, high, low)
