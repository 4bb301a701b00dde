"""Ports in wall time: one UDP socket and one thread each.

On Linux a run of datagrams crosses the kernel as one (UDP_SEGMENT, UDP_GRO): that costs a quarter of one
system call for each. Where the kernel refuses, they are sent one by one.
"""

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
from collections.abc import Sequence
from typing import Callable

from olaf.errors import NoAnswer
from olaf.guards import OwnProcess
from olaf.transport import wire
from olaf.transport.address import Cluster, host_port
from olaf.transport.port import Address, Bytes, Party, Run

_BUFFER = 4 << 20
"""Requested socket buffer size in bytes; the kernel caps it at net.core.rmem_max / wmem_max."""
_LARGEST = 65536
"""Bytes that one call may receive."""
_ROOM = 1 << 20
"""Bytes received in one turn, before the party gets them."""
_AHEAD = -wire.OLAF_BYTES % 4
"""Bytes left free before the first datagram: numpy is fastest with values at a multiple of 4."""
_BURST = 64
"""Calls that receive in one turn, so that ticks are not starved."""
_SO_RCVBUFFORCE = 33
_SO_NO_CHECK = 11
"""Linux: send with UDP checksum 0, because the payload changes in flight."""
_UDP_SEGMENT, _UDP_GRO = 103, 104
"""Linux: the size of the datagrams in what is sent, and received, as one."""
IP_PKTINFO, PKTINFO = 8, struct.Struct("=i4s4s")
"""Linux: which of this machine's addresses a datagram comes from, or was sent to (``struct in_pktinfo``)."""
_CONTROL_BYTES = socket.CMSG_SPACE(struct.calcsize("i")) + socket.CMSG_SPACE(PKTINFO.size)
_MOST_BYTES, _MOST_DATAGRAMS = 65507, 64
"""Limits of one send call: an IP packet's payload, and UDP_MAX_SEGMENTS of the oldest kernels."""
_REFUSED = (errno.EINVAL, errno.EIO, errno.ENOPROTOOPT, errno.EOPNOTSUPP)
"""Refusals of UDP_SEGMENT: by an old kernel, by an interface that cannot make checksums, by a tunnel."""
_IP_MTU = 14
"""Linux: the MTU of the way to what a socket is connected to."""
_IP_MTU_DISCOVER, _IP_PMTUDISC_DO = 10, 2
"""Linux: never fragment; an engine could not combine the pieces."""
_AFTER_DEFECT = 1.0
"""Seconds until a party that failed is ticked again."""
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
                with contextlib.suppress(OSError):  # root may have more than net.core.rmem_max
                    self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
                self._socket.setsockopt(socket.SOL_SOCKET, _SO_NO_CHECK, 1)
                self._socket.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _IP_PMTUDISC_DO)
                with contextlib.suppress(OSError):  # before Linux 5.0
                    self._socket.setsockopt(socket.IPPROTO_UDP, _UDP_GRO, 1)
            self._socket.setblocking(False)
            self._socket.bind(local)
        except OSError as failure:
            self._socket.close()
            raise OSError(
                failure.errno, f"cannot bind UDP {local[0]}:{local[1]}: {failure.strerror}"
            ) from None
        self._origin: list[tuple[int, int, bytes]] = []
        """Goes with all that is sent: from which address, where the socket has several."""
        self._changed = threading.Condition()
        self._wakeup_read, self._wakeup_write = os.pipe()
        os.set_blocking(self._wakeup_write, False)
        self._own = OwnProcess(
            "this member of a training",
            "attach, or make the worker, in this process, with a local= address of its own",
        )
        self._party: Party | None = None
        self._thread: threading.Thread | None = None
        self._open = True
        self._segmenting: bool | None = None if sys.platform == "linux" else False
        """Whether the kernel divides what is sent as one; None until it was tried."""
        self._too_large = False
        """Whether that was logged."""

    @property
    def address(self) -> Address:
        """The socket's own name."""
        host, port = self._socket.getsockname()
        return host, port

    def reachable(self, peer: Address) -> Address:
        """Return this port's address as ``peer`` would see it, by the routing table. Raises NoAnswer."""
        host, port = self.address
        return (_find_source(peer) if host == "0.0.0.0" else host), port

    def mtu(self, peer: Address) -> int:
        """Return the MTU by the routing table, else the standard one."""
        if sys.platform == "linux":
            with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.connect(peer)
                return probe.getsockopt(socket.IPPROTO_IP, _IP_MTU)
        return wire.STANDARD_MTU

    @property
    def room(self) -> int:
        """Bytes that the kernel granted; it uses half itself (man 7 socket, SO_RCVBUF)."""
        return self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2

    @property
    def lock(self) -> threading.Condition:
        """A condition; notified after each call of the party. Raises Taken in a process that was forked."""
        self._own.check()
        return self._changed

    def now(self) -> float:
        """Return the time of the monotonic clock."""
        return time.monotonic()

    def wall(self) -> int:
        """Return the time of the system's clock."""
        return time.time_ns()

    def send(self, to: Address, header: bytes, body: Bytes = b"", tos: int = 0) -> bool:
        """Send a datagram; return False when the socket's buffer is full or the network refuses, and log one
        too large.

        Nothing is sent from a process that was forked.
        """
        if not self._own.here:
            return False
        marked = [(socket.IPPROTO_IP, socket.IP_TOS, struct.pack("i", tos))] if tos else []
        return self._send_datagram((header, body), marked, to)

    def send_run(self, to: Address, run: Run) -> int:
        """Send datagrams until the socket's buffer is full or the network refuses."""
        count, start = len(run), 0
        at_once = min(_MOST_BYTES // max(run.size, 1), _MOST_DATAGRAMS, count)
        if at_once > 1 and self._segmenting is not False:
            while start < count and self._send_as_one(to, run.part(start, start + at_once)):
                start += at_once
            if self._segmenting:
                return min(start, count)
        while start < count and self._send_datagram(run.part(start, start + 1).memory, [], to):
            start += 1
        return start

    def serve(self, party: Party) -> None:
        """Start the thread, or give it another party."""
        with self.lock:
            self._party = party
        if self._thread is None:
            self._thread = threading.Thread(target=self._run_thread, name="olaf", daemon=True)
            self._thread.start()
        self.wake()

    def wake(self) -> None:
        """Have the thread tick its party at once."""
        with self._changed:
            if self._open:
                self._signal_thread()

    def wait(self, until: Callable[[], bool], seconds: float) -> bool:
        """Sleep on the condition."""
        with self.lock:
            return self._changed.wait_for(until, seconds)

    def close(self) -> None:
        """End the thread first. A process that was forked gives back its copies of the descriptors only."""
        if not self._own.here:
            self._thread, self._changed = None, threading.Condition()
        with self._changed:
            if not self._open:
                return
            self._open = False
            self._signal_thread()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._socket.close()
        os.close(self._wakeup_read)
        os.close(self._wakeup_write)

    def _signal_thread(self) -> None:
        with contextlib.suppress(BlockingIOError):  # then many signals are waiting already
            os.write(self._wakeup_write, b"\0")

    def _send_datagram(
        self, datagram: Sequence[Bytes], marked: list[tuple[int, int, bytes]], to: Address
    ) -> bool:
        """Send one datagram, of these pieces."""
        try:
            self._socket.sendmsg(datagram, self._origin + marked, 0, to)
        except OSError as failure:
            self._report_failure(failure, sum(map(len, datagram)), to)
            return False
        return True

    def _send_as_one(self, to: Address, run: Run) -> bool:
        """Send a run by one call, all or nothing. The first call decides whether this socket sends so."""
        if self._segmenting is None:
            self._segmenting = True
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_NO_CHECK, 0)  # the kernel allows one of the two
        segmented = (socket.IPPROTO_UDP, _UDP_SEGMENT, struct.pack("H", run.size))
        try:
            self._socket.sendmsg(run.memory, [*self._origin, segmented], 0, to)
        except OSError as failure:
            if failure.errno in _REFUSED:
                self._segmenting = False
                self._socket.setsockopt(socket.SOL_SOCKET, _SO_NO_CHECK, 1)
            else:
                self._report_failure(failure, run.size, to)
            return False
        return True

    def _report_failure(self, failure: OSError, size: int, to: Address) -> None:
        if failure.errno == errno.EMSGSIZE and not self._too_large:
            self._too_large = True
            _LOG.warning(
                "a datagram of %d bytes exceeds the MTU towards %s; give every member a smaller mtu",
                size,
                to[0],
            )

    def _run_thread(self) -> None:
        buffer = memoryview(bytearray(_ROOM))[_AHEAD:]
        readable = select.poll()
        readable.register(self._socket, select.POLLIN)
        readable.register(self._wakeup_read, select.POLLIN)
        while True:
            with self._changed:
                if not self._open:
                    return
                try:
                    self._receive_runs(buffer)
                    due = self._party.tick() if self._party else None
                except Exception:  # of a policy of one's own, for example: what came is as good as lost
                    _LOG.exception("the party at %s:%d has failed; it is served further", *self.address)
                    due = self.now() + _AFTER_DEFECT
                self._changed.notify_all()
            pause = None if due is None else max(0.0, due - self.now()) * 1000
            for descriptor, _ in readable.poll(pause):
                if descriptor == self._wakeup_read:
                    os.read(self._wakeup_read, 4096)

    def _receive_runs(self, buffer: memoryview) -> None:
        """Tell the party what has come, runs of one source and size that follow one another as one."""
        runs: list[tuple[int, int, int, Address, bytes]] = []
        end = 0
        for _ in range(_BURST):
            if end + _LARGEST > len(buffer):
                break
            try:
                length, control, _, sender = self._socket.recvmsg_into(
                    (buffer[end : end + _LARGEST],), _CONTROL_BYTES
                )
            except BlockingIOError:
                break
            except OSError:
                continue  # an ICMP error of an earlier send, for example: the peer is not up yet
            size, reached = _read_control(control)
            start, each = end, size or length
            end += length
            if runs and reached == runs[-1][4] and _goes_on(runs[-1], length, each, sender):
                start, _, each, _, _ = runs.pop()
            runs.append((start, end, each, sender, reached))
        for start, stop, size, source, reached in runs:
            self._tell_party(Run(buffer[start:stop], size), source, reached)

    def _tell_party(self, run: Run, source: Address, reached: bytes) -> None:
        """Give the party a run; ``reached`` is the address it was sent to, if the socket reports it."""
        if self._party:
            self._party.receive(run, source)


def open_port(local: str | None, where: Address | Cluster) -> UdpPort:
    """Open a member's port at ``local``, else at ``usual``, or at any port if that one is taken.

    Raises BadAddress, and OSError when the address cannot be bound.
    """
    text = local or os.environ.get("OLAF_LOCAL")
    if not text:
        with contextlib.suppress(OSError):
            return UdpPort(usual(where))
    return UdpPort(host_port(text) if text else ("0.0.0.0", 0))


def usual(where: Address | Cluster) -> Address:
    """Return a member's usual address and port, by which an engine knows a worker.

    $OLAF_LOCAL; else, towards a fixed address, UDP port 20300 at this machine's address on the way, as
    testbeds give their workers. Any port where there is no way, where the server is on this machine, and to
    join, since Join carries the port. Raises BadAddress.
    """
    if text := os.environ.get("OLAF_LOCAL"):
        return host_port(text)
    if not isinstance(where, Cluster):
        with contextlib.suppress(NoAnswer):
            source = _find_source(where)
            if source != where[0]:
                return source, wire.UDP_PORT
    return "0.0.0.0", 0


def _find_source(peer: Address) -> str:
    """Return this machine's address on the way to ``peer``. Raises NoAnswer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(peer)
        except OSError as failure:
            what = f"no route leads to {peer[0]}:{peer[1]}: {failure.strerror}; look at ip route"
            raise NoAnswer(what) from None
        return str(probe.getsockname()[0])


def _read_control(control: list[tuple[int, int, bytes]]) -> tuple[int, bytes]:
    """Read the size of datagrams that were received as one, 0 of a single one, and the reached address."""
    size, reached = 0, b""
    for level, kind, data in control:
        if (level, kind) == (socket.IPPROTO_UDP, _UDP_GRO):
            size = int(struct.unpack("i", data)[0])
        elif (level, kind) == (socket.IPPROTO_IP, IP_PKTINFO):
            reached = PKTINFO.unpack(data)[2]
    return size, reached


def _goes_on(run: tuple[int, int, int, Address, bytes], length: int, each: int, sender: Address) -> bool:
    """Return whether what was received next, ``length`` bytes in datagrams of ``each``, belongs to this run.

    Only where the kernel made a run begin: to look for neighbours among single datagrams costs more than
    they save.
    """
    start, stop, size, source, _ = run
    whole = stop - start > size > 0 and (stop - start) % size == 0
    return whole and sender == source and (each == size or 0 < length == each < size)
