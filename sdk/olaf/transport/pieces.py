"""A member's state on its way to another one, in pieces of a frame.

The receiver requests pieces, a window at a time, and again those that do not arrive: so it is paced by
what arrives, and the giver keeps nothing but the state as it was. Members at the same version have the same
bytes, so another member can go on where one died.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum

from olaf.transport import wire
from olaf.transport.port import Address, Port

_WINDOW = 32
"""Pieces under way."""
_AGAIN, _LONGEST = 0.05, 1.0
"""Seconds until missing pieces are requested again, at first and at most."""
_PATIENCE = 6
"""Requests without an answer before another member gets them."""
_FORGET = 1.0
"""Seconds after the last question that a state is kept."""


class What(IntEnum):
    """The object to fetch."""

    SNAPSHOT = 0
    MANIFEST = 1


class Giver:
    """Gives this member's state to others."""

    def __init__(self, port: Port, mtu: int, manifest: list[str]) -> None:
        self.served = 0
        """Snapshots that were begun."""
        self._port, self._size = port, 4 * wire.packet_values(mtu)
        self._manifest = "\n".join(manifest).encode()
        self._state = b""
        self._checksum = 0
        self._version: int | None = None
        """Version of the state that is kept."""
        self._last = 0.0

    @property
    def version(self) -> int | None:
        """Version of the state that others are taking now."""
        if self._version is not None and self._port.now() > self._last + _FORGET:
            self._version, self._state = None, b""
        return self._version

    def forget_version(self) -> None:
        """Drop what is kept."""
        self._version, self._state = None, b""

    def give_pieces(
        self,
        datagram: memoryview,
        source: Address,
        member: bool,
        good: Callable[[int], bool],
        state: Callable[[], tuple[int, bytes]],
    ) -> None:
        """Answer a question; ``state`` makes version and bytes of the state as it is now.

        One that is kept is given as long as it is ``good`` to begin with; only a ``member`` gives one.
        Raises struct.error for a datagram of another kind.
        """
        request = wire.Fetch.unpack(datagram)
        if request.what == What.MANIFEST:
            self._send_pieces(source, What.MANIFEST, 0, self._manifest, zlib.crc32(self._manifest), request)
            return
        if not member:
            return
        if self.version is None or (request.piece == 0 and not good(self.version)):
            self._version, self._state = state()
            self._checksum = zlib.crc32(self._state)
            self.served += 1
        self._last = self._port.now()
        assert self._version is not None
        self._send_pieces(source, What.SNAPSHOT, self._version, self._state, self._checksum, request)

    def _send_pieces(
        self, to: Address, what: What, version: int, whole: bytes, checksum: int, request: wire.Fetch
    ) -> None:
        for number in range(request.piece, request.piece + min(request.pieces, _WINDOW)):
            start = number * self._size
            if start >= max(len(whole), 1):
                break
            head = wire.Piece(wire.Talk.PIECE, what, version, len(whole), checksum, number)
            self._port.send(to, head.pack(), whole[start : start + self._size])


@dataclass
class Taker:
    """Fetches one state."""

    port: Port
    what: What
    giver: Address
    seal: Callable[[bytes], bytes] = bytes
    """Makes what is sent of a request."""
    _whole: tuple[int, int, int] | None = None
    """Version, length and checksum of what is under way."""
    _size: int = 0
    _pieces: dict[int, bytes] = field(default_factory=dict)
    _due: float = 0.0
    _tries: int = 0
    _requested: int = 0
    """Pieces below this number have been requested."""

    def tick(self, now: float) -> float:
        """Ask for what is missing, when it is due."""
        if now >= self._due:
            self._tries += 1
            self._requested = self._first_missing()
            self._ask_pieces(now)
        return self._due

    @property
    def silent(self) -> bool:
        """The giver does not answer."""
        return self._tries > _PATIENCE

    def turn_to(self, giver: Address) -> None:
        """Go on with another one."""
        self.giver, self._tries, self._due = giver, 0, self.port.now()

    def take_piece(self, datagram: memoryview, source: Address) -> bytes | None:
        """Take a piece; return the whole with the last one. Raises struct.error for another datagram."""
        piece = wire.Piece.unpack(datagram)
        if source != self.giver or piece.what != self.what:
            return None
        body = bytes(datagram[wire.PIECE_BYTES :])
        whole = (piece.version, piece.length, piece.checksum)
        if whole != self._whole:
            if piece.piece != 0:
                if self._whole is not None:  # which is kept there no longer
                    self._whole, self._pieces, self._requested = None, {}, 0
                    self._ask_pieces(self.port.now())
                return None
            self._whole, self._pieces, self._size, self._requested = whole, {}, len(body), 1
        self._tries = 0
        self._pieces.setdefault(piece.piece, body)
        count = self._count_pieces()
        if len(self._pieces) == count:
            joined = b"".join(self._pieces[number] for number in range(count))
            if len(joined) == piece.length and zlib.crc32(joined) == piece.checksum:
                return joined
            self._whole, self._pieces = None, {}  # begin again
        elif len(self._pieces) >= self._requested - _WINDOW // 2:
            self._ask_pieces(self.port.now())
        return None

    def _count_pieces(self) -> int:
        assert self._whole is not None
        return max(1, -(-self._whole[1] // self._size)) if self._size else 1

    def _first_missing(self) -> int:
        """Return the first piece that is missing."""
        number = 0
        while number in self._pieces:
            number += 1
        return number

    def _ask_pieces(self, now: float) -> None:
        version = 0 if self._whole is None else self._whole[0]
        pieces = 1 if self._whole is None else _WINDOW
        message = wire.Fetch(wire.Talk.FETCH, self.what, version, self._requested, pieces)
        self.port.send(self.giver, self.seal(message.pack()))
        self._requested += pieces
        self._due = now + min(_AGAIN * 2.0**self._tries, _LONGEST)
