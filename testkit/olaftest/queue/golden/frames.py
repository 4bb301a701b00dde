"""Updates as they arrive: which of their bytes came, what their headers state, what is wrong with them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import (
    BEAT_BYTES,
    ETHERNET,
    GRADIENT_OFFSET,
    IPV4,
    OLAF,
    VERSION,
    Flag,
    FrameType,
)
from olaftest.queue.golden.reward import Reward
from olaftest.queue.model import Sidecar

Gradients = npt.NDArray[np.float32]
ALL_BYTES = (1 << BEAT_BYTES) - 1
"""The tkeep of a whole beat."""
_HEADER_AT = GRADIENT_OFFSET - OLAF.size
_UDP_LENGTH_AT = ETHERNET.size + IPV4.size + 4
_UDP_CHECKSUM_AT = ETHERNET.size + IPV4.size + 6


def keeps_of(frame: bytes) -> list[int]:
    """Return the tkeep of each beat of a frame without holes."""
    counts = [min(BEAT_BYTES, len(frame) - at) for at in range(0, len(frame), BEAT_BYTES)]
    return [(1 << count) - 1 for count in counts]


def header_field(header: bytes, name: str) -> int:
    """Return a field of the Olaf header, of a frame's first 64 bytes."""
    place = OLAF.offset(name)
    bits = OLAF.field(name).bits
    whole = int.from_bytes(header[_HEADER_AT:GRADIENT_OFFSET], "big")
    return whole >> (OLAF.bits - place - bits) & (1 << bits) - 1


def with_fields(header: bytes, **values: int) -> bytes:
    """Return the first 64 bytes with these fields of the Olaf header."""
    whole = int.from_bytes(header[_HEADER_AT:GRADIENT_OFFSET], "big")
    for name, value in values.items():
        bits = OLAF.field(name).bits
        low = OLAF.bits - OLAF.offset(name) - bits
        whole = whole & ~((1 << bits) - 1 << low) | value << low
    return header[:_HEADER_AT] + whole.to_bytes(OLAF.size, "big")


def without_checksum(header: bytes) -> bytes:
    """Return the first 64 bytes with a UDP checksum of 0: the payload is no longer what the sender summed."""
    return header[:_UDP_CHECKSUM_AT] + bytes(2) + header[_UDP_CHECKSUM_AT + 2 :]


@dataclass(frozen=True, eq=False)
class GoldenUpdate:
    """An update, read."""

    sidecar: Sidecar
    header: bytes
    """Its first 64 bytes."""
    gradients: Gradients
    """As declared; 0 where they did not arrive."""
    arrived: npt.NDArray[np.bool_]
    """Values that arrived, to their last byte."""
    fault: str | None
    """The counter of what is wrong with its headers."""
    ending: str
    """"good", "truncated" or "overlong"."""
    headless: bool
    """Its first 64 bytes did not all arrive: nothing is known of it but its sidecar."""
    weighed: bool = False
    """Whether this queue has weighed the update."""

    @classmethod
    def read(
        cls, sidecar: Sidecar, frame: bytes, keeps: Sequence[int] | None, geometry: Geometry
    ) -> "GoldenUpdate":
        """Read an update from the beats on the wire; with ``keeps``, ``frame`` is whole beats of which those
        bytes count."""
        masks = keeps_of(frame) if keeps is None else keeps
        data = frame.ljust(len(masks) * BEAT_BYTES, b"\0")
        headless = masks[0] != ALL_BYTES
        header = data[:GRADIENT_OFFSET]
        fault = _find_fault(sidecar, header, headless, geometry)
        values = 0 if fault else max(0, sidecar.size - GRADIENT_OFFSET) // 4
        kept = np.unpackbits(
            np.frombuffer(b"".join(mask.to_bytes(8, "little") for mask in masks), np.uint8), bitorder="little"
        )
        end = GRADIENT_OFFSET + 4 * values
        body = np.frombuffer(data[GRADIENT_OFFSET:end].ljust(4 * values, b"\0"), "<f4").astype(np.float32)
        came = np.zeros(4 * values, dtype=np.uint8)
        some = kept[GRADIENT_OFFSET:end]
        came[: len(some)] = some
        arrived = np.asarray(came.reshape(values, 4).all(axis=1))
        gradients = np.where(arrived, body.view(np.uint32), np.uint32(0)).view(np.float32)
        ending = _judge_ending(sidecar.size, masks)
        return cls(sidecar, header, gradients, arrived, fault, ending, headless)

    def reward(self, threshold: int) -> Reward:
        return Reward(header_field(self.header, "reward"), threshold)

    @property
    def aggregated(self) -> bool:
        return bool(header_field(self.header, "flags") & Flag.AGGREGATED)


def _find_fault(sidecar: Sidecar, header: bytes, headless: bool, geometry: Geometry) -> str | None:
    size = sidecar.size
    if headless:
        return "dropped_length" if size < GRADIENT_OFFSET else None
    type_of = (header_field(header, "version"), header_field(header, "frame_type"))
    if type_of != (VERSION, FrameType.UPDATE) or header_field(header, "count") == 0:
        return "dropped_header"
    udp_length = int.from_bytes(header[_UDP_LENGTH_AT : _UDP_LENGTH_AT + 2], "big")
    before_udp = ETHERNET.size + IPV4.size
    if size < GRADIENT_OFFSET or size != before_udp + udp_length or (size - GRADIENT_OFFSET) % 4:
        return "dropped_length"
    if size > geometry.beats * BEAT_BYTES:
        return "dropped_oversize"
    if sidecar.index >= geometry.indices:
        return "dropped_index"
    return None


def _judge_ending(size: int, masks: Sequence[int]) -> str:
    """Judge how a frame of this many declared bytes ended."""
    last = max(0, size - 1) // BEAT_BYTES
    due = (1 << (size - 1) % BEAT_BYTES + 1) - 1
    if masks[0] != ALL_BYTES or len(masks) <= last:
        return "truncated"
    if len(masks) > last + 1:
        return "overlong"
    if any(mask != ALL_BYTES for mask in masks[:last]) or due & ~masks[last]:
        return "truncated"
    return "overlong" if masks[last] & ~due else "good"
