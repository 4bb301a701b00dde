"""Frames of neighbouring segments: written in one go, and read in one go where they arrive together.

The segments of one update, or of one answer, have the same header but for two fields: the segment's number,
which goes up by one, and the version of its weights. So a run of such frames is one header, a list of
versions, and one stretch of the model.
"""

from __future__ import annotations

import numpy as np

from olaf.transport import wire
from olaf.transport.port import Frames, Run
from olaf.transport.segments import Vector

_HEADS = np.dtype(
    {
        "names": ["same", "segment", "weights_version"],
        "formats": [f"S{wire.OLAF_SEGMENT_AT}", ">u2", ">u2"],
        "offsets": [0, wire.OLAF_SEGMENT_AT, wire.OLAF_WEIGHTS_VERSION_AT],
        "itemsize": wire.OLAF_BYTES,
    }
)
_NUMBERS = np.arange(1 << 16, dtype=">u2")
"""All segments' numbers as they travel."""


class Writer:
    """Makes frames of headers, in memory that it uses again, and of values where they are."""

    def __init__(self) -> None:
        self._grow_room(1)

    def run(self, header: wire.Olaf, weights_versions: list[int], blocks: list[memoryview]) -> Frames:
        """Make one frame for each of ``weights_versions``, from ``header.segment`` on.

        They are to be sent before the next call.
        ``blocks``: their values, as ``segments.blocks`` divides them.
        """
        count, size = len(weights_versions), wire.OLAF_BYTES + len(blocks[0])
        if count == 1:
            header.weights_version = weights_versions[0]
            return Frames((memoryview(header.pack()), *blocks), size)
        if count > len(self._heads):
            self._grow_room(count)
        heads = self._heads[:count]
        heads["same"] = header.pack()[: wire.OLAF_SEGMENT_AT]
        heads["segment"] = _NUMBERS[header.segment : header.segment + count]
        heads["weights_version"] = weights_versions
        memory = blocks * 2
        memory[::2], memory[1::2] = self._each[:count], blocks
        return Frames(memory, size)

    def _grow_room(self, count: int) -> None:
        memory = memoryview(bytearray(count * wire.OLAF_BYTES))
        self._heads = _cut_heads(memory, wire.OLAF_BYTES, count)
        self._each = [memory[at : at + wire.OLAF_BYTES] for at in range(0, len(memory), wire.OLAF_BYTES)]


class Reader:
    """Takes values out of frames, into memory that it uses again."""

    def __init__(self) -> None:
        self._memory = np.empty(0, np.uint8)

    def values(self, run: Run, start: int) -> Vector:
        """Return the values after byte ``start`` of each frame, (n,), valid until the next call.

        Raises ValueError when a frame has no whole number of values there.
        """
        count = len(run)
        if count == 1:
            return np.frombuffer(run.data[start:], "<f4")
        each = run.size - start
        last = len(run.data) - (count - 1) * run.size - start
        if each < 0 or last < 0 or each % 4 or last % 4:
            raise ValueError(f"frames of {run.size} bytes hold no whole number of values after byte {start}")
        if len(self._memory) < count * each:
            self._memory = np.empty(count * each, np.uint8)
        full = (count - 1) * run.size
        frames = np.frombuffer(run.data, np.uint8)
        blocks = self._memory[: (count - 1) * each + last]
        blocks[: (count - 1) * each].reshape(count - 1, each)[:] = frames[:full].reshape(count - 1, run.size)[
            :, start:
        ]
        blocks[(count - 1) * each :] = frames[full + start :]
        return blocks.view("<f4")


def job(epoch: int) -> int:
    """Return the epoch, if a frame can carry it. Raises ValueError."""
    if not 0 <= epoch < wire.EPOCHS:
        raise ValueError(f"epoch {epoch} is not from 0 to {wire.EPOCHS - 1}")
    return epoch


def together(run: Run) -> list[Run]:
    """Cut the run into the longest pieces whose headers differ as those of neighbouring segments do."""
    count = len(run)
    if count <= 1:
        return [run]
    if len(run.data) - (count - 1) * run.size < wire.OLAF_BYTES:
        # Frames without a whole header are in pieces of their own.
        whole = count - 1 if run.size >= wire.OLAF_BYTES else 0
        alone = [run.part(number, number + 1) for number in range(whole, count)]
        return together(run.part(0, whole)) + alone if whole else alone
    heads = _cut_heads(run.data, run.size, count)
    same, segments = heads["same"], heads["segment"]
    alike, numbers = same.tobytes(), _NUMBERS[segments[0] :][:count]
    if alike == count * alike[: wire.OLAF_SEGMENT_AT] and segments.tobytes() == numbers.tobytes():
        return [run]  # as nearly always: a comparison by numpy costs three times as much
    broken = same[1:] != same[:-1]
    broken |= segments[1:] != segments[:-1] + 1
    breaks = [0, *(broken.nonzero()[0] + 1).tolist(), count]
    return [run.part(start, stop) for start, stop in zip(breaks, breaks[1:])]


def weights_versions(run: Run) -> list[int]:
    """Return the header field ``weights_version`` of each frame."""
    found: list[int] = _cut_heads(run.data, run.size, len(run))["weights_version"].tolist()
    return found


def _cut_heads(frames: memoryview, each: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    return np.ndarray((count,), _HEADS, frames, strides=(each,))
