"""Parts of values: fields, slices, stack elements, members of enumerations and of a table's result."""

from olafctl.p4.check.scope import Scope
from olafctl.p4.ir import nodes as ir
from olafctl.p4.ir import types as t
from olafctl.p4.refuse import Pos, Refused
from olafctl.p4.syntax import tree


def struct_field(base: ir.Expr, type_: t.Struct, name: str, field: t.Type) -> ir.Expr:
    if isinstance(base, ir.Make):
        return base.parts[[n for n, _ in type_.fields].index(name)]
    return ir.Field(field, base, name)


def enumerator(type_: t.Type, node: tree.Member) -> ir.Expr:
    if isinstance(type_, t.Enum):
        for name, value in type_.members:
            if name == node.name:
                return ir.Const(type_, value)
    raise Refused(node.pos, f"{type_}.{node.name}", "not declared")


def table_result(base: ir.TableApply, node: tree.Member) -> ir.Expr:
    if base.part or node.name not in ("hit", "miss", "action_run"):
        raise Refused(node.pos, f".{node.name}", "a table's result has hit, miss and action_run")
    type_ = t.BOOL if node.name != "action_run" else t.Simple("action_run")
    return ir.TableApply(type_, base.table, node.name)


def stack_part(base: ir.Expr, type_: t.Stack, node: tree.Member, scope: Scope) -> ir.Expr:
    if node.name == "size":
        return ir.Const(t.Bit(32), type_.size)
    if node.name not in ("next", "last", "lastIndex"):
        raise Refused(node.pos, f".{node.name}", "a header stack has next, last, lastIndex and size")
    if node.name != "lastIndex" and scope.frame.kind not in ("parser", "state"):
        raise Refused(node.pos, f".{node.name}", "only parsers know a stack's next and last element")
    part_type = t.Bit(32) if node.name == "lastIndex" else type_.element
    return ir.StackPart(part_type, base, node.name, node.pos)


def bit_slice(base: ir.Expr, high: int, low: int, pos: Pos) -> ir.Expr:
    """``base[high:low]``."""
    type_ = t.stripped(base.type)
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
