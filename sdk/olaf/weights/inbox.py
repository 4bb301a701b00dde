"""What a player has of the weights, and what is on its way: frames are staged, a version is committed whole.

A version is committed when all frames of issues that lead to it are there and its digest is the
publisher's. If it is not, every element goes back to what it was, and the next request is for the
whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count as counting

import numpy as np

from olaf.transport.wire import PARITY_FRAMES, Codec, Manifest
from olaf.weights import codecs, streams
from olaf.weights.codecs import BadFrame, Bits, Digest, Index, Patch
from olaf.weights.issues import Frame, repair_frame
from olaf.weights.models import Adopted
from olaf.weights.tensors import Layout, State

_MOST_STAGED = 16
"""Issues under way; what comes on top replaces the oldest one."""
_MOST_RANGES = 150
_SERIAL = 1 << 31
_EXACT = (Codec.ULP, Codec.ALL, Codec.DEFLATED, Codec.ZSTD)
"""Codecs of steps, which lead on from one version alone."""

Undo = list[tuple[int, "Index | slice", Bits]]


@dataclass(eq=False)
class Staged:
    """One issue, as far as it came."""

    version: int
    base: int
    count: int
    frames: dict[int, Frame] = field(default_factory=dict)
    parities: dict[int, Frame] = field(default_factory=dict)
    """Parity frames by block."""
    due: float = float("inf")
    """When the player requests its missing frames."""
    tries: int = 0
    readable: bool = True
    """Whether this machine has the library that its codec needs."""
    ended: bool = False
    """Whether its last frame, or one of a later issue, has come: what is missing now was lost."""

    @property
    def whole(self) -> bool:
        """All frames are here."""
        return len(self.frames) == self.count

    @property
    def exact(self) -> bool:
        """Whether it applies to its base alone."""
        return any(frame.delta.codec in _EXACT for frame in self.frames.values())

    def applies(self, have: int) -> bool:
        """Return whether this issue leads on from version ``have``."""
        if not self.readable:
            return False
        if self.base == 0 or self.base == have:
            return True
        return not self.exact and 0 < self.base < have < self.version

    @property
    def manifest(self) -> Manifest | None:
        """Its last frame."""
        frame = self.frames.get(self.count - 1)
        return Manifest.unpack(frame.payload) if frame is not None else None

    def put(self, frame: Frame) -> bool:
        """Keep a frame, and what its block's parity makes of it; whether it was needed."""
        number = frame.olaf.seq
        block = number // PARITY_FRAMES
        if frame.delta.codec == Codec.PARITY:
            if not self._lacks(block):
                return False
            self.parities[block] = frame
        elif number in self.frames:
            return False
        else:
            self.frames[number] = frame
        if block in self.parities:
            self._repair(block)
        return True

    def _lacks(self, block: int) -> list[int]:
        """List the missing frames of a block."""
        start = block * PARITY_FRAMES
        return [n for n in range(start, min(start + PARITY_FRAMES, self.count - 1)) if n not in self.frames]

    def _repair(self, block: int) -> None:
        lacks, start = self._lacks(block), block * PARITY_FRAMES
        others = [
            self.frames[n]
            for n in range(start, min(start + PARITY_FRAMES, self.count - 1))
            if n in self.frames
        ]
        if len(lacks) == 1 and others:
            made = repair_frame(self.parities.pop(block), others, lacks[0])
            if made is not None:
                self.frames[lacks[0]] = made

    def missing_ranges(self) -> list[tuple[int, int]]:
        """List ranges of missing frames: first and count."""
        ranges: list[tuple[int, int]] = []
        after = 0
        for number in (*sorted(self.frames), self.count):
            if number > after:
                ranges.append((after, number - after))
                if len(ranges) == _MOST_RANGES:
                    break
            after = number + 1
        return ranges


class Inbox:
    """What a player has received of versions, and the newest one that is whole and checked."""

    def __init__(self, layout: Layout, digest: Digest) -> None:
        self.line = 0
        self.run = 0
        """Numbers the publisher's runs as they were heard: a version is known by its run and its number."""
        self.have = 0
        """Version that was committed last; 0: none."""
        self.newest = 0
        """Newest version that frames lead to."""
        self.published = 0
        """Newest version that the publisher has published, by all of its frames."""
        self.when = 0
        """When the committed version was published, ns modulo 2**48."""
        self.state: State = {}
        """The elements of the committed version."""
        self.proof = b""
        """The publisher's manifest of it."""
        self.staged: dict[tuple[int, int], Staged] = {}
        self.counts: Counter[str] = Counter()
        """What was refused, by reason, and what was committed."""
        self.decodes = streams.DECODES
        """Codecs that it has beside those that everyone has, as messages tell them."""
        self.broken = False
        """Whether only the whole helps."""
        self.dirty = {width: np.zeros(0, np.bool_) for width in layout.counts}
        """Tensors of the layout, by width, that changed since they were installed."""
        self._layout, self._digest = layout, digest
        self._sum = 0
        self._starts = {
            width: np.array([tensor.start for tensor in layout.own if tensor.width == width and tensor.count])
            for width in layout.counts
        }
        self.all_dirty()
        self._most_frames = sum(layout.counts.values()) + 1

    def all_dirty(self) -> None:
        """Install every tensor again."""
        self.dirty = {width: np.ones(len(starts), np.bool_) for width, starts in self._starts.items()}

    def take_manifest(self, frame: Frame) -> None:
        """Take a genuine manifest: of the newest version, perhaps of a publisher that began again."""
        delta, manifest = frame.delta, Manifest.unpack(frame.payload)
        if delta.line != self.line or self._contradicts(frame, manifest):
            kept = self.have and manifest.digest == self._sum and not self.broken
            self.line, self.have = delta.line, delta.version if kept else 0
            self.run += 1
            self.staged.clear()
            self.newest = self.published = 0
            self.counts["lines"] += 1
            if kept:
                self.when, self.proof = frame.olaf.gen_time, frame.raw

    def _contradicts(self, frame: Frame, manifest: Manifest) -> bool:
        """Return whether a later run gives the committed version's number to another state."""
        later = 0 < (frame.olaf.gen_time - self.when) % (1 << 48) < 1 << 47
        return frame.delta.version == self.have and manifest.digest != self._sum and later

    def resume_from(self, adopted: Adopted, state: State) -> None:
        """Go on from what was committed before and kept: if it is that, the next digest fits."""
        self.line, self.have, self.when = adopted
        self.newest = self.published = self.have
        self.state = state
        self._sum = self._total(state)
        self.dirty = {width: np.zeros(len(starts), np.bool_) for width, starts in self._starts.items()}

    def _total(self, state: State) -> int:
        """Compute the digest of all elements."""
        return (
            sum(self._digest.sum_of(bits, self._layout.first_element(width)) for width, bits in state.items())
            % 2**64
        )

    def newer_line(self, line: int) -> bool:
        """Return whether a publisher's run began after the one that counts."""
        return self.line == 0 or 0 < (line - self.line) % (1 << 32) < _SERIAL

    def stage_frame(self, frame: Frame) -> Staged | None:
        """Stage a frame of the line that counts; return its issue, None where it is not needed."""
        delta = frame.delta
        self.newest = max(self.newest, delta.version)
        self.published = max(self.published, frame.newest)
        key = delta.version, delta.base
        staged = self.staged.get(key)
        if delta.version <= self.have or delta.frames > self._most_frames:
            self.counts["late"] += 1
            return None
        if staged is None:
            if len(self.staged) >= _MOST_STAGED:
                del self.staged[min(self.staged)]
            staged = self.staged[key] = Staged(delta.version, delta.base, delta.frames)
        if delta.codec == Codec.ZSTD and not self.decodes:
            staged.readable = False
            self.counts["zstd"] += 1
            return None
        if delta.frames != staged.count or not staged.put(frame):
            self.counts["doubled"] += 1
            return None
        return staged

    def find_path(self) -> list[Staged]:
        """List issues, whole or not, that lead from the committed version to the newest; none if none do."""
        have = self.have
        path: list[Staged] = []
        while have < self.newest:
            ways = [
                one for one in self.staged.values()
                if one.version > have and one.applies(have) and not (self.broken and one.base and not path)
            ]  # fmt: skip
            if not ways:
                return []
            path.append(max(ways, key=lambda one: (one.whole, one.base > 0, one.version)))
            have = path[-1].version
        return path

    def commit_ready(self) -> bool:
        """Commit what leads on and is whole; whether anything was committed."""
        before = self.counts["committed"]
        for _ in counting():
            ready = [
                one for one in self.staged.values()
                if one.whole and one.applies(self.have) and not (self.broken and one.base)
            ]  # fmt: skip
            if not ready:
                break
            chosen = max(ready, key=lambda one: (one.base > 0, one.version))
            self._commit(chosen)
            for key in [key for key in self.staged if key[0] <= self.have]:
                del self.staged[key]
        return self.counts["committed"] > before

    @property
    def size(self) -> int:
        """Bytes of ``whole``."""
        return len(self.proof) + sum(bits.nbytes for bits in self.state.values())

    def whole(self) -> bytes:
        """Return the committed version for another player: its manifest, then its elements."""
        return b"".join([self.proof, *(bits.tobytes() for bits in self.state.values())])

    def stage_whole(self, manifest: Frame, elements: memoryview) -> None:
        """Stage a whole version from another player; ``manifest`` is the publisher's."""
        self.take_manifest(manifest)
        self.newest = max(self.newest, manifest.delta.version)
        self.published = max(self.published, manifest.newest)
        frames: dict[int, Frame] = {}
        for width, count in self._layout.counts.items():
            if count:
                delta = replace(manifest.delta, codec=Codec.FULL, width=width, first=0, n=count)
                frames[len(frames)] = Frame(manifest.olaf, delta, elements[: count * width], b"")
                elements = elements[count * width :]
        frames[len(frames)] = manifest
        version = manifest.delta.version
        self.staged[version, 0] = Staged(version, 0, len(frames), frames)

    def check_digest(self) -> bool:
        """Return whether the committed elements still have their digest; if not, ask for the whole."""
        if self._total(self.state) != self._sum:
            self.counts["unsound"] += 1
            self.broken = True
        return not self.broken

    def _commit(self, staged: Staged) -> None:
        del self.staged[staged.version, staged.base]
        manifest = staged.manifest
        assert manifest is not None
        undo: Undo = []
        state = self.state if staged.base else self._layout.zero_state()
        try:
            total = self._applied(staged, state, undo)
        except BadFrame:
            total = None
        if total != manifest.digest:
            for width, where, old in reversed(undo):
                state[width][where] = old
            self.counts["digest"] += 1
            self.broken = True
            return
        if not staged.base:
            self.all_dirty()
        self.state, self._sum, self.have, self.broken = state, manifest.digest, staged.version, False
        last = staged.frames[staged.count - 1]
        self.when, self.proof = last.olaf.gen_time, last.raw
        self.counts["committed"] += 1

    def _applied(self, staged: Staged, state: State, undo: Undo) -> int:
        """Apply all frames; the digest afterwards. Raises BadFrame."""
        total = self._sum
        deltas = [staged.frames[number].delta for number in range(staged.count - 1)]
        runs = sum(delta.n for delta in deltas if delta.codec not in (Codec.ULP, Codec.SET))
        streamed = any(delta.codec == Codec.ZSTD for delta in deltas)
        dense = not staged.base or streamed or 2 * runs > sum(map(len, state.values()))
        for width, patch in self._decoded(staged):
            bits = state[width]
            if not staged.base:
                bits[patch.where] = patch.apply_to(bits[patch.where])
                continue
            old = bits[patch.where].copy()
            new = patch.apply_to(old)
            undo.append((width, patch.where, old))
            bits[patch.where] = new
            if not dense:
                total += self._digest.sum_change(patch.where, old, new, self._layout.first_element(width))
            self._touched(width, patch.where)
        return self._total(state) if dense else total % 2**64

    def _decoded(self, staged: Staged) -> Iterator[tuple[int, Patch]]:
        """Yield widths and patches. Raises BadFrame."""
        pieces: dict[int, list[memoryview]] = {}
        for number in range(staged.count - 1):
            frame = staged.frames[number]
            delta, length = frame.delta, self._layout.counts.get(frame.delta.width)
            if length is None:
                raise BadFrame(f"the model has no elements of {delta.width} bytes")
            if delta.codec == Codec.ZSTD:
                pieces.setdefault(delta.width, []).append(frame.payload)
            else:
                found = codecs.decode_payload(
                    delta.codec, delta.first, delta.n, delta.width, frame.payload, length
                )
                yield delta.width, found
        for width, payloads in pieces.items():
            for patch in streams.decode_stream(payloads, width, self._layout.counts[width]):
                yield width, patch

    def _touched(self, width: int, where: Index | slice) -> None:
        starts = self._starts[width]
        if isinstance(where, slice):
            low, high = np.searchsorted(starts, (where.start, where.stop - 1), "right") - 1
            self.dirty[width][low : high + 1] = True
        else:
            self.dirty[width][np.searchsorted(starts, where, "right") - 1] = True
