"""Serial-number arithmetic (RFC 1982) for versions, rounds and times that wrap around."""

from __future__ import annotations

VERSION_BITS = 16
ROUND_BITS = 32
TIME_BITS = 48


def newer(a: int, b: int, bits: int) -> bool:
    """Return whether ``a`` comes after ``b``: their difference modulo 2**bits lies in 1 … 2**(bits-1) - 1."""
    return 0 < (a - b) % (1 << bits) < 1 << (bits - 1)


def distance(a: int, b: int, bits: int) -> int:
    """Return ``a - b`` as a signed number, from -2**(bits-1) to 2**(bits-1) - 1."""
    half = 1 << (bits - 1)
    return (a - b + half) % (1 << bits) - half
