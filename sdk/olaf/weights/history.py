"""What a publisher keeps: its newest version's bits, and when each element changed last (one byte each).

What was touched since a version is one scan, for the last 127 to 254 versions, and no list of old deltas is
kept: what a player lacks follows from what it has. Versions are compared and encoded in blocks, by several
threads where there are several processors, so that no more than a block's intermediate results are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Callable, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from olaf.transport.wire import Codec
from olaf.weights import codecs, streams
from olaf.weights.choice import THREADS, Choice, WayDown, encode_block
from olaf.weights.codecs import Digest, Index, Part
from olaf.weights.tensors import Layout, State

_KEPT = 254
"""Versions after its origin that a byte tells apart; 0 stands for the origin and all before it."""
_DROPPED = 127
"""Versions by which the origin moves when it must."""
_BLOCK = 1 << 18
"""Elements that are compared and encoded at a time."""
_HEAD = 80
"""Bytes that the code lengths of a deflated frame take."""

Parts = Iterator[tuple[int, Part]]
T = TypeVar("T")


class _Change(NamedTuple):
    """What two versions of a block differ by."""

    steps: npt.NDArray[np.int64]
    """Elements by their step as a byte, 0 for none; -128 stands for every step beyond a byte: (256,)."""
    digest: int
    """Digest of the newer version's block."""


class History:
    """Changes of one shard."""

    def __init__(self, layout: Layout, digest: Digest) -> None:
        self.version = 0
        self.digest = 0
        self.oldest = 0
        """From versions before this one only the whole leads on."""
        self._layout, self._digest = layout, digest
        self._state: State = {}
        self._changed: dict[int, npt.NDArray[np.uint8]] = {}
        self._sums: dict[int, list[int]] = {}
        """Digests of the blocks, by width."""
        self._steps: dict[int, npt.NDArray[np.int64]] = {}
        """How many elements the newest version moved by each step, by width."""
        self._before: State = {}
        """The version before the newest one, until its delta was made."""
        self._choice = Choice()
        self._pool = ThreadPoolExecutor(THREADS, "olaf")

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()

    def take_version(self, state: State, version: int) -> None:
        """Take a newer version; ``state`` belongs to this history from now on."""
        if not self._state:
            for width, bits in state.items():
                self._sums[width] = self._mapped(bits, partial(self._summed, width, bits))
            self._changed = {width: np.zeros(len(bits), np.uint8) for width, bits in state.items()}
            self._state, self.version, self.oldest = state, version, version
        else:
            if version - self.oldest > _KEPT:
                self._shift(min(max(_DROPPED, version - self.oldest - _KEPT), version - self.oldest - 1))
            for width, new in state.items():
                found = self._mapped(new, partial(self._compare, width, new, version))
                self._sums[width] = [one.digest for one in found]
                self._steps[width] = np.sum([one.steps for one in found] or [np.zeros(256, np.int64)], 0)
            self._before, self._state, self.version = self._state, state, version
        self.digest = sum(map(sum, self._sums.values())) % 2**64

    def encode_delta(self, room: int, link: WayDown) -> Parts:
        """Yield what leads from the version before the newest one to it, by the codec that suits the link."""
        for width, steps in self._steps.items():
            new, old = self._state[width], self._before[width]
            if not (sizes := _foresee_sizes(steps, len(new), width, room)):
                continue
            codec = self._choice.choose_codec(sizes, old, new, room, link)
            if codec == Codec.ZSTD:
                packed = self._mapped(new, partial(_pack, old, new))
                yield from ((width, part) for part in streams.cut_stream(packed, room))
                continue
            encode = partial(_encode, codec, old, new, room)
            yield from ((width, part) for parts in self._mapped(new, encode) for part in parts)
        self._steps, self._before = {}, {}

    def encode_since(self, base: int, room: int) -> Parts:
        """Yield all elements touched after ``base``, which is not before ``oldest``."""
        for width, changed in self._changed.items():
            state, age = self._state[width], base - self.oldest
            touched = sum(self._mapped(changed, partial(_count_newer, changed, age)))
            if touched * (1 + width) >= len(changed) * width:
                yield from ((width, part) for part in codecs.encode_full(state, room))
            elif touched:
                for parts in self._mapped(changed, partial(_newer, changed, age, state, room)):
                    yield from ((width, part) for part in parts)

    def encode_whole(self, room: int) -> Parts:
        """Yield all elements."""
        for width, bits in self._state.items():
            yield from ((width, part) for part in codecs.encode_full(bits, room))

    def _summed(self, width: int, bits: codecs.Bits, block: slice) -> int:
        """Compute the digest of a block."""
        return self._digest.sum_of(bits[block], self._layout.first_element(width) + block.start)

    def _compare(self, width: int, new: codecs.Bits, version: int, block: slice) -> _Change:
        """Compare a block with the version before, and mark what has changed."""
        old, now = self._state[width][block], new[block]
        differ = old != now
        count = int(np.count_nonzero(differ))
        start, digest = (
            self._layout.first_element(width) + block.start,
            self._sums[width][block.start // _BLOCK],
        )
        if not count:
            return _Change(_counted(np.zeros(0, np.int8), len(now)), digest)
        self._changed[width][block][differ] = version - self.oldest
        if 2 * count > len(now):
            return _Change(_counted(codecs.short_steps(old, now)[0], 0), self._summed(width, new, block))
        where = np.flatnonzero(differ)
        before, after = old[where], now[where]
        digest += self._digest.sum_change(where, before, after, start)
        return _Change(_counted(codecs.short_steps(before, after)[0], len(now) - count), digest)

    def _mapped(self, bits: npt.NDArray[np.generic], work: Callable[[slice], T]) -> list[T]:
        """Do this work on all blocks of an array, in their order."""
        blocks = [slice(s, min(s + _BLOCK, len(bits))) for s in range(0, len(bits), _BLOCK)]
        return list(self._pool.map(work, blocks) if len(blocks) > 1 else map(work, blocks))

    def _shift(self, versions: int) -> None:
        """Forget in which of the oldest versions elements changed."""
        for changed in self._changed.values():
            most = np.uint8(min(versions, 255))
            np.maximum(changed, most, out=changed)
            changed -= most
        self.oldest += versions


def _foresee_sizes(steps: npt.NDArray[np.int64], elements: int, width: int, room: int) -> dict[Codec, float]:
    """Return the bytes of each codec, by how many elements move by each step; none if nothing changed."""
    count, far = int(steps.sum() - steps[0]), int(steps[128])
    if not count:
        return {}
    share = steps[steps > 0] / elements
    entropy = float(-(share * np.log2(share)).sum()) / 8
    return {
        Codec.ULP: 1.25 * count + (count - steps[1] - steps[255] - far) + width * far,
        Codec.ALL: elements + width * far,
        Codec.DEFLATED: 1.02 * max(entropy, 1 / 8) * elements * (1 + _HEAD / room) + width * far,
        Codec.FULL: elements * width,
    }


def _encode(codec: Codec, old: codecs.Bits, new: codecs.Bits, room: int, block: slice) -> list[Part]:
    """Encode a block."""
    return encode_block(codec, old[block], new[block], room, block.start)


def _pack(old: codecs.Bits, new: codecs.Bits, block: slice) -> bytes:
    """Encode a block for a stream."""
    return streams.pack_block(old[block], new[block])


def _found(marks: npt.NDArray[np.bool_], block: slice) -> Index:
    """Return the numbers of the marked elements of a block."""
    found: Index = np.flatnonzero(marks) + block.start
    return found


def _counted(steps: npt.NDArray[np.int8], others: int) -> npt.NDArray[np.int64]:
    """Count steps by their value as a byte; ``others`` have none."""
    counts: npt.NDArray[np.int64] = np.bincount(steps.view(np.uint8), minlength=256)
    counts[0] += others
    return counts


def _count_newer(changed: npt.NDArray[np.uint8], age: int, block: slice) -> int:
    """Count elements of a block that changed after ``age``."""
    return int(np.count_nonzero(changed[block] > age))


def _newer(
    changed: npt.NDArray[np.uint8], age: int, state: codecs.Bits, room: int, block: slice
) -> list[Part]:
    """Encode the elements of a block that changed after ``age``."""
    where = _found(changed[block] > age, block)
    return list(codecs.encode_set(where, state[where], room)) if len(where) else []
