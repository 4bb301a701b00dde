"""A virtual-time session in Python: frames with times written to a stream, frames with times read.

``olafctl/targets/engine/native/replay.h`` defines the record: time ns u64, port u32, length u32, the frame.
"""

import select
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress

from olafctl.targets.interface import Advanced, Spent, TimedFrame
from olafswitch.errors import OlafError, Problem

_RECORD = struct.Struct("=QII")
_ANSWER = struct.Struct("=QQQ")
_NEVER = 2**64 - 1
_END = 2**64 - 1
_ADVANCE = 0
_CHUNK = 1 << 20


def exchange_frames(peer: socket.socket, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]:
    """Send ``frames`` and yield the answers at the same time; close ``peer``.

    Raises OlafError with the engine's objection, and whatever ``frames`` raises.
    """
    failures: list[BaseException] = []

    def feed() -> None:
        try:
            _write_frames(peer, frames)
        except OSError:
            pass  # the engine's own words are read below
        except BaseException as failure:
            failures.append(failure)
        finally:
            with suppress(OSError):
                peer.shutdown(socket.SHUT_WR)

    feeder = threading.Thread(target=feed, name="replay", daemon=True)
    feeder.start()
    records = _Records(peer)
    try:
        while not records.ended:
            records.receive()
            yield from records.complete()
        feeder.join()
    finally:
        with suppress(OSError):
            peer.shutdown(socket.SHUT_RDWR)
        peer.close()
    if failures:
        raise failures[0]


class Session:
    """The :class:`olafctl.targets.interface.VirtualTime` of a stream."""

    def __init__(self, peer: socket.socket) -> None:
        """Begin a session on its stream ``peer``, which is closed with the session."""
        self._peer = peer
        self._records = _Records(peer)
        self._unsent = bytearray()
        self.spent = Spent(0.0, 0.0)

    def arrive(self, frame: TimedFrame) -> None:
        """Store a frame until the next ``advance``."""
        self._unsent += _pack_frame(frame)

    def advance(self, time: int) -> Advanced:
        """Make one round trip and return its result. Raises OlafError with the engine's objection."""
        self._unsent += _RECORD.pack(time, _ADVANCE, 0)
        self._send()
        left: list[TimedFrame] = []
        while True:
            left.extend(self._records.complete())
            if left and left[-1].port == _ADVANCE:
                following, engine, session = _ANSWER.unpack(left.pop().frame)
                self.spent = Spent(engine / 1e9, (session - engine) / 1e9)
                return Advanced(left, None if following == _NEVER else following)
            if self._records.ended:
                raise OlafError(Problem("the engine ended the session", "replay", "see olafctl logs"))
            self._records.receive()

    def close(self) -> None:
        """End the session, and return when another one may begin."""
        with suppress(OSError, OlafError):
            self._peer.shutdown(socket.SHUT_WR)
            while not self._records.ended:
                self._records.receive()
                for _ in self._records.complete():
                    pass
        self._peer.close()

    def _send(self) -> None:
        """Send all unsent frames; receive meanwhile, or both ends might wait for the other to read."""
        unsent = memoryview(bytes(self._unsent))
        self._unsent.clear()
        while unsent:
            readable, writable, _ = select.select([self._peer], [self._peer], [])
            if readable:
                self._records.receive()
            if writable:
                try:
                    unsent = unsent[self._peer.send(unsent, socket.MSG_DONTWAIT) :]
                except BlockingIOError:
                    continue
                except OSError:
                    return  # the engine's own words are read next


def refuse_session(peer: socket.socket, message: str) -> None:
    """End the session at once with ``message``, on the engine's side."""
    text = message.encode()
    peer.sendall(_RECORD.pack(_END, 1, len(text)) + text)


def _pack_frame(item: TimedFrame) -> bytes:
    return _RECORD.pack(item.time, item.port, len(item.frame)) + item.frame


def _write_frames(peer: socket.socket, frames: Iterator[TimedFrame]) -> None:
    waiting = bytearray()
    for item in frames:
        waiting += _pack_frame(item)
        if len(waiting) >= _CHUNK:
            peer.sendall(waiting)
            waiting.clear()
    peer.sendall(waiting)


class _Records:
    """The records that the engine sends."""

    def __init__(self, peer: socket.socket) -> None:
        self._peer = peer
        self._data = b""
        self.ended = False
        """Whether the engine has ended the session."""

    def receive(self) -> None:
        """Wait for more bytes. Raises OlafError when the engine has gone away."""
        more = _receive_bytes(self._peer)
        if not more:
            raise OlafError(Problem("the engine went away", "replay", "see olafctl logs"))
        self._data += more

    def complete(self) -> Iterator[TimedFrame]:
        """Yield the records that are complete by now, each once. Raises OlafError with the engine's
        objection."""
        data, position = self._data, 0
        self._data = b""
        while len(data) - position >= _RECORD.size:
            time, port, length = _RECORD.unpack_from(data, position)
            after = position + _RECORD.size + length
            if after > len(data):
                break
            body = data[position + _RECORD.size : after]
            if time == _END:
                self.ended = True
                _receive_bytes(self._peer)  # until the engine has closed it: another session may begin then
                if port:
                    raise OlafError(Problem(body.decode(errors="replace"), "replay"))
                return
            yield TimedFrame(time, port, body)
            position = after
        self._data = data[position:]


def _receive_bytes(peer: socket.socket) -> bytes:
    """Return the next bytes; none at the end, also when the engine closed with frames still unread."""
    try:
        return peer.recv(_CHUNK)
    except ConnectionResetError:
        return b""
