"""The card's end of the register accesses that a :class:`SocketBar` asks for."""

import socket
from collections.abc import Callable, Iterable
from contextlib import suppress

from olafctl.targets.opennic.bar import ANSWER, ASK


class Accesses:
    """Answers accesses, for one thread that must never wait."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._listening.setblocking(False)
        self._peers: dict[socket.socket, bytes] = {}

    def waitables(self) -> Iterable[int]:
        """Descriptors that are readable when a request waits."""
        return [self._listening.fileno(), *(peer.fileno() for peer in self._peers)]

    def answer(self, access: Callable[[int, int, int], int]) -> None:
        """Answer all requests with ``access(kind, offset, value)``."""
        with suppress(BlockingIOError):
            while True:
                peer, _ = self._listening.accept()
                peer.setblocking(False)
                self._peers[peer] = b""
        for peer in list(self._peers):
            try:
                while part := peer.recv(4096):
                    self._peers[peer] = self._answer(peer, self._peers[peer] + part, access)
            except BlockingIOError:
                continue
            except OSError:
                pass
            del self._peers[peer]
            peer.close()

    def close(self) -> None:
        for each in (self._listening, *self._peers):
            each.close()

    @staticmethod
    def _answer(peer: socket.socket, request: bytes, access: Callable[[int, int, int], int]) -> bytes:
        """Answer the complete requests in ``request``; returns the remainder."""
        while len(request) >= ASK.size:
            peer.sendall(ANSWER.pack(access(*ASK.unpack(request[: ASK.size]))))
            request = request[ASK.size :]
        return request
