"""The host side of a front port: send frames into the pipeline, and receive its output."""

import select
import socket
import time
from pathlib import Path
from typing import Protocol

from olafswitch.errors import OlafError, Problem
from olafswitch.ports import packet_socket, unix
from olafswitch.ports.attachment import Attachment
from olafswitch.ports.namespace import run_within
from olafswitch.ports.pcap import PcapReader, PcapWriter
from olafswitch.ports.transport import Transport

_PCAP_INTERVAL = 0.002


class HostPort(Protocol):
    """One host on a front port; not for use by two threads in the same direction."""

    def send(self, frame: bytes) -> None:
        """Send a whole Ethernet frame, held back while the pipeline is behind. Raises OlafError."""

    def receive(self, timeout: float) -> bytes | None:
        """Return the next frame, or None when none arrives within ``timeout`` seconds.

        Raises OlafError when the pipeline is gone.
        """

    def fileno(self) -> int:
        """Return a descriptor that is readable when a frame waits; -1 where a port has none (pcap)."""

    def close(self) -> None: ...


def open_host_port(attachment: Attachment) -> HostPort:
    """Return the host side of ``attachment``.

    Raises OlafError when it is not there or this user may not open it.
    """
    try:
        match attachment.transport:
            case Transport.VETH | Transport.TAP:
                return InterfaceHostPort(attachment.path, attachment.namespace)
            case Transport.UNIX:
                return UnixHostPort(Path(attachment.path))
            case Transport.PCAP:
                return PcapHostPort(attachment.path)
            case Transport.NIC:
                where = f"port {attachment.number}"
                what = f"is the network card {attachment.path}, whose hosts are elsewhere"
                raise OlafError(Problem(what, where, "send from a host at the other end of its cable"))
    except OSError as error:
        raise OlafError(
            Problem(
                f"cannot be opened: {error.strerror or error}",
                f"port {attachment.number} ({attachment.transport} {attachment.path})",
                "is it deployed?",
            )
        ) from error


def _is_readable(opened: socket.socket, timeout: float) -> bool:
    """Return whether a frame waits within ``timeout`` seconds; a socket's own time-out would limit sending
    too."""
    waiting = select.poll()
    waiting.register(opened, select.POLLIN)
    return bool(waiting.poll(timeout * 1000))


class InterfaceHostPort:
    """A host at a network interface, one end of a veth or a TAP."""

    def __init__(self, interface: str, namespace: str | None = None) -> None:
        """Open ``interface`` in ``namespace``. Raises OSError."""
        self._interface = interface
        self._socket = run_within(namespace, lambda: packet_socket.open_socket(interface))

    def send(self, frame: bytes) -> None:
        try:
            self._socket.send(frame)
        except OSError as error:
            raise _port_gone(self._interface, error) from error

    def receive(self, timeout: float) -> bytes | None:
        if not _is_readable(self._socket, timeout):
            return None
        try:
            frame, ancillary, _, _ = self._socket.recvmsg(
                packet_socket.MAX_FRAME, packet_socket.ANCILLARY_BYTES, socket.MSG_DONTWAIT
            )
        except BlockingIOError:
            return None
        except OSError as error:
            raise _port_gone(self._interface, error) from error
        return packet_socket.with_vlan_tag(frame, ancillary)

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()


class UnixHostPort:
    """A host at a UNIX socket port; several hosts at one socket share the segment."""

    def __init__(self, path: Path) -> None:
        """Connect to ``path``. Raises OSError."""
        self._path = path
        self._socket = unix.connect_to(path, socket.SOCK_SEQPACKET)

    def send(self, frame: bytes) -> None:
        try:
            self._socket.send(frame)
        except OSError as error:
            raise _port_gone(str(self._path), error) from error

    def receive(self, timeout: float) -> bytes | None:
        if not _is_readable(self._socket, timeout):
            return None
        try:
            frame = self._socket.recv(packet_socket.MAX_FRAME, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except OSError as error:
            raise _port_gone(str(self._path), error) from error
        if not frame:
            raise _port_gone(str(self._path), ConnectionResetError(0, "closed by the pipeline"))
        return frame

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()


class PcapHostPort:
    """A host behind pcap files: it appends what it sends to the first and reads what it gets from the second;
    ``files`` is ``IN,OUT`` as the pipeline sees them."""

    def __init__(self, files: str) -> None:
        """Open both files. Raises OSError."""
        self._into, _, out = files.partition(",")
        self._reader = PcapReader(Path(out))
        try:
            self._writer = PcapWriter(Path(self._into))
        except BaseException:
            self._reader.close()
            raise

    def send(self, frame: bytes) -> None:
        try:
            self._writer.write(frame)
        except OSError as error:
            raise _port_gone(self._into, error) from error

    def receive(self, timeout: float) -> bytes | None:
        end = time.monotonic() + timeout
        while (record := self._next()) is None:
            if time.monotonic() >= end:
                return None
            time.sleep(_PCAP_INTERVAL)
        return record[1]

    def _next(self) -> tuple[int, bytes] | None:
        try:
            return self._reader.next()
        except ValueError as error:
            raise OlafError(Problem(str(error), remedy="give the port another path, and deploy")) from None

    def fileno(self) -> int:
        return -1

    def close(self) -> None:
        self._writer.close()
        self._reader.close()


def _port_gone(where: str, error: OSError) -> OlafError:
    return OlafError(Problem(f"lost: {error.strerror or error}", where, "is it deployed?"))
