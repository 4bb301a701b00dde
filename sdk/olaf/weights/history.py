"""What a publisher keeps: its newest version's bits, and when each element changed last (one byte each).

So whatever was touched since a version is one scan, for the last 127 to 254 versions, and no list of old
deltas is kept: what a player lacks follows from what it has.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from olaf.weights import codecs
from olaf.weights.codecs import Bits, Digest, Index, Part
from olaf.weights.tensors import Layout, State

_KEPT = 254
"""Versions after its origin that a byte tells apart; 0 stands for the origin and all before it."""
_DROPPED = 127
"""Versions by which the origin moves when it must."""

Parts = Iterator[tuple[int, Part]]


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
        self._moves: dict[int, tuple[Index, Bits]] = {}
        """Which elements the newest version changed, and by what."""
        self._before: State = {}
        """The version before the newest one, until its delta was made."""

    def advance(self, state: State, version: int) -> None:
        """A newer version; ``state`` is kept and belongs to this history from now on."""
        if not self._state:
            self.digest = (
                sum(self._digest.of(bits, self._layout.place(width)) for width, bits in state.items()) % 2**64
            )
            self._changed = {width: np.zeros(len(bits), np.uint8) for width, bits in state.items()}
            self._state, self.version, self.oldest = state, version, version
            return
        if version - self.oldest > _KEPT:
            self._shift(min(max(_DROPPED, version - self.oldest - _KEPT), version - self.oldest - 1))
        self._moves = {}
        for width, new in state.items():
            old = self._state[width]
            where = np.flatnonzero(old != new)
            before, after = old[where], new[where]
            self._moves[width] = where, after - before
            self.digest += self._digest.change(where, before, after, self._layout.place(width))
            self._changed[width][where] = version - self.oldest
        self.digest %= 2**64
        self._before, self._state, self.version = self._state, state, version

    def delta(self, room: int) -> Parts:
        """What leads from the version before the newest one to it, by the codec that takes least."""
        for width, (where, steps) in self._moves.items():
            yield from ((width, part) for part in self._least(width, where, steps, room))
        self._moves, self._before = {}, {}

    def since(self, base: int, room: int) -> Parts:
        """All elements touched after ``base``, which is not before ``oldest``."""
        for width, changed in self._changed.items():
            where = np.flatnonzero(changed > base - self.oldest)
            values = self._state[width][where]
            if len(where) * (1 + width) < len(changed) * width:
                if len(where):
                    yield from ((width, part) for part in codecs.absolute(where, values, room))
            else:
                yield from ((width, part) for part in codecs.full(self._state[width], room))

    def whole(self, room: int) -> Parts:
        """All elements."""
        for width, bits in self._state.items():
            yield from ((width, part) for part in codecs.full(bits, room))

    def _least(self, width: int, where: Index, steps: Bits, room: int) -> Iterator[Part]:
        """The codec that takes the fewest bytes, by what there is to send."""
        if not len(where):
            return iter(())
        new = self._state[width]
        signed = steps.view(f"<i{width}")
        short = int(np.count_nonzero((signed != 1) & (signed != -1)))
        far = int(np.count_nonzero((signed > 127) | (signed < -127)))
        sparse = 1.25 * len(where) + (short - far) + width * far
        dense = len(new) + width * far
        if min(sparse, dense) >= len(new) * width:
            return codecs.full(new, room)
        if sparse <= dense:
            return codecs.ulps(where, steps, room)
        return codecs.every(self._before[width], new, room)

    def _shift(self, versions: int) -> None:
        """Forget in which of the oldest versions elements changed."""
        for changed in self._changed.values():
            most = np.uint8(min(versions, 255))
            np.maximum(changed, most, out=changed)
            changed -= most
        self.oldest += versions
