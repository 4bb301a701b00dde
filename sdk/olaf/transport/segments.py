"""A model as a run of segments: blocks of equal size, the last one perhaps shorter, each one frame."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from olaf.guards import as_number
from olaf.transport import wire

Vector = npt.NDArray[np.float32]
Mark = TypeVar("Mark")

STANDARD_MTU, JUMBO_MTU = wire.STANDARD_MTU, wire.JUMBO_MTU
MOST_SEGMENTS = 65535
_OVERFLOW = float(np.finfo(np.float32).max) + 2.0**103
"""From here on rounding to binary32 overflows: half a unit above the largest."""


@dataclass(frozen=True)
class Segments:
    """``values`` values in ``count`` segments of ``size`` values; fixed by ``values`` and ``count`` alone."""

    values: int
    count: int

    def __post_init__(self) -> None:
        """Raises ValueError where a segment would have no value."""
        if (
            self.values < 1
            or not 1 <= self.count <= MOST_SEGMENTS
            or (self.count - 1) * self.size >= self.values
        ):
            raise ValueError(f"{self.values} values cannot be divided into {self.count} segments")

    @classmethod
    def of(cls, values: int, mtu: int) -> Segments:
        """Divide a model into as few segments as fit IP packets of ``mtu`` bytes, also as ACKs with a status
        header.

        Raises ValueError when ``mtu`` leaves no room for a value, or for no values.
        """
        fit = wire.packet_values(mtu)
        if fit < 1 or values < 1:
            raise ValueError(f"a model of {values} values cannot be sent with an MTU of {mtu} bytes")
        count = -(-values // fit)
        if count > MOST_SEGMENTS:
            raise ValueError(
                f"a model of {values} values has {count} segments at an MTU of {mtu} bytes, and "
                f"{MOST_SEGMENTS} are the most: give jumbo frames (mtu={JUMBO_MTU}), or a smaller model"
            )
        return cls(values, count)

    @cached_property
    def size(self) -> int:
        """Values in every segment but the last."""
        return -(-self.values // self.count)

    def span(self, segments: range) -> slice:
        """Return neighbouring segments' place in the flat model. Raises IndexError if they do not exist."""
        if not 0 <= segments.start < segments.stop <= self.count:
            raise IndexError(f"segment {segments.stop - 1} of {self.count} does not exist")
        return slice(segments.start * self.size, min(segments.stop * self.size, self.values))

    def slice(self, segment: int) -> slice:
        """Return the segment's place in the flat model. Raises IndexError if it does not exist."""
        return self.span(range(segment, segment + 1))

    def fit(self, first: int, count: int, size: int, values: int) -> bool:
        """Return whether ``count`` segments from ``first`` on fit ``values`` values in blocks of ``size``."""
        stop = first + count
        if stop > self.count or (count > 1 and size != self.size):
            return False
        return bool(min(stop * self.size, self.values) - first * self.size == values)

    def length(self, segment: int) -> int:
        """Return the number of values in the segment."""
        place = self.slice(segment)
        return int(place.stop - place.start)


def stretches(marks: list[Mark], first: int = 0) -> list[tuple[Mark, range]]:
    """Group neighbouring segments with equal marks; ``first`` is the first mark's segment."""
    count = len(marks)
    if count == 1 or (count and marks.count(marks[0]) == count):  # as nearly always
        return [(marks[0], range(first, first + count))]
    found = []
    for mark, group in groupby(marks):
        stop = first + len(list(group))
        found.append((mark, range(first, stop)))
        first = stop
    return found


def binary32(values: npt.ArrayLike) -> Vector:
    """Convert numbers to binary32, too large ones to infinite ones. Raises TypeError for complex ones."""
    array = np.asarray(values)
    if np.iscomplexobj(array):
        raise TypeError("an update cannot have complex numbers: give real and imaginary parts")
    with np.errstate(all="ignore"):
        return array.astype(np.float32, copy=False)


def finite(values: Vector) -> bool:
    """Return whether all values are finite: one that is not spoils the sum, which is ten times as fast to
    look at.

    einsum's, since that of ``sum`` is careful with rounding, which costs half of its time.
    """
    return math.isfinite(np.einsum("i->", values)) or bool(np.isfinite(values).all())


def representable(reward: float) -> bool:
    """Check that binary32 holds a number: finite, or the -inf that stands for an unknown reward."""
    number = as_number(reward)
    return number == -math.inf or abs(number) < _OVERFLOW  # false for NaN


def payload(values: Vector) -> memoryview:
    """Return the values as they travel: little-endian binary32, without a copy where memory has them so."""
    return np.ascontiguousarray(values, dtype="<f4").data.cast("B")


def blocks(values: Vector, size: int) -> list[memoryview]:
    """Return the payloads of neighbouring segments of ``size`` values, the last perhaps shorter."""
    body, each = payload(values), 4 * size
    return [body[start : start + each] for start in range(0, len(body), each)]


def values_of(data: memoryview) -> Vector:
    """View a payload as values, read-only. Raises ValueError when its length is not a multiple of 4."""
    return np.frombuffer(data, dtype="<f4")
