"""Front ports of a simulated card: frames from and to hosts, for one thread that must never wait."""

import os
import select
import socket
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from olafctl.network import interfaces
from olafctl.targets.front_ports import FrontPort
from olafswitch.errors import OlafError, Problem
from olafswitch.ports import unix
from olafswitch.ports.host import InterfaceHostPort
from olafswitch.ports.packet_socket import MAX_FRAME
from olafswitch.ports.pcap import PcapReader, PcapWriter
from olafswitch.ports.tap import open_tap
from olafswitch.ports.transport import Transport

_BUFFER = 4 << 20


class Front(Protocol):
    """The inner side of a front port."""

    def waitables(self) -> Iterable[int]:
        """Return the descriptors that are readable when something is to be received."""

    def receive(self) -> list[bytes]:
        """Return the frames that have come, without waiting."""

    def send(self, frame: bytes) -> bool:
        """Hand a frame out; return False when it is lost: the receiver is slow, or there is none."""

    def close(self) -> None: ...


def open_front(port: FrontPort, state: Path) -> Front:
    """Open the front port ``port`` of the deployment in ``state``. Raises OlafError."""
    try:
        match port.transport:
            case Transport.VETH | Transport.NIC:
                return _Interface(port.inner)
            case Transport.TAP:
                opened = _Tap(open_tap(port.inner))
                interfaces.adopt_interface(state, port.inner, port.outer.path)
                return opened
            case Transport.UNIX:
                return Segment(Path(port.inner))
            case Transport.PCAP:
                return _Pcap(port.inner)
    except OSError as error:
        where = f"port {port.number} ({port.transport} {port.inner})"
        raise OlafError(Problem(f"cannot be opened: {error}", where)) from error


class Segment:
    """A UNIX socket at which every host gets the port's frames, but not those of other hosts."""

    def __init__(self, path: Path) -> None:
        """Listen at ``path``. Raises OSError."""
        self._listening = unix.listen_at(path, socket.SOCK_SEQPACKET)
        self._listening.setblocking(False)
        self._hosts: list[socket.socket] = []

    def waitables(self) -> Iterable[int]:
        return [self._listening.fileno(), *(host.fileno() for host in self._hosts)]

    def receive(self) -> list[bytes]:
        with suppress(BlockingIOError):
            while True:
                host, _ = self._listening.accept()
                host.setblocking(False)
                host.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
                self._hosts.append(host)
        frames = []
        for host in list(self._hosts):
            try:
                while frame := host.recv(MAX_FRAME):
                    frames.append(frame)
            except BlockingIOError:
                continue
            except OSError:
                pass
            self._hosts.remove(host)
            host.close()
        return frames

    def send(self, frame: bytes) -> bool:
        taken = 0
        for host in self._hosts:
            with suppress(OSError):
                host.send(frame)
                taken += 1
        return taken > 0

    def close(self) -> None:
        for each in (self._listening, *self._hosts):
            each.close()


class _Interface:
    def __init__(self, name: str) -> None:
        self._port = InterfaceHostPort(name)

    def waitables(self) -> Iterable[int]:
        return [self._port.fileno()]

    def receive(self) -> list[bytes]:
        frames = []
        while (frame := self._port.receive(0)) is not None:
            frames.append(frame)
        return frames

    def send(self, frame: bytes) -> bool:
        try:
            self._port.send(frame)
        except OlafError:
            return False
        return True

    def close(self) -> None:
        self._port.close()


class _Tap:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def waitables(self) -> Iterable[int]:
        return [self._descriptor]

    def receive(self) -> list[bytes]:
        frames = []
        with suppress(OSError):
            while True:
                frames.append(os.read(self._descriptor, MAX_FRAME))
        return frames

    def send(self, frame: bytes) -> bool:
        try:
            os.write(self._descriptor, frame)
        except OSError:
            return False
        return True

    def close(self) -> None:
        os.close(self._descriptor)


class _Pcap:
    def __init__(self, files: str) -> None:
        into, _, out = files.partition(",")
        self._reader = PcapReader(Path(into)) if into else None
        self._writer = PcapWriter(Path(out)) if out else None

    def waitables(self) -> Iterable[int]:
        return []

    def receive(self) -> list[bytes]:
        frames = []
        while self._reader is not None and (record := self._reader.next()) is not None:
            frames.append(record[1])
        return frames

    def send(self, frame: bytes) -> bool:
        if self._writer is None:
            return False
        self._writer.write(frame)
        return True

    def close(self) -> None:
        for each in (self._reader, self._writer):
            if each is not None:
                each.close()


def wait_readable(fronts: Iterable[Front], also: Iterable[int], seconds: float) -> set[int]:
    """Wait until something can be received; return the descriptors of ``also`` that are ready."""
    poll = select.poll()
    others = set(also)
    for descriptor in (*others, *(each for front in fronts for each in front.waitables())):
        poll.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(seconds * 1000) if descriptor in others}
