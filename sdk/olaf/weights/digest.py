"""A digest of elements that follows changes: a sum over them, so that what changed is enough to keep it.

Each element adds a mix of its number, its bits and a secret, modulo 2**64. The secret is the cluster's
key; without one the digest guards against mistakes alone.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from olaf.weights.codecs import Bits, Index

_PLACE, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
_CHUNK = 1 << 16
"""Elements at a time: what is in between stays in the cache."""


class Digest:
    """Digests under one key."""

    def __init__(self, key: bytes = b"") -> None:
        self._secret = np.frombuffer(hashlib.blake2b(key, digest_size=16, person=b"weights").digest(), "<u8")

    def of(self, bits: Bits, start: int = 0) -> int:
        """Digest of all elements of an array whose first is number ``start``."""
        total = 0
        for first in range(0, len(bits), _CHUNK):
            block = bits[first : first + _CHUNK]
            number = start + first
            total += self._mixed(np.arange(number, number + len(block), dtype=np.uint64), block)
        return total % 2**64

    def change(self, where: Index | slice, old: Bits, new: Bits, start: int = 0) -> int:
        """What to add to a digest when these elements change."""
        if isinstance(where, slice):
            where = np.arange(where.start, where.stop)
        total = 0
        for first in range(0, len(where), _CHUNK):
            part = slice(first, first + _CHUNK)
            numbers = where[part].astype(np.uint64) + np.uint64(start)
            total += self._mixed(numbers, new[part]) - self._mixed(numbers, old[part])
        return total % 2**64

    def _mixed(self, numbers: npt.NDArray[np.uint64], bits: npt.NDArray[Any]) -> int:
        # Two rounds of multiply and fold, in place: all of an element's bits reach all of the sum's.
        mixed = (numbers + self._secret[0]) * _PLACE
        mixed ^= mixed >> _HALF
        mixed += bits
        mixed *= _MIX
        mixed ^= mixed >> _HALF
        mixed *= self._secret[1] | np.uint64(1)
        mixed ^= mixed >> _HALF
        return int(mixed.sum(dtype=np.uint64))
