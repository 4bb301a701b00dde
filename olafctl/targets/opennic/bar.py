"""The card's registers: BAR2 of its PCI Express function, as 32-bit words."""

import mmap
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from olafswitch.errors import OlafError, Problem
from olafswitch.ports import unix

BYTES = 4 << 20
"""The size of BAR2 once a bitstream with OpenNIC's shell is loaded."""
ALL_ONES = 0xFFFFFFFF
"""The value of a read that nothing answers."""
_COMMAND = 4
_MEMORY_ENABLED = 2
_RESCAN = "reboot warm, or remove the function and rescan: echo 1 > {}/remove; echo 1 > /sys/bus/pci/rescan"


class Bar(Protocol):
    """Words by their address: OpenNIC's in BAR2, Corundum's in a region; calls may come from any thread."""

    def read(self, offset: int) -> int: ...

    def write(self, offset: int, value: int) -> None: ...

    def why_silent(self) -> Problem:
        """Return the probable reason why every read gives all ones, and the remedy."""

    def close(self) -> None: ...


class MappedBar:
    """BAR2 of a PCI Express function, mapped into this process."""

    def __init__(self, function: Path) -> None:
        """Map BAR2 of ``function``, a folder such as ``/sys/bus/pci/devices/0000:3b:00.0``.

        Raises OlafError when it does not exist, this user may not open it, or it is not 4 MiB.
        """
        self._function = function
        self._words = MappedWords(function / "resource2", BYTES, function)

    def read(self, offset: int) -> int:
        return self._words.read(offset)

    def write(self, offset: int, value: int) -> None:
        self._words.write(offset, value)

    def why_silent(self) -> Problem:
        return explain_silence(self._function)

    def close(self) -> None:
        self._words.close()


class MappedWords:
    """A file's words, mapped into this process."""

    def __init__(self, path: Path, size: int, function: Path, offset: int = 0) -> None:
        """``size`` bytes from ``offset`` on, of a device or a BAR of the function in the folder ``function``.

        Raises OlafError when it cannot be opened, or a BAR has another size.
        """
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_SYNC | os.O_CLOEXEC)
        except OSError as error:
            remedy = "run as root, and check the address with lspci"
            raise OlafError(Problem(f"cannot be opened: {error.strerror}", str(path), remedy)) from error
        try:
            found = os.fstat(descriptor).st_size
            if path.parent == function and found != size:
                what = f"has {found} bytes, not {size}: it was enumerated with another bitstream"
                raise OlafError(Problem(what, str(path), _RESCAN.format(function)))
            self._map = mmap.mmap(descriptor, size, offset=offset)
        finally:
            os.close(descriptor)
        self._words = memoryview(self._map).cast("I")

    def read(self, offset: int) -> int:
        """Read the word at the byte ``offset``."""
        return self._words[offset // 4]

    def write(self, offset: int, value: int) -> None:
        """Write the word at the byte ``offset``."""
        self._words[offset // 4] = value

    def close(self) -> None:
        """Let go of the file."""
        self._words.release()
        self._map.close()


def explain_silence(function: Path) -> Problem:
    """Return why every read of the function whose folder this is gives all ones."""
    try:
        header = (function / "config").read_bytes()
    except OSError:
        header = b""
    where, rescan = str(function), _RESCAN.format(function)
    if len(header) < 6 or header[:2] == b"\xff\xff":
        what = "every register reads all ones: the function is gone from the bus, or was programmed"
        return Problem(what, where, rescan)
    if not header[_COMMAND] & _MEMORY_ENABLED:
        enable = f"echo 1 > {function}/enable, or setpci -s {function.name} COMMAND=2:2"
        return Problem("every register reads all ones: the function's memory is disabled", where, enable)
    return Problem("every register reads all ones: the card does not answer", where, rescan)


ASK = struct.Struct("<BQI")
ANSWER = struct.Struct("<I")
READ, WRITE = 0, 1
"""The kinds of a request, which is a kind, an offset and a value; its answer is a value."""


class SocketBar:
    """The registers of a card in another process: accesses are requested at a UNIX socket."""

    def __init__(self, path: Path) -> None:
        """Connect to the process at ``path``. Raises OlafError when none answers."""
        self._path = path
        self._lock = threading.Lock()
        try:
            self._socket = unix.connect_to(path, socket.SOCK_STREAM)
        except OSError as error:
            raise OlafError(Problem(f"no card answers: {error}", str(path))) from error

    def read(self, offset: int) -> int:
        return self._ask(READ, offset, 0)

    def write(self, offset: int, value: int) -> None:
        self._ask(WRITE, offset, value)

    def why_silent(self) -> Problem:
        return Problem("every register reads all ones: the simulated card has ended", str(self._path))

    def close(self) -> None:
        self._socket.close()

    def _ask(self, kind: int, offset: int, value: int) -> int:
        with self._lock:
            try:
                self._socket.sendall(ASK.pack(kind, offset, value))
                answer = b""
                while len(answer) < ANSWER.size:
                    part = self._socket.recv(ANSWER.size - len(answer))
                    if not part:
                        return ALL_ONES
                    answer += part
            except OSError:
                return ALL_ONES  # this is how an unplugged card answers
            return int(ANSWER.unpack(answer)[0])


class Accesses:
    """The requests of accesses, and their answers, for one thread that must never wait."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._listening.setblocking(False)
        self._peers: dict[socket.socket, bytes] = {}

    def waitables(self) -> Iterable[int]:
        """Return the descriptors that are readable when a request waits."""
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
        """Answer the complete requests in ``request``; return the remainder."""
        while len(request) >= ASK.size:
            peer.sendall(ANSWER.pack(access(*ASK.unpack(request[: ASK.size]))))
            request = request[ASK.size :]
        return request
