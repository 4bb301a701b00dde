"""Arithmetic on constants: exact for ``int``, modulo 2^w for ``bit<w>`` and ``int<w>`` (P4_16 §8)."""

from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Pos, Refused


def masked(value: int, type_: t.Type) -> int:
    """``value`` as the type stores it: unsigned, cut to its width; unchanged for the unbounded ``int``."""
    base = t.stripped(type_)
    return value & ((1 << base.width) - 1) if isinstance(base, t.Bit) else value


def signed(value: int, type_: t.Type) -> int:
    """The number that the stored bits represent."""
    base = t.stripped(type_)
    if isinstance(base, t.Bit) and base.signed and value >> (base.width - 1):
        return value - (1 << base.width)
    return value


def _saturated(value: int, base: t.Bit) -> int:
    low, high = (
        (-(1 << (base.width - 1)), (1 << (base.width - 1)) - 1) if base.signed else (0, (1 << base.width) - 1)
    )
    return max(low, min(high, value))


def binary(op: str, left: int, right: int, type_: t.Type, pos: Pos) -> int:
    """The stored result of an operation on ``type_``; a shift's right operand is a plain number."""
    base = t.stripped(type_)
    a, b = signed(left, type_), signed(right, type_) if op not in ("<<", ">>") else right
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
            value = _saturated(a + b if op == "|+|" else a - b, base)
        case _:
            raise AssertionError(op)
    return masked(value, type_)


def compare(op: str, left: int, right: int, type_: t.Type) -> bool:
    a, b = signed(left, type_), signed(right, type_)
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]
