"""The codecs of DELTA frames: what changed between two versions, in frames that decode alone.

An element is an unsigned integer of its width: a version's bits, whatever they stand for. Below some percent
of changed elements, gaps and two-bit ulps take 1.4 bytes each at bf16, a quarter of an index and a value.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from olaf.transport.wire import Codec

Bits = npt.NDArray[np.unsignedinteger[Any]]
"""Elements as unsigned integers: (n,)."""
Index = npt.NDArray[np.int64]
"""Numbers of elements: (n,)."""

MOST = 65535
"""Elements in one frame."""
_LONG = 255
_MORE, _LESS, _SHORT, _WHOLE = range(4)
"""Codes of ulp: a difference of 1, of -1, of 8 bits, of an element's width."""
_ABSOLUTE = -128
"""The difference of ``all`` in place of which the element itself follows."""


class BadFrame(ValueError):
    """A payload that its header does not describe."""


@dataclass(frozen=True)
class Part:
    """One frame's: its payload begins at element ``first`` and holds ``n`` of them."""

    codec: Codec
    first: int
    n: int
    payload: bytes


@dataclass(frozen=True)
class Patch:
    """A decoded frame: elements, and what becomes of each."""

    where: Index | slice
    values: Bits
    """New elements, or what is added to them modulo 2**bits."""
    adds: bool

    def apply_to(self, old: Bits) -> Bits:
        """Return the new elements, where ``old`` were at ``where``."""
        return old + self.values if self.adds else self.values


def unsigned_type(width: int) -> np.dtype[Any]:
    """Return the type of elements of ``width`` bytes, little-endian. Raises BadFrame for another width."""
    if width not in (1, 2, 4, 8):
        raise BadFrame(f"elements cannot have {width} bytes")
    return np.dtype(f"<u{width}")


def encode_full(bits: Bits, room: int, start: int = 0) -> Iterator[Part]:
    """Yield all elements, from number ``start`` on, in payloads of up to ``room`` bytes."""
    each = max(min(room // bits.itemsize, MOST), 1)
    each = -(-len(bits) // max(-(-len(bits) // each), 1))
    for first in range(0, len(bits), each):
        block = bits[first : first + each]
        yield Part(Codec.FULL, start + first, len(block), block.tobytes())


def encode_set(where: Index, values: Bits, room: int) -> Iterator[Part]:
    """Encode elements ``where``, in ascending order, by their new ``values`` (codec set)."""
    gaps, long, ends = _gapped(where)
    size = 1 + 2 * long + values.itemsize
    for start, stop in _cuts(size, room):
        body = _gaps(gaps, ends, start, stop) + values[start:stop].tobytes()
        yield Part(Codec.SET, int(where[start]), stop - start, body)


def encode_ulps(where: Index, steps: Bits, room: int) -> Iterator[Part]:
    """Encode elements ``where``, in ascending order, by the ``steps`` of their bit patterns (codec ulp)."""
    width, codes = steps.itemsize, _codes(steps)
    gaps, long, ends = _gapped(where)
    size = 5 + 8 * long + 4 * (codes == _SHORT) + 4 * width * (codes == _WHOLE)  # quarters of a byte
    for start, stop in _cuts(size, 4 * room - 3):
        some, code = steps[start:stop], codes[start:stop]
        body = _gaps(gaps, ends, start, stop) + _packed(code)
        body += some[code == _SHORT].astype(np.uint8).tobytes() + some[code == _WHOLE].tobytes()
        yield Part(Codec.ULP, int(where[start]), stop - start, body)


def encode_all(old: Bits, new: Bits, room: int, start: int = 0) -> Iterator[Part]:
    """Encode every element from ``start`` on, by a byte where it moved by less than 128 (codec all)."""
    short, far = short_steps(old, new)
    for first, stop in _cuts(1 + new.itemsize * far.astype(np.int64), room):
        values = new[first:stop][far[first:stop]]
        yield Part(Codec.ALL, start + first, stop - first, short[first:stop].tobytes() + values.tobytes())


def encode_deflated(old: Bits, new: Bits, room: int, start: int = 0) -> Iterator[Part]:
    """Encode as ``encode_all``, with the bytes under a Huffman code of each frame (codec deflated)."""
    short, far = short_steps(old, new)
    first, each, sized = 0, min(2 * room, MOST), False
    while first < len(new):
        stop = min(first + each, len(new))
        packer = zlib.compressobj(1, zlib.DEFLATED, -15, 8, zlib.Z_HUFFMAN_ONLY)
        payload = packer.compress(short[first:stop].tobytes()) + packer.flush()
        payload += new[first:stop][far[first:stop]].tobytes()
        if len(payload) > room:
            each = max(int(0.97 * (stop - first) * room / len(payload)), 1)
        elif not sized:  # from here on all frames have about as many elements
            fits = max(int(0.97 * (stop - first) * room / len(payload)), 1)
            each = min(-(-len(new) // -(-len(new) // fits)), MOST)
            sized = True
        else:
            yield Part(Codec.DEFLATED, start + first, stop - first, payload)
            first = stop


def short_steps(old: Bits, new: Bits) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.bool_]]:
    """Return the steps from old to new bit patterns as bytes, -128 for those beyond a byte, and which these
    are."""
    steps = (new - old).view(f"<i{new.itemsize}")
    if new.itemsize > 1:
        near = (steps > _ABSOLUTE) & (steps < -_ABSOLUTE)
        steps = np.where(near, steps, _ABSOLUTE).astype(np.int8)
    return steps, steps == _ABSOLUTE


def decode_payload(codec: int, first: int, n: int, width: int, payload: memoryview, length: int) -> Patch:
    """Return a frame's patch of a shard of ``length`` elements; check everything. Raises BadFrame."""
    kind = unsigned_type(width)
    if n < 1 or first + n > length:
        raise BadFrame(f"elements {first} … {first + n - 1} are not within {length}")
    reader = _Reader(payload)
    if codec == Codec.FULL:
        return Patch(slice(first, first + n), reader.take(kind, n), False)
    if codec in (Codec.ALL, Codec.DEFLATED):
        return decode_steps(first, n, width, _inflated(payload, n) if codec == Codec.DEFLATED else payload)
    if codec not in (Codec.SET, Codec.ULP):
        raise BadFrame(f"codec {codec} does not exist")
    where = first + _ungapped(reader, n)
    if int(where[-1]) >= length:
        raise BadFrame(f"element {int(where[-1])} is not within {length}")
    if codec == Codec.SET:
        return Patch(where, reader.take(kind, n), False)
    codes = _unpacked(reader.take(np.dtype(np.uint8), -(-n // 4)), n)
    steps = _STEP.astype(f"<i{width}").view(kind)[codes]
    for code, stored in ((_SHORT, np.dtype(np.int8)), (_WHOLE, np.dtype(f"<i{width}"))):
        chosen = codes == code
        if count := int(np.count_nonzero(chosen)):
            steps[chosen] = reader.take(stored, count).astype(f"<i{width}").view(kind)
    return Patch(where, steps, True)


def decode_steps(first: int, n: int, width: int, data: memoryview) -> Patch:
    """Decode steps that are a byte each, and after them the elements that moved by more. Raises BadFrame."""
    reader, kind = _Reader(data), unsigned_type(width)
    short = reader.take(np.dtype(np.int8), n)
    far = short == _ABSOLUTE
    steps = short.astype(f"<i{width}").view(kind)
    if not far.any():
        return Patch(slice(first, first + n), steps, True)
    values = reader.take(kind, int(np.count_nonzero(far)))
    return _Mixed(slice(first, first + n), steps, True, np.flatnonzero(far), values)


def _inflated(payload: memoryview, n: int) -> memoryview:
    """Return the bytes of ``n`` steps, and what follows them. Raises BadFrame."""
    unpacker = zlib.decompressobj(-15)
    try:
        short = unpacker.decompress(payload, n + 1)
    except zlib.error as error:
        raise BadFrame(f"a deflated payload is damaged: {error}") from None
    if len(short) != n or not unpacker.eof:
        raise BadFrame(f"a deflated payload does not hold {n} steps")
    return memoryview(short + unpacker.unused_data)


_STEP = np.array([1, -1, 0, 0])


@dataclass(frozen=True)
class _Mixed(Patch):
    far: Index
    absolute: Bits

    def apply_to(self, old: Bits) -> Bits:
        new = old + self.values
        new[self.far] = self.absolute
        return new


class _Reader:
    """Takes arrays off a payload."""

    def __init__(self, payload: memoryview) -> None:
        self._payload, self._at = payload, 0

    def take(self, kind: np.dtype[Any], count: int) -> npt.NDArray[Any]:
        if self._at + count * kind.itemsize > len(self._payload):
            raise BadFrame(f"a payload of {len(self._payload)} bytes is too short")
        taken = np.frombuffer(self._payload, kind, count, self._at)
        self._at += count * kind.itemsize
        return taken


def _gapped(where: Index) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return gaps of elements, how many numbers of 16 bits each needs besides, and of how many all before it
    do."""
    gaps = np.diff(where, prepend=where[:1])
    long = np.where(gaps >= _LONG, 1 + (gaps - _LONG) // MOST, 0)
    return gaps, long, np.flatnonzero(long)


def _gaps(gaps: npt.NDArray[np.int64], longs: npt.NDArray[np.int64], start: int, stop: int) -> bytes:
    """Return the gaps of a frame; its first is 0, since the header gives its start."""
    own = np.minimum(gaps[start:stop], _LONG).astype(np.uint8)
    own[0] = 0
    low, high = np.searchsorted(longs, (start + 1, stop))
    if low == high:
        return own.tobytes()
    beyond = gaps[longs[low:high]] - _LONG
    chain = beyond // MOST
    numbers = np.full(int(chain.sum()) + len(beyond), MOST, "<u2")
    numbers[np.cumsum(chain + 1) - 1] = beyond % MOST
    return own.tobytes() + numbers.tobytes()


def _ungapped(reader: _Reader, n: int) -> Index:
    """Return the elements relative to the first one, from its gaps. Raises BadFrame."""
    gaps = reader.take(np.dtype(np.uint8), n).astype(np.int64)
    long = np.flatnonzero(gaps == _LONG)
    if len(long):
        gaps[long] += _chained(reader, len(long))
    if gaps[0] or (n > 1 and not gaps[1:].all()):
        raise BadFrame("an element comes twice")
    return np.cumsum(gaps)


def _chained(reader: _Reader, count: int) -> npt.NDArray[np.int64]:
    """Read the numbers that ``count`` long gaps have besides; the last one of a gap is not the largest."""
    numbers = np.empty(0, np.int64)
    ends = numbers
    while len(ends) < count:
        more = reader.take(np.dtype("<u2"), count - len(ends)).astype(np.int64)
        numbers = np.concatenate([numbers, more])
        ends = np.flatnonzero(numbers != MOST)
    return np.diff(np.cumsum(numbers)[ends], prepend=0)


def _codes(steps: Bits) -> npt.NDArray[np.uint8]:
    signed = steps.view(f"<i{steps.itemsize}")
    codes = np.full(len(steps), _WHOLE, np.uint8)
    codes[(signed >= -128) & (signed < 128)] = _SHORT
    codes[signed == 1] = _MORE
    codes[signed == -1] = _LESS
    return codes


def _packed(codes: npt.NDArray[np.uint8]) -> bytes:
    """Pack four codes into a byte."""
    padded = np.zeros(-(-len(codes) // 4) * 4, np.uint8)
    padded[: len(codes)] = codes
    return (padded[::4] | padded[1::4] << 2 | padded[2::4] << 4 | padded[3::4] << 6).tobytes()


def _unpacked(packed: npt.NDArray[np.uint8], n: int) -> npt.NDArray[np.uint8]:
    codes = np.empty((len(packed), 4), np.uint8)
    for place in range(4):
        codes[:, place] = packed >> 2 * place & 3
    return codes.reshape(-1)[:n]


def _cuts(size: npt.NDArray[np.int64], room: int) -> Iterator[tuple[int, int]]:
    """Yield where frames begin and end that take at most ``room``, of elements that take ``size`` each.

    They are about equally large, because all of an issue are padded to the largest.
    """
    ends = np.cumsum(size)
    total = int(ends[-1])
    room = min(room, -(-total // -(-total // room)) + int(size.max()))
    start, before = 0, 0
    while start < len(ends):
        stop = max(int(np.searchsorted(ends, before + room, "right")), start + 1)
        stop = min(stop, start + MOST)
        yield start, stop
        start, before = stop, int(ends[stop - 1])


_PLACE, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
_CHUNK = 1 << 16
"""Elements at a time: intermediate results stay in the cache."""


class Digest:
    """Digests of elements under one key, a sum over them, so that what changed is enough to follow it.

    Each element adds a mix of its number, its bits and a secret, modulo 2**64. The secret is the cluster's
    key; without one the digest guards against mistakes alone.
    """

    def __init__(self, key: bytes = b"") -> None:
        self._secret = np.frombuffer(hashlib.blake2b(key, digest_size=16, person=b"weights").digest(), "<u8")

    def sum_of(self, bits: Bits, start: int = 0) -> int:
        """Compute the digest of an array whose first element is number ``start``."""
        total = 0
        for first in range(0, len(bits), _CHUNK):
            block = bits[first : first + _CHUNK]
            number = start + first
            total += self._mixed(np.arange(number, number + len(block), dtype=np.uint64), block)
        return total % 2**64

    def sum_change(self, where: Index | slice, old: Bits, new: Bits, start: int = 0) -> int:
        """Compute what to add to a digest when these elements change."""
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
