"""Unary and binary operators: their types, and their values where both sides are constant (P4_16 §8)."""

from olafswitch.p4.check import constants
from olafswitch.p4.check.coercion import coerce_to
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Pos, Refused

MAX_EXACT = 4096
"""The widest result of arithmetic on an ``int`` parameter, in bits."""
_ORDER = ("<", "<=", ">", ">=")


def make_unary(op: str, operand: ir.Expr, pos: Pos) -> ir.Expr:
    """Return ``op operand``; raises Refused where the type has no such operator."""
    type_ = operand.type
    if op == "!":
        if t.strip_type(type_) != t.BOOL:
            raise Refused(pos, op, f"needs a bool, not {type_}")
        if isinstance(operand, ir.Const):
            return ir.Const(t.BOOL, not operand.value)
        return ir.Unary(t.BOOL, op, operand)
    operand = as_number(operand)
    type_ = operand.type
    if not (isinstance(type_, t.Bit) or (type_ == t.INTEGER and op != "~")):
        raise Refused(pos, op, f"{type_} has no such operator")
    if op == "+":
        return operand
    if t.is_exact(type_):
        if op == "~":
            raise Refused(pos, op, "int has no such operator")
        return make_binary("-", ir.Const(t.INTEGER, 0), operand, pos)
    if isinstance(operand, ir.Const):
        value = int(operand.value)
        return ir.Const(type_, constants.mask_value(-value if op == "-" else ~value, type_))
    return ir.Unary(type_, op, operand)


def as_number(expr: ir.Expr) -> ir.Expr:
    """Return a member of a serializable enumeration as its number, and any other expression unchanged."""
    if isinstance(expr.type, t.Enum) and expr.type.underlying is not None:
        return coerce_to(expr, expr.type.underlying, Pos("", 1, 1))
    return expr


def make_binary(op: str, left: ir.Expr, right: ir.Expr, pos: Pos) -> ir.Expr:
    """Return ``left op right``; raises Refused where the types do not fit the operator."""
    if op in ("&&", "||"):
        return _make_logical(op, left, right, pos)
    if op in ("==", "!="):
        return _make_equality(op, left, right, pos)
    left, right = as_number(left), as_number(right)
    if op in ("<<", ">>"):
        return _make_shift(op, left, right, pos)
    if op == "++":
        return _concatenate_bits(left, right, pos)
    left, right = _align_sides(op, left, right, pos)
    type_ = left.type
    if isinstance(left, ir.Const) and isinstance(right, ir.Const):
        if op in _ORDER:
            return ir.Const(t.BOOL, constants.compare_values(op, int(left.value), int(right.value), type_))
        return ir.Const(type_, constants.compute_binary(op, int(left.value), int(right.value), type_, pos))
    if op in ("/", "%", "|+|", "|-|") and t.is_exact(type_):
        raise Refused(pos, op, "not defined on an int that is not known at compile time")
    if op in ("/", "%"):
        if not isinstance(type_, t.Bit) or type_.signed:
            raise Refused(pos, op, f"not defined on {type_}")
        if isinstance(right, ir.Const) and not right.value:
            raise Refused(pos, op, "by zero")
    return ir.Binary(t.BOOL if op in _ORDER else type_, op, left, right)


def _make_logical(op: str, left: ir.Expr, right: ir.Expr, pos: Pos) -> ir.Expr:
    for side in (left, right):
        if t.strip_type(side.type) != t.BOOL:
            raise Refused(pos, op, f"needs a bool, not {side.type}")
    if isinstance(left, ir.Const):
        short = bool(left.value) == (op == "||")
        return left if short else right
    return ir.Binary(t.BOOL, op, left, right)


def _make_equality(op: str, left: ir.Expr, right: ir.Expr, pos: Pos) -> ir.Expr:
    if t.is_exact(left.type) or t.is_exact(right.type):
        left, right = _align_sides(op, left, right, pos)
    elif left.type != right.type:
        left, right = _unify_sides(left, right, pos)
    base = t.strip_type(left.type)
    if isinstance(base, t.Extern | t.BlockType | t.Variable) or base in (t.VOID, t.DOTS, t.INVALID):
        raise Refused(pos, op, f"{left.type} cannot be compared")
    if isinstance(left, ir.Const) and isinstance(right, ir.Const):
        return ir.Const(t.BOOL, (left.value == right.value) == (op == "=="))
    return ir.Binary(t.BOOL, op, left, right)


def _unify_sides(left: ir.Expr, right: ir.Expr, pos: Pos) -> tuple[ir.Expr, ir.Expr]:
    """Return both sides of an equality under one type."""
    soft = (t.INTEGER, t.DOTS, t.INVALID)
    if left.type in soft or isinstance(left.type, t.Tuple):
        return coerce_to(left, t.strip_type(right.type) if left.type == t.INTEGER else right.type, pos), (
            coerce_to(right, t.strip_type(right.type), pos) if left.type == t.INTEGER else right
        )
    if right.type in soft or isinstance(right.type, t.Tuple):
        right, left = _unify_sides(right, left, pos)
        return left, right
    if isinstance(left.type, t.Enum) and isinstance(right.type, t.Bit):
        return coerce_to(left, right.type, pos), right
    return left, coerce_to(right, left.type, pos)


def _align_sides(op: str, left: ir.Expr, right: ir.Expr, pos: Pos) -> tuple[ir.Expr, ir.Expr]:
    """Return two numbers, converted to one type."""
    if t.is_exact(left.type) or t.is_exact(right.type):
        return _as_exact(op, left, right, pos)
    if left.type == t.INTEGER and isinstance(right.type, t.Bit):
        left = coerce_to(left, right.type, pos)
    elif right.type == t.INTEGER and isinstance(left.type, t.Bit):
        right = coerce_to(right, left.type, pos)
    for side in (left, right):
        if not (isinstance(side.type, t.Bit) or side.type == t.INTEGER):
            raise Refused(pos, op, f"{side.type} has no such operator")
    if left.type != right.type:
        raise Refused(pos, op, f"{left.type} and {right.type} differ")
    return left, right


def _as_exact(op: str, left: ir.Expr, right: ir.Expr, pos: Pos) -> tuple[ir.Expr, ir.Expr]:
    """Give both sides the type of the side that has a width, or the width that the exact result needs."""
    widths = []
    for side in (left, right):
        if side.type == t.INTEGER and isinstance(side, ir.Const):
            widths.append(int(side.value).bit_length() + 1)
        elif isinstance(side.type, t.Bit) and side.type.exact:
            widths.append(side.type.width)
        elif isinstance(side.type, t.Bit):
            return coerce_to(left, side.type, pos), coerce_to(right, side.type, pos)
        else:
            raise Refused(pos, op, f"{side.type} has no such operator")
    want = t.Bit(sum(widths) if op == "*" else max(widths) + (op in ("+", "-")), True, True)
    if want.width > MAX_EXACT:
        raise Refused(pos, op, f"an int of more than {MAX_EXACT} bits")
    made = [
        ir.Const(want, constants.mask_value(int(side.value), want)) if isinstance(side, ir.Const)
        else coerce_to(side, want, pos)
        for side in (left, right)
    ]  # fmt: skip
    return made[0], made[1]


def _make_shift(op: str, left: ir.Expr, right: ir.Expr, pos: Pos) -> ir.Expr:
    for side in (left, right):
        if not (isinstance(side.type, t.Bit) or side.type == t.INTEGER):
            raise Refused(pos, op, f"{side.type} has no such operator")
    if isinstance(right.type, t.Bit) and right.type.signed:
        raise Refused(pos, op, "the number of places must be unsigned")
    if isinstance(right, ir.Const) and right.type == t.INTEGER:
        if int(right.value) < 0:
            raise Refused(pos, op, f"cannot shift by {right.value}")
        right = ir.Const(t.Bit(32), min(int(right.value), (1 << 32) - 1))
    if isinstance(left, ir.Const) and isinstance(right, ir.Const):
        value = constants.compute_binary(op, int(left.value), int(right.value), left.type, pos)
        return ir.Const(left.type, value)
    if isinstance(left.type, t.Bit) and left.type.exact and isinstance(right, ir.Const):
        wider = int(right.value) if op == "<<" else 0
        if left.type.width + wider > MAX_EXACT:
            raise Refused(pos, op, f"an int of more than {MAX_EXACT} bits")
        left = coerce_to(left, t.Bit(left.type.width + wider, True, True), pos)
    elif left.type == t.INTEGER or t.is_exact(left.type):
        raise Refused(pos, op, "an int without width cannot be shifted by a variable")
    return ir.Binary(left.type, op, left, right)


def _concatenate_bits(left: ir.Expr, right: ir.Expr, pos: Pos) -> ir.Expr:
    exact = t.is_exact(left.type) or t.is_exact(right.type)
    if exact or not (isinstance(left.type, t.Bit) and isinstance(right.type, t.Bit)):
        if left.type == right.type == t.STRING and isinstance(left, ir.Const) and isinstance(right, ir.Const):
            return ir.Const(t.STRING, f"{left.value}{right.value}")
        raise Refused(pos, "++", f"needs bit<> or int<> on both sides, not {left.type} and {right.type}")
    type_ = t.Bit(left.type.width + right.type.width, left.type.signed)
    if isinstance(left, ir.Const) and isinstance(right, ir.Const):
        return ir.Const(type_, (int(left.value) << right.type.width) | int(right.value))
    return ir.Binary(type_, "++", left, right)
