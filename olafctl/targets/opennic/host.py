"""The card's host function: packet-ins and packet-outs as Ethernet frames of their own EtherType."""

import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from olafctl.targets.opennic.registers import HOST_ETHER_TYPE
from olafswitch.errors import OlafError, Problem
from olafswitch.ports import unix
from olafswitch.ports.packet_socket import MAX_FRAME

_log = logging.getLogger(__name__)
_HEAD = bytes(12) + HOST_ETHER_TYPE.to_bytes(2, "big")
_ETHERNET = 14
_TRY_AGAIN = 0.25
"""The seconds until a socket that failed is read again."""


class HostFunction:
    """A sender of packet-outs and receiver of packet-ins; both begin with their 16-bit port."""

    def __init__(self, opened: socket.socket, where: str) -> None:
        self._socket, self._where = opened, where
        self._receive: Callable[[bytes], None] = lambda frame: None
        self._closing = threading.Event()
        threading.Thread(target=self._listen, name="packet-ins", daemon=True).start()

    @classmethod
    def interface(cls, name: str) -> "HostFunction":
        """Open function 0's network interface. Raises OlafError when this user may not."""
        opened: socket.socket | None = None
        try:
            opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(HOST_ETHER_TYPE))
            opened.bind((name, HOST_ETHER_TYPE))
        except OSError as error:
            if opened is not None:
                opened.close()
            remedy = "load the card's driver, set the interface up, and run as root"
            raise OlafError(Problem(f"cannot be opened: {error.strerror}", name, remedy)) from error
        return cls(opened, name)

    @classmethod
    def simulated(cls, path: Path) -> "HostFunction":
        """Connect to the card that a simulation holds. Raises OlafError when it does not answer."""
        try:
            return cls(unix.connect_to(path, socket.SOCK_SEQPACKET), str(path))
        except OSError as error:
            raise OlafError(Problem(f"no card answers: {error}", str(path))) from error

    def on_packet_in(self, receive: Callable[[bytes], None]) -> None:
        """Call ``receive`` with each packet-in, on its own thread."""
        self._receive = receive

    def packet_out(self, frame: bytes) -> None:
        """Send a packet-out. Raises ValueError when it cannot be sent."""
        try:
            self._socket.send(_HEAD + frame)
        except OSError as error:
            raise ValueError(f"{self._where}: cannot be sent: {error.strerror}") from error

    def close(self) -> None:
        self._closing.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # this wakes the thread that listens
        self._socket.close()

    def _listen(self) -> None:
        while not self._closing.is_set():
            try:
                frame = self._socket.recv(MAX_FRAME)
            except OSError as error:
                # An interface that is set down says so once, and has packet-ins again when it is up.
                if not self._closing.wait(_TRY_AGAIN):
                    _log.warning("%s: packet-ins are interrupted: %s", self._where, error.strerror)
                continue
            if not frame:  # a simulated card has ended
                return
            if frame[12:_ETHERNET] == _HEAD[12:]:
                self._receive(frame[_ETHERNET:])
