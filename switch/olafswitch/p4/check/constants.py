"""Arithmetic on constants: exact for ``int``, modulo 2^w for ``bit<w>`` and ``int<w>`` (P4_16 §8)."""

from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Pos, Refused


def mask_value(value: int, type_: t.Type) -> int:
    """Return ``value`` as the type stores it: unsigned, cut to its width; a plain ``int`` is unchanged."""
    base = t.strip_type(type_)
    return value & ((1 << base.width) - 1) if isinstance(base, t.Bit) else value


def sign_value(value: int, type_: t.Type) -> int:
    """Return the number that the stored bits represent."""
    base = t.strip_type(type_)
    if isinstance(base, t.Bit) and base.signed and value >> (base.width - 1):
        return value - (1 << base.width)
    return value


def _saturate_value(value: int, base: t.Bit) -> int:
    low, high = (
        (-(1 << (base.width - 1)), (1 << (base.width - 1)) - 1) if base.signed else (0, (1 << base.width) - 1)
    )
    return max(low, min(high, value))


def compute_binary(op: str, left: int, right: int, type_: t.Type, pos: Pos) -> int:
    """Return the stored result of an operation on ``type_``; a shift's right operand is a plain number."""
    base = t.strip_type(type_)
    a, b = sign_value(left, type_), sign_value(right, type_) if op not in ("<<", ">>") else right
    match op:
        case "+":
            value = a + b
        case "-":
            value = a - b
        case "*":
            value = a * b
        case "/" | "%":
            if b <= 0 or a < 0:
                raise Refused(pos, op, "needs a positive divisor and no negative dividend")
            value = a // b if op == "/" else a % b
        case "<<" | ">>":
            if b < 0 or (b > 1 << 16 and not isinstance(base, t.Bit)):
                raise Refused(pos, op, f"cannot shift by {b}")
            places = min(b, base.width) if isinstance(base, t.Bit) else b
            value = a << places if op == "<<" else a >> places
        case "&":
            value = a & b
        case "|":
            value = a | b
        case "^":
            value = a ^ b
        case "|+|" | "|-|":
            if not isinstance(base, t.Bit):
                raise Refused(pos, op, "needs operands of a fixed width")
            value = _saturate_value(a + b if op == "|+|" else a - b, base)
        case _:
            raise AssertionError(op)
    return mask_value(value, type_)


def compare_values(op: str, left: int, right: int, type_: t.Type) -> bool:
    a, b = sign_value(left, type_), sign_value(right, type_)
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]
