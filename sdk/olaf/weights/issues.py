"""Issues: the frames that lead from one version of a shard to another, as they cross the wire.

All frames of an issue have one size, so that the kernel can divide many at once; the last one, the
manifest, is shorter. A manifest states what the elements must be afterwards, and carries the cluster's MAC.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from operator import xor
from typing import Callable, Union

import numpy as np

from olaf.transport import wire
from olaf.transport.port import Run
from olaf.weights.codecs import Part

Bytes = Union[bytes, bytearray, memoryview]
Parts = Iterable[tuple[int, Part]]
"""Element widths and frames' contents."""
Between = Callable[[Parts], Parts]
HEADERS = wire.OLAF_BYTES + wire.DELTA_BYTES
_CRC_AT = HEADERS - 4
_CHECKED = 4
"""The Olaf header's first byte that no engine changes."""


def room(mtu: int) -> int:
    """Bytes of payload that fit an IP packet of ``mtu`` bytes, with the status that an engine adds."""
    return mtu - wire.IP_UDP_BYTES - wire.OLAF_STATUS_BYTES - HEADERS


@dataclass(frozen=True)
class Stamp:
    """The fields common to all frames of an issue."""

    epoch: int
    shard: int
    line: int
    version: int
    base: int
    gen_time: int


class Issue:
    """Frames from ``base`` to ``version``."""

    def __init__(
        self,
        stamp: Stamp,
        parts: Parts,
        digest: int,
        layout: bytes,
        key: bytes,
        between: Between = iter,
    ) -> None:
        """``between`` may pause before each of them."""
        self.stamp = stamp
        self.version, self.base = stamp.version, stamp.base
        contents = list(between(parts))
        self.count = len(contents) + 1
        self.size = HEADERS + max((len(part.payload) for _, part in contents), default=0)
        manifest = wire.Manifest(digest, layout, 1, bytes(wire.MAC_BYTES))
        self.size = max(self.size, HEADERS + wire.MANIFEST_BYTES)
        self._data = bytearray((self.count - 1) * self.size + HEADERS + wire.MANIFEST_BYTES)
        for number, (width, part) in enumerate(between(contents)):
            self._put(number, part.codec, width, part.first, part.n, part.payload)
        last = self.count - 1
        self._put(last, wire.Codec.MANIFEST, 0, 0, 0, manifest.pack())
        start = last * self.size
        manifest.mac = manifest_mac(memoryview(self._data)[start:], key, stamp.epoch)
        self._put(last, wire.Codec.MANIFEST, 0, 0, 0, manifest.pack())

    @property
    def total(self) -> int:
        """Bytes of all its frames."""
        return len(self._data)

    def run(self, start: int, stop: int, alone: bool = False) -> Run:
        """Frames from ``start`` to before ``stop``, to all players, or to one ``alone``."""
        data = memoryview(self._data)[start * self.size : stop * self.size]
        if alone:
            data = memoryview(bytearray(data))
            data[:: self.size] = bytes([wire.VERSION << 4 | wire.FrameType.INIT]) * (stop - start)
        return Run(data, self.size)

    def parity(self, block: int) -> Run | None:
        """The XOR of a block's frames, to all players; None where their codecs or widths differ."""
        start = block * wire.PARITY_FRAMES
        frames = [
            wire.Delta.unpack(self._data, number * self.size + wire.OLAF_BYTES)
            for number in range(start, min(start + wire.PARITY_FRAMES, self.count - 1))
        ]
        if len({(frame.codec, frame.width) for frame in frames}) != 1:
            return None
        content = np.frombuffer(self._data, np.uint8)[start * self.size : (start + len(frames)) * self.size]
        payload = np.bitwise_xor.reduce(content.reshape(-1, self.size)[:, HEADERS:], 0)
        first = reduce(xor, (frame.first for frame in frames))
        n = reduce(xor, (frame.n for frame in frames))
        made = bytearray(self.size)
        self._fill(made, 0, start, wire.Codec.PARITY, frames[0].width, first, n, payload.tobytes())
        return Run(memoryview(made), self.size)

    def _put(self, number: int, codec: int, width: int, first: int, n: int, payload: bytes) -> None:
        self._fill(self._data, number * self.size, number, codec, width, first, n, payload)

    def _fill(
        self,
        data: bytearray,
        start: int,
        number: int,
        codec: int,
        width: int,
        first: int,
        n: int,
        payload: bytes,
    ) -> None:
        stamp = self.stamp
        olaf = wire.Olaf(
            wire.VERSION, wire.FrameType.ACK, stamp.epoch, wire.Flag.DELTA, 1, number, 0.0, stamp.gen_time,
            stamp.shard, stamp.version % 2**16,
        )  # fmt: skip
        delta = wire.Delta(stamp.line, stamp.version, stamp.base, self.count, first, codec, width, n, 0)
        data[start : start + HEADERS] = olaf.pack() + delta.pack()
        data[start + HEADERS : start + HEADERS + len(payload)] = payload
        frame = memoryview(data)[start : start + self.size]
        struct.pack_into(">I", data, start + _CRC_AT, _crc(frame[_CHECKED:_CRC_AT], frame[HEADERS:]))


@dataclass(frozen=True)
class Frame:
    """A frame that arrived whole."""

    olaf: wire.Olaf
    delta: wire.Delta
    payload: memoryview
    raw: bytes
    """Without the status that an engine added, and as if none had."""


def parse(datagram: memoryview) -> Frame:
    """Take a DELTA frame apart. Raises ValueError for what is none, or was changed on its way."""
    try:
        olaf = wire.Olaf.unpack(datagram)
        if olaf.version != wire.VERSION or not olaf.flags & wire.Flag.DELTA:
            raise ValueError("not a DELTA frame")
        if olaf.frame_type not in (wire.FrameType.ACK, wire.FrameType.INIT):
            raise ValueError("not a DELTA frame")
        status = wire.OLAF_STATUS_BYTES if olaf.flags & wire.Flag.STATUS else 0
        head = bytes([datagram[0], datagram[1] & ~wire.Flag.STATUS]) + datagram[2 : wire.OLAF_BYTES]
        raw = head + datagram[wire.OLAF_BYTES + status :]
        delta = wire.Delta.unpack(raw, wire.OLAF_BYTES)
    except struct.error:
        raise ValueError("the frame is too short") from None
    frame = memoryview(raw)
    if delta.crc != _crc(frame[_CHECKED:_CRC_AT], frame[HEADERS:]):
        raise ValueError("the checksum is wrong")
    if not (delta.base < delta.version and olaf.seq < delta.frames):
        raise ValueError("the header contradicts itself")
    return Frame(olaf, delta, frame[HEADERS:], raw)


def repaired(parity: Frame, others: list[Frame], number: int) -> Frame | None:
    """The frame ``number`` of a block, from its parity and all others of it; None where they do not fit."""
    like = others[0].delta
    sizes = {len(frame.payload) for frame in (parity, *others)}
    kinds = {(frame.delta.codec, frame.delta.width) for frame in others}
    if len(sizes) != 1 or kinds != {(like.codec, parity.delta.width)}:
        return None
    frames = np.array([np.frombuffer(frame.payload, np.uint8) for frame in (parity, *others)])
    delta = replace(
        like,
        first=reduce(xor, (frame.delta.first for frame in others), parity.delta.first),
        n=reduce(xor, (frame.delta.n for frame in others), parity.delta.n),
    )
    payload = memoryview(np.bitwise_xor.reduce(frames, 0).tobytes())
    return Frame(replace(others[0].olaf, seq=number), delta, payload, b"")


def manifest_mac(frame: memoryview, key: bytes, epoch: int) -> bytes:
    """The MAC that a manifest must carry; zero without a key. ``frame`` is without a status."""
    if not key:
        return bytes(wire.MAC_BYTES)
    body = frame[HEADERS : HEADERS + wire.MANIFEST_BYTES - wire.MAC_BYTES]
    covered = bytes([epoch]) + bytes(frame[_CHECKED:_CRC_AT]) + bytes(body)
    return hmac.new(key, covered, hashlib.sha256).digest()[: wire.MAC_BYTES]


def _crc(headers: Bytes, payload: Bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(headers))
