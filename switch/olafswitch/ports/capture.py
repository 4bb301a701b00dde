"""Listen at a front port: every frame that passes its host side, with its time and direction."""

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.ports import packet_socket, unix
from olafswitch.ports.attachment import Attachment
from olafswitch.ports.namespace import run_within
from olafswitch.ports.transport import Transport

_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("=qq")
_OUTGOING = 4
_AT_ONCE = 256


@dataclass(frozen=True)
class SeenFrame:
    """A frame, ``when`` in ns since the epoch; ``outbound`` from the hosts into the pipeline."""

    when: int
    frame: bytes
    outbound: bool


class FrameListener(Protocol):
    """A listener at one front port."""

    def fileno(self) -> int: ...

    def seen(self) -> Iterator[SeenFrame]:
        """Return some of the waiting frames; never block. Raises OlafError when the port is gone."""

    def lost(self) -> int:
        """Return the number of frames that came faster than they were read, since the last call."""

    def close(self) -> None: ...


def listen_at(attachment: Attachment) -> FrameListener:
    """Listen at a front port. Raises OlafError, BadInput for a port whose files hold everything anyway."""
    where = f"port {attachment.number} ({attachment.transport} {attachment.path})"
    try:
        match attachment.transport:
            case Transport.VETH | Transport.TAP:
                return _AtInterface(attachment.path, attachment.namespace)
            case Transport.UNIX:
                return _AtSocket(Path(attachment.path))
            case Transport.PCAP:
                raise BadInput(Problem("is captured by itself", where, "open its files"))
            case Transport.NIC:
                raise BadInput(
                    Problem("is the engine's alone", where, "capture at the other end of its cable")
                )
    except OSError as error:
        what = f"cannot be captured: {error.strerror or error}"
        raise OlafError(Problem(what, where, "is it deployed, and are you allowed to?")) from error


class _AtInterface:
    def __init__(self, interface: str, namespace: str | None) -> None:
        self._interface = interface
        self._socket = run_within(namespace, lambda: packet_socket.open_socket(interface, outgoing=True))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._socket.setblocking(False)

    def fileno(self) -> int:
        return self._socket.fileno()

    def seen(self) -> Iterator[SeenFrame]:
        room = packet_socket.ANCILLARY_BYTES + socket.CMSG_SPACE(_TIMESPEC.size)
        with suppress(BlockingIOError):
            for _ in range(_AT_ONCE):
                try:
                    frame, ancillary, _, address = self._socket.recvmsg(packet_socket.MAX_FRAME, room)
                except BlockingIOError:
                    raise
                except OSError as error:
                    raise OlafError(Problem(f"is gone: {error.strerror}", self._interface)) from error
                whole = packet_socket.with_vlan_tag(frame, ancillary)
                yield SeenFrame(_frame_time(ancillary), whole, address[2] == _OUTGOING)

    def lost(self) -> int:
        return packet_socket.count_lost(self._socket)

    def close(self) -> None:
        self._socket.close()


class _AtSocket:
    """A further host on the segment, which gets what leaves the pipeline, but not what other hosts send."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._socket = unix.connect_to(path, socket.SOCK_SEQPACKET)
        self._socket.setblocking(False)

    def fileno(self) -> int:
        return self._socket.fileno()

    def seen(self) -> Iterator[SeenFrame]:
        with suppress(BlockingIOError):
            for _ in range(_AT_ONCE):
                frame = self._socket.recv(packet_socket.MAX_FRAME)
                if not frame:
                    raise OlafError(Problem("is gone: closed by the pipeline", str(self._path)))
                yield SeenFrame(time.time_ns(), frame, outbound=False)

    def lost(self) -> int:
        return 0

    def close(self) -> None:
        self._socket.close()


def _frame_time(ancillary: packet_socket.Ancillary) -> int:
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS and len(data) >= _TIMESPEC.size:
            seconds, rest = _TIMESPEC.unpack(data[: _TIMESPEC.size])
            return int(seconds) * 10**9 + int(rest)
    return time.time_ns()
