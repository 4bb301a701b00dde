"""Ports in wall time: one UDP socket and one thread each."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import select
import socket
import struct
import sys
import threading
import time
from typing import Callable

from olaf.port import Address, Bytes, Party

_BUFFER = 4 << 20
"""Asked of the kernel in each direction; it gives what net.core.rmem_max and wmem_max allow."""
_LARGEST = 65536
_BURST = 64
"""Datagrams received in one turn, so that ticks are not starved."""
_SO_NO_CHECK = 11
"""Linux: send with UDP checksum 0, because the payload changes in flight."""
_IP_MTU_DISCOVER, _IP_PMTUDISC_DO = 10, 2
"""Linux: never fragment; an engine could not combine the pieces."""
_LOG = logging.getLogger("olaf")


class UdpPort:
    """A non-blocking UDP socket; a daemon thread receives and calls the party under ``lock``."""

    def __init__(self, local: Address = ("0.0.0.0", 0)) -> None:
        """Raises OSError when the address cannot be bound."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
            if sys.platform == "linux":
                self._socket.setsockopt(socket.SOL_SOCKET, _SO_NO_CHECK, 1)
                self._socket.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _IP_PMTUDISC_DO)
            self._socket.setblocking(False)
            self._socket.bind(local)
        except OSError as failure:
            self._socket.close()
            raise OSError(
                failure.errno, f"cannot bind UDP {local[0]}:{local[1]}: {failure.strerror}"
            ) from None
        self._changed = threading.Condition()
        self._wakeup_read, self._wakeup_write = os.pipe()
        os.set_blocking(self._wakeup_write, False)
        self._party: Party | None = None
        self._thread: threading.Thread | None = None
        self._open = True
        self._too_large = False
        """Whether that was logged."""

    @property
    def address(self) -> Address:
        """The socket's own name."""
        host, port = self._socket.getsockname()
        return host, port

    def reachable(self, peer: Address) -> Address:
        """This port's address as ``peer`` would see it, by the routing table."""
        host, port = self.address
        if host == "0.0.0.0":
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.connect(peer)
                host = probe.getsockname()[0]
        return host, port

    @property
    def lock(self) -> threading.Condition:
        """A condition; notified after everything that the party was told."""
        return self._changed

    def now(self) -> float:
        """The monotonic clock."""
        return time.monotonic()

    def wall(self) -> int:
        """The system's clock."""
        return time.time_ns()

    def send(self, to: Address, header: bytes, body: Bytes = b"", tos: int = 0) -> bool:
        """False when the socket's buffer is full or the network refuses; if too large, the log says so."""
        marked = [(socket.IPPROTO_IP, socket.IP_TOS, struct.pack("i", tos))] if tos else []
        try:
            self._socket.sendmsg((header, body), marked, 0, to)
        except OSError as failure:
            if failure.errno == errno.EMSGSIZE and not self._too_large:
                self._too_large = True
                _LOG.warning(
                    "a datagram of %d bytes exceeds the MTU towards %s; give every member a smaller mtu",
                    len(header) + len(body),
                    to[0],
                )
            return False
        return True

    def serve(self, party: Party) -> None:
        """Start the thread, or give it another party."""
        with self._changed:
            self._party = party
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="olaf", daemon=True)
            self._thread.start()
        self.wake()

    def wake(self) -> None:
        """Have the thread tick its party at once."""
        with self._changed:
            if self._open:
                self._signal()

    def wait(self, until: Callable[[], bool], seconds: float) -> bool:
        """Sleep on the condition."""
        with self._changed:
            return self._changed.wait_for(until, seconds)

    def close(self) -> None:
        """Ends the thread first."""
        with self._changed:
            if not self._open:
                return
            self._open = False
            self._signal()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._socket.close()
        os.close(self._wakeup_read)
        os.close(self._wakeup_write)

    def _signal(self) -> None:
        with contextlib.suppress(BlockingIOError):  # then many signals are waiting already
            os.write(self._wakeup_write, b"\0")

    def _run(self) -> None:
        buffer = memoryview(bytearray(_LARGEST))
        readable = select.poll()
        readable.register(self._socket, select.POLLIN)
        readable.register(self._wakeup_read, select.POLLIN)
        while True:
            with self._changed:
                if not self._open:
                    return
                self._receive(buffer)
                due = self._party.tick() if self._party else None
                self._changed.notify_all()
            pause = None if due is None else max(0.0, due - self.now()) * 1000
            for descriptor, _ in readable.poll(pause):
                if descriptor == self._wakeup_read:
                    os.read(self._wakeup_read, 4096)

    def _receive(self, buffer: memoryview) -> None:
        for _ in range(_BURST):
            try:
                size, source = self._socket.recvfrom_into(buffer)
            except BlockingIOError:
                return
            except OSError:
                continue  # an ICMP error of an earlier send, for example: the peer is not up yet
            if self._party:
                self._party.receive(buffer[:size], source)
