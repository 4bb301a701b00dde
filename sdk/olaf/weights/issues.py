"""Issues: the frames that lead from one version of a shard to another, as they cross the wire.

All frames of an issue have one size, so that the kernel can divide many at once; the last one, the
manifest, is shorter. A manifest states what the elements must be afterwards, and carries the cluster's MAC.
Every frame also names the newest version that was published when it was sent.
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
import numpy.typing as npt

from olaf.transport import wire
from olaf.transport.port import Run
from olaf.weights.codecs import Part
from olaf.weights.tensors import Layout

Bytes = Union[bytes, bytearray, memoryview]
Parts = Iterable[tuple[int, Part]]
"""Element widths and frames' contents."""
Between = Callable[[Parts], Parts]
HEADERS = wire.OLAF_BYTES + wire.DELTA_BYTES
_CRC_AT = HEADERS - 4
_CHECKED = 4
"""The Olaf header's first byte that no engine changes."""
_NEWEST_AT = wire.OLAF_BYTES - 2
"""The newest published version, modulo 2**16, in the Olaf header."""


def payload_room(mtu: int) -> int:
    """Return the bytes of payload that fit an IP packet of ``mtu`` bytes, with the status that an engine
    adds."""
    return mtu - wire.IP_UDP_BYTES - wire.OLAF_STATUS_BYTES - HEADERS


def manifest_bytes(layout: Layout) -> int:
    """Return the bytes of a manifest, with what names the first difference between two layouts."""
    return wire.MANIFEST_BYTES + len(layout.sketch)


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
        layout: Layout,
        key: bytes,
        between: Between = iter,
    ) -> None:
        """``between`` may pause before each of the parts."""
        self.stamp, self._key = stamp, key
        self._layout, self._digest = layout, digest
        self.version, self.base = stamp.version, stamp.base
        contents = list(between(parts))
        self.count = len(contents) + 1
        self.streamed = any(part.codec == wire.Codec.ZSTD for _, part in contents)
        """Whether only players with zstd read it."""
        shortest = HEADERS + manifest_bytes(layout)
        self.size = max([shortest, *(HEADERS + len(part.payload) for _, part in contents)])
        self._data = bytearray((self.count - 1) * self.size)
        contents.reverse()  # each is freed when it is a frame
        for number in range(self.count - 1):
            width, part = contents.pop()
            content = (part.codec, width, part.first, part.n, part.payload)
            self._fill(self._data, number * self.size, number, content, stamp.version)
        self._manifests = {stamp.version: self._manifest(stamp.version)}
        """The last one made, by the newest version that it names."""

    @property
    def total(self) -> int:
        """Bytes of all its frames."""
        return len(self._data) + HEADERS + manifest_bytes(self._layout)

    def encode_frames(self, start: int, stop: int, newest: int, alone: bool = False) -> Run:
        """Return frames from ``start`` to before ``stop``, to all players, or to one ``alone``.

        They say that version ``newest`` is published by now.
        """
        data = bytearray(memoryview(self._data)[start * self.size : stop * self.size])
        difference = (newest ^ self.version).to_bytes(8, "big")[-2:]
        if data and any(difference):
            self._name_newest(np.frombuffer(data, np.uint8).reshape(-1, self.size), difference)
        if stop == self.count:
            if newest not in self._manifests:
                self._manifests = {newest: self._manifest(newest)}
            data += self._manifests[newest]
        if alone:
            data[:: self.size] = bytes([wire.VERSION << 4 | wire.FrameType.INIT]) * (stop - start)
        return Run(memoryview(data), self.size)

    def _name_newest(self, frames: npt.NDArray[np.uint8], difference: bytes) -> None:
        """Name a newer version in whole frames; a CRC changes by the same bits in all of one size."""
        checked = bytearray(self.size - _CHECKED - 4)
        before = zlib.crc32(checked)
        checked[_NEWEST_AT - _CHECKED : _NEWEST_AT - _CHECKED + 2] = difference
        change = (zlib.crc32(checked) ^ before).to_bytes(4, "big")
        frames[:, _NEWEST_AT : _NEWEST_AT + 2] ^= np.frombuffer(difference, np.uint8)
        frames[:, _CRC_AT:HEADERS] ^= np.frombuffer(change, np.uint8)

    def parity(self, block: int, newest: int) -> Run | None:
        """Return the XOR of a block's frames, to all players; None where their codecs or widths differ."""
        start = block * wire.PARITY_FRAMES
        frames = [
            wire.Delta.unpack(self._data, number * self.size + wire.OLAF_BYTES)
            for number in range(start, min(start + wire.PARITY_FRAMES, self.count - 1))
        ]
        if len({(frame.codec, frame.width) for frame in frames}) != 1:
            return None
        block_data = np.frombuffer(self._data, np.uint8)[start * self.size :][: len(frames) * self.size]
        payload = np.bitwise_xor.reduce(block_data.reshape(-1, self.size)[:, HEADERS:], 0)
        first = reduce(xor, (frame.first for frame in frames))
        n = reduce(xor, (frame.n for frame in frames))
        made = bytearray(self.size)
        content = (wire.Codec.PARITY, frames[0].width, first, n, payload.tobytes())
        self._fill(made, 0, start, content, newest)
        return Run(memoryview(made), self.size)

    def _manifest(self, newest: int) -> bytes:
        """Make the manifest, which is the last frame."""
        manifest = wire.Manifest(self._digest, self._layout.digest, 1, bytes(wire.MAC_BYTES))
        frame = bytearray(HEADERS + manifest_bytes(self._layout))
        for _ in range(2):  # the MAC covers the frame's headers
            content = (wire.Codec.MANIFEST, 0, 0, 0, manifest.pack() + self._layout.sketch)
            self._fill(frame, 0, self.count - 1, content, newest)
            manifest.mac = manifest_mac(memoryview(frame), self._key, self.stamp.epoch)
        return bytes(frame)

    def _fill(
        self, data: bytearray, start: int, number: int, content: tuple[int, int, int, int, bytes], newest: int
    ) -> None:
        codec, width, first, n, payload = content
        stamp = self.stamp
        olaf = wire.Olaf(
            wire.VERSION, wire.FrameType.ACK, stamp.epoch, wire.Flag.DELTA, 1, number, 0.0, stamp.gen_time,
            stamp.shard, newest % 2**16,
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

    @property
    def newest(self) -> int:
        """The newest version that was published when it was sent."""
        version = self.delta.version
        return version + (self.olaf.weights_version - version) % 2**16


def parse_frame(datagram: memoryview) -> Frame:
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


def repair_frame(parity: Frame, others: list[Frame], number: int) -> Frame | None:
    """Repair frame ``number`` of a block from its parity and all other frames; None where they do not fit."""
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
    """Compute the MAC that a manifest must carry; zero without a key. ``frame`` is without a status."""
    if not key:
        return bytes(wire.MAC_BYTES)
    body = frame[HEADERS : HEADERS + wire.MANIFEST_BYTES - wire.MAC_BYTES]
    covered = bytes([epoch]) + bytes(frame[_CHECKED:_CRC_AT]) + bytes(body)
    return hmac.new(key, covered, hashlib.sha256).digest()[: wire.MAC_BYTES]


def _crc(headers: Bytes, payload: Bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(headers))
