"""Number literals, in code and in annotations (P4_16 §6.4.3.2)."""

import re

from olafswitch.p4.refuse import Pos, Refused
from olafswitch.p4.syntax.tree import Number

_NUMBER = re.compile(r"(?:(?P<width>\d+)(?P<sign>[ws]))?(?P<digits>.*)", re.S)
_BASES = {"0x": 16, "0b": 2, "0o": 8, "0d": 10}


def parse_literal(text: str, pos: Pos) -> Number:
    """Return the number of an INTEGER token; raises Refused when its width is 0 but its value is not."""
    parts = _NUMBER.fullmatch(text)
    assert parts is not None
    digits = parts["digits"].replace("_", "").lower()
    base = _BASES.get(digits[:2], 10)
    value = int(digits[2:] if digits[:2] in _BASES else digits, base)
    width, signed = int(parts["width"]) if parts["width"] else None, parts["sign"] == "s"
    if width == 0 and (value or signed):
        raise Refused(pos, "number", f"{text} has width 0")
    if width is not None:
        value &= (1 << width) - 1
        if signed and value >> (width - 1):
            value -= 1 << width
    return Number(pos, value, width, signed, base)


def write_number(number: Number) -> str:
    """Return the number in the base in which it was written, without its width."""
    sign = "-" if number.value < 0 else ""
    prefix = next((prefix for prefix, base in _BASES.items() if base == number.base and base != 10), "")
    form = {16: "x", 8: "o", 2: "b"}.get(number.base, "d")
    return f"{sign}{prefix}{abs(number.value):{form}}"
