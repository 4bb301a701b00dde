"""The codec by which players have a version first, by what a sample of a late version took.

A small version goes by the codec that takes the fewest bytes, as does every one in virtual time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Callable, NamedTuple, TypeVar

import numpy as np

from olaf.transport.wire import Codec
from olaf.weights import codecs, streams
from olaf.weights.codecs import Bits, Part

THREADS = min(4, os.cpu_count() or 1)
"""Threads that encode."""
_LEAST = 1 << 16
"""Elements from which on a sample is worth its time."""
_PIECES, _PIECE = 16, 2048
"""Places that a sample is taken from, and elements of each."""
_AGAIN, _MOVED = 16, 1.25
"""Versions after which a sample is taken again, and the change of the fewest bytes at which it is at once."""
_NEAR = 8
"""Times the fewest bytes beyond which a codec is not tried."""
T = TypeVar("T")


class WayDown(NamedTuple):
    """The way to the players."""

    seconds: float
    """That a byte takes to all players."""
    zstd: bool
    """Whether all of them decode it."""
    timed: bool
    """Whether work takes time on the way's clock."""


class _Cost(NamedTuple):
    """What a codec took, for each element, changed or not."""

    bytes: float
    encoding: float
    """Seconds of one thread."""
    decoding: float


class _Sample(NamedTuple):
    costs: Mapping[Codec, _Cost]
    fewest: float
    """Bytes for each element."""
    zstd: bool


class Choice:
    """Chooses the codec of each version and width."""

    def __init__(self) -> None:
        self._samples: dict[int, _Sample] = {}
        self._versions: dict[int, int] = {}
        """Since the sample, by width."""

    def choose_codec(
        self, sizes: Mapping[Codec, float], old: Bits, new: Bits, room: int, link: WayDown
    ) -> Codec:
        """Choose among the codecs in ``sizes``, which says what bytes each takes, and zstd."""
        fewest = min(sizes, key=lambda codec: sizes[codec])
        if not link.timed or len(new) < _LEAST:
            return fewest
        near = [codec for codec in sizes if sizes[codec] <= _NEAR * sizes[fewest]]
        costs = self._sample(near, sizes[fewest] / len(new), old, new, room, link.zstd).costs

        def seconds(codec: Codec) -> float:
            cost = costs[codec]
            size = sizes.get(codec, cost.bytes * len(new))
            return size * link.seconds + len(new) * (cost.encoding / THREADS + cost.decoding)

        return min((codec for codec in (*near, Codec.ZSTD) if codec in costs), key=seconds)

    def _sample(
        self, near: list[Codec], fewest: float, old: Bits, new: Bits, room: int, zstd: bool
    ) -> _Sample:
        """Return the last sample, or one of these versions where that is old or differs."""
        width = new.itemsize
        last = self._samples.get(width)
        self._versions[width] = self._versions.get(width, 0) + 1
        if (
            last is None
            or self._versions[width] > _AGAIN
            or last.zstd != zstd
            or not fewest / _MOVED <= last.fewest <= fewest * _MOVED
            or not set(near) <= last.costs.keys()
        ):
            starts = np.linspace(0, len(new) - _PIECE, _PIECES).astype(np.int64)
            before, after = (
                np.concatenate([bits[start : start + _PIECE] for start in starts]) for bits in (old, new)
            )
            tried = [*near, Codec.ZSTD] if zstd else near
            costs = {codec: _measure(codec, before, after, room) for codec in tried}
            last = self._samples[width] = _Sample(costs, fewest, zstd)
            self._versions[width] = 0
        return last


def encode_block(codec: Codec, old: Bits, new: Bits, room: int, start: int) -> list[Part]:
    """Encode what leads from ``old`` to ``new``, the first of which is element ``start``."""
    if codec == Codec.ULP:
        found = np.flatnonzero(old != new)
        return list(codecs.encode_ulps(found + start, new[found] - old[found], room)) if len(found) else []
    if codec == Codec.FULL:
        return list(codecs.encode_full(new, room, start))
    encode = codecs.encode_all if codec == Codec.ALL else codecs.encode_deflated
    return list(encode(old, new, room, start))


def _measure(codec: Codec, old: Bits, new: Bits, room: int) -> _Cost:
    parts, encoding = _timed(lambda: _encode(codec, old, new, room))
    _, decoding = _timed(lambda: _decode(codec, parts, old.copy()))
    size = sum(len(part.payload) for part in parts)
    return _Cost(size / len(new), encoding / len(new), decoding / len(new))


def _encode(codec: Codec, old: Bits, new: Bits, room: int) -> list[Part]:
    if codec == Codec.ZSTD:
        return list(streams.cut_stream([streams.pack_block(old, new)], room))
    return encode_block(codec, old, new, room, 0)


def _decode(codec: Codec, parts: list[Part], state: Bits) -> None:
    width, length = state.itemsize, len(state)
    if codec == Codec.ZSTD:
        payloads = [memoryview(part.payload) for part in parts]
        patches = streams.decode_stream(payloads, width, length)
    else:
        patches = (
            codecs.decode_payload(part.codec, part.first, part.n, width, memoryview(part.payload), length)
            for part in parts
        )
    for patch in patches:
        state[patch.where] = patch.apply_to(state[patch.where])


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return the result, and the seconds of the faster of two runs: the other may have waited."""
    took = []
    for _ in range(2):
        began = time.perf_counter()
        result = work()
        took.append(time.perf_counter() - began)
    return result, min(took)
