"""Classic pcap files of Ethernet frames, written record by record and read while they grow."""

import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from olafswitch.ports.packet_socket import MAX_FRAME

_NANOSECONDS = 0xA1B23C4D
_MICROSECONDS = 0xA1B2C3D4
_ETHERNET = 1
_BMV2 = 0  # BMv2 writes it for its frames, which are Ethernet's
_MAX_RECORD = 1 << 18  # libpcap's own limit
_FILE_HEADER = struct.Struct("=IHHiIII")
_RECORD_HEADER = struct.Struct("=IIII")


_OUR_START = _FILE_HEADER.pack(_NANOSECONDS, 2, 4, 0, 0, MAX_FRAME, _ETHERNET)


def why_not_written(path: Path) -> str | None:
    """Return why a port must not start a capture at ``path``: it holds others' data. Raises OSError."""
    if not path.exists():
        return None
    if not path.is_file():
        return f"{path} is not a file"
    with path.open("rb") as file:
        start = file.read(len(_OUR_START))
    return None if start in (b"", _OUR_START) else f"{path} holds data that Olaf did not write"


class PcapWriter:
    """A writer that appends frames to a pcap file; readers see each frame as soon as ``write`` returns."""

    def __init__(self, path: Path) -> None:
        """Open ``path`` for appending, starting the file when it is empty. Raises OSError."""
        self._file = path.open("ab", buffering=0)
        if self._file.tell() == 0:
            self._file.write(_OUR_START)

    def write(self, frame: bytes, when: int | None = None) -> None:
        """Append ``frame``; ``when`` is ns since the epoch, now by default."""
        seconds, fraction = divmod(time.time_ns() if when is None else when, 10**9)
        self._file.write(_RECORD_HEADER.pack(seconds, fraction, len(frame), len(frame)) + frame)

    def close(self) -> None:
        self._file.close()


def read_capture(path: Path) -> list[tuple[int, bytes]]:
    """Return the (ns since the epoch, frame) of a file that grows no more.

    Raises OSError, and ValueError for a cut last record or a frame that was shortened when it was captured.
    """
    reader = PcapReader(path)
    try:
        frames = []
        for number, record in enumerate(reader, 1):
            if len(record[1]) < reader.original:
                what = f"frame {number} has {len(record[1])} of its {reader.original} bytes"
                raise ValueError(f"{path}: {what}; capture whole frames (tcpdump -s 0)")
            frames.append(record)
        if reader.left:
            raise ValueError(f"{path} ends inside of record {len(frames) + 1}: {reader.left} bytes are left")
        return frames
    finally:
        reader.close()


class PcapReader:
    """A reader of a pcap file that may still grow; a record that is not complete is not there yet."""

    def __init__(self, path: Path) -> None:
        """Open ``path``. Raises OSError."""
        self._path = path
        self._file: BinaryIO = path.open("rb")
        self._order = ""
        self._unit = 1
        self._position = 0
        self.original = 0
        """The length on the wire of the frame that was read last."""

    def next(self) -> tuple[int, bytes] | None:
        """Return the next (ns since the epoch, frame), or None when there is no complete record.

        Raises ValueError when the file is no pcap file of Ethernet frames, or a record's length is wrong.
        """
        if not self._order and not self._begin():
            return None
        header = self._read(self._position, _RECORD_HEADER.size)
        if header is None:
            return None
        seconds, fraction, length, self.original = struct.unpack(f"{self._order}IIII", header)
        if length > _MAX_RECORD:
            where = f"{self._path}: the record at byte {self._position}"
            raise ValueError(f"{where} says {length} bytes, more than a capture's {_MAX_RECORD}")
        frame = self._read(self._position + _RECORD_HEADER.size, length)
        if frame is None:
            return None
        self._position += _RECORD_HEADER.size + length
        return seconds * 10**9 + fraction * self._unit, frame

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        while (record := self.next()) is not None:
            yield record

    def close(self) -> None:
        self._file.close()

    @property
    def left(self) -> int:
        """Bytes of the file behind the last complete record."""
        return self._path.stat().st_size - self._position

    def _begin(self) -> bool:
        header = self._read(0, _FILE_HEADER.size)
        if header is None:
            return False
        for order in "<>":
            magic, _, _, _, _, _, link = struct.unpack(f"{order}IHHiIII", header)
            if magic in (_NANOSECONDS, _MICROSECONDS):
                if link & 0xFFFF not in (_ETHERNET, _BMV2):
                    raise ValueError(f"{self._path} does not hold Ethernet frames")
                self._order = order
                self._unit = 1 if magic == _NANOSECONDS else 1000
                self._position = _FILE_HEADER.size
                return True
        raise ValueError(f"{self._path} is not a pcap file")

    def _read(self, position: int, length: int) -> bytes | None:
        self._file.seek(position)
        data = self._file.read(length)
        return data if len(data) == length else None
