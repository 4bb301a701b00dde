"""A virtual-time session seen from Python: frames with times written to a stream, frames with times read.

The record is ``olafctl/engine/native/replay.h``'s: time ns u64, port u32, length u32, then the frame.
"""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress

from olafctl.errors import OlafError, Problem
from olafctl.targets.interface import TimedFrame

_RECORD = struct.Struct("=QII")
_END = 2**64 - 1
_CHUNK = 1 << 20


def exchange(peer: socket.socket, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]:
    """Send ``frames`` and yield what comes back, both at once; closes ``peer``.

    Raises OlafError with what the engine objects to, and whatever ``frames`` raises.
    """
    failures: list[BaseException] = []

    def feed() -> None:
        try:
            _write(peer, frames)
        except OSError:
            pass  # the engine's own words are read below
        except BaseException as failure:
            failures.append(failure)
        finally:
            with suppress(OSError):
                peer.shutdown(socket.SHUT_WR)

    feeder = threading.Thread(target=feed, name="replay", daemon=True)
    feeder.start()
    try:
        yield from _read(peer)
        feeder.join()
    finally:
        with suppress(OSError):
            peer.shutdown(socket.SHUT_RDWR)
        peer.close()
    if failures:
        raise failures[0]


def refuse(peer: socket.socket, message: str) -> None:
    """From the engine's side: end the session at once with ``message``."""
    text = message.encode()
    peer.sendall(_RECORD.pack(_END, 1, len(text)) + text)


def _write(peer: socket.socket, frames: Iterator[TimedFrame]) -> None:
    waiting = bytearray()
    for item in frames:
        waiting += _RECORD.pack(item.time, item.port, len(item.frame))
        waiting += item.frame
        if len(waiting) >= _CHUNK:
            peer.sendall(waiting)
            waiting.clear()
    peer.sendall(waiting)


def _read(peer: socket.socket) -> Iterator[TimedFrame]:
    data = b""
    while True:
        position = 0
        while len(data) - position >= _RECORD.size:
            time, port, length = _RECORD.unpack_from(data, position)
            after = position + _RECORD.size + length
            if after > len(data):
                break
            body = data[position + _RECORD.size : after]
            if time == _END:
                _receive(peer)  # until the engine has closed it: another session may begin then
                if port:
                    raise OlafError(Problem(body.decode(errors="replace"), "replay"))
                return
            yield TimedFrame(time, port, body)
            position = after
        more = _receive(peer)
        if not more:
            raise OlafError(Problem("the engine went away", "replay", "see olafctl logs"))
        data = data[position:] + more


def _receive(peer: socket.socket) -> bytes:
    """What comes next; nothing at the end, also when the engine closed with frames still unread."""
    try:
        return peer.recv(_CHUNK)
    except ConnectionResetError:
        return b""
