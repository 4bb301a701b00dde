"""Unsigned integers as P4Runtime's binary strings (P4Runtime §8.3 "Bytestrings").

A sender uses the shortest big-endian string; a receiver accepts any number of leading zero bytes and
refuses the empty string and values wider than the P4Info says.
"""


def encode_unsigned(value: int) -> bytes:
    """Return the canonical binary string of an unsigned ``value``."""
    return value.to_bytes((value.bit_length() + 7) // 8 or 1, "big")


def decode_unsigned(string: bytes, bits: int) -> int:
    """Return the value of a binary string for a ``bit<bits>``. Raises ValueError, saying what is wrong."""
    if not string:
        raise ValueError("the value is an empty byte string")
    value = int.from_bytes(string, "big")
    if value >> bits:
        raise ValueError(f"the value {show_value(value)} does not fit in {bits} bits")
    return value


def encode_signed(value: int) -> bytes:
    """Return the canonical binary string of an ``int<W>`` value: two's complement, shortest."""
    bits = (value if value >= 0 else ~value).bit_length() + 1
    return value.to_bytes((bits + 7) // 8, "big", signed=True)


def decode_signed(string: bytes, bits: int) -> int:
    """Return the value of a binary string for an ``int<bits>``. Raises ValueError, saying what is wrong."""
    if not string:
        raise ValueError("the value is an empty byte string")
    value = int.from_bytes(string, "big", signed=True)
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"the value {show_value(value)} does not fit in {bits} signed bits")
    return value


def show_value(value: int) -> str:
    """Return ``value`` in hexadecimal, cut short: any peer may have sent it."""
    text = hex(value)
    return text if len(text) <= 40 else text[:40] + "…"
