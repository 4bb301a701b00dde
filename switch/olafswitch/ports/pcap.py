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
_FILE_HEADER = struct.Struct("=IHHiIII")
_RECORD_HEADER = struct.Struct("=IIII")


_OUR_START = _FILE_HEADER.pack(_NANOSECONDS, 2, 4, 0, 0, MAX_FRAME, _ETHERNET)


def why_not_written(path: Path) -> str | None:
    """Return why a port must not start a new capture at ``path``: others wrote it. Raises OSError."""
    if not path.exists():
        return None
    if not path.is_file():
        return f"{path} is not a file"
    with path.open("rb") as file:
        start = file.read(len(_OUR_START))
    return None if start in (b"", _OUR_START) else f"{path} holds data that Olaf did not write"


class PcapWriter:
    """Appends frames to a pcap file; other readers see each frame as soon as ``write`` returns."""

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


class PcapReader:
    """Reads a pcap file that may still grow; a record not yet complete is "not there yet"."""

    def __init__(self, path: Path) -> None:
        """Open ``path``. Raises OSError."""
        self._path = path
        self._file: BinaryIO = path.open("rb")
        self._order = ""
        self._unit = 1
        self._position = 0

    def next(self) -> tuple[int, bytes] | None:
        """Return the next (ns since the epoch, frame), or None when there is no complete record.

        Raises ValueError when the file is not a pcap file of Ethernet frames.
        """
        if not self._order and not self._begin():
            return None
        header = self._read(self._position, _RECORD_HEADER.size)
        if header is None:
            return None
        seconds, fraction, length, _ = struct.unpack(f"{self._order}IIII", header)
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

    def _begin(self) -> bool:
        header = self._read(0, _FILE_HEADER.size)
        if header is None:
            return False
        for order in "<>":
            magic, _, _, _, _, _, link = struct.unpack(f"{order}IHHiIII", header)
            if magic in (_NANOSECONDS, _MICROSECONDS):
                if link & 0xFFFF != _ETHERNET:
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
