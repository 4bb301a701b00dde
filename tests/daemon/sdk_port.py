"""A port of the SDK at a deployment's front port: its datagrams as frames, without an interface."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from olaf.transport.port import Address, Bytes, Party, Run
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from olafswitch.errors import OlafError
from olafswitch.ports.host import HostPort

_TURN = 0.01


class FramePort:
    """See :class:`olaf.transport.port.Port`. A thread receives, and calls the party under the lock."""

    def __init__(self, host: HostPort, own: tuple[str, str, int], next_hop: str) -> None:
        """``own`` is the host's MAC and IPv4 address and UDP port, ``next_hop`` the MAC that it sends to."""
        self._host = host
        self._mac, ip, port = own
        self._next_hop = next_hop
        self.address: Address = (ip, port)
        self.lock = threading.Condition(threading.RLock())
        self._party: Party | None = None
        self._open = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def reachable(self, peer: Address) -> Address:
        return self.address

    @property
    def room(self) -> int:
        return 1 << 20

    def mtu(self, peer: Address) -> int:
        return 1500

    def now(self) -> float:
        return time.monotonic()

    def wall(self) -> int:
        return time.time_ns()

    def send(self, to: Address, header: bytes, body: Bytes = b"", tos: int = 0) -> bool:
        headers = Ether(src=self._mac, dst=self._next_hop) / IP(src=self.address[0], dst=to[0], tos=tos)
        datagram = UDP(sport=self.address[1], dport=to[1], chksum=0) / Raw(header + bytes(body))
        self._host.send(bytes(headers / datagram))
        return True

    def send_run(self, to: Address, run: Run) -> int:
        return sum(self.send(to, bytes(datagram)) for datagram in run)

    def serve(self, party: Party) -> None:
        with self.lock:
            self._party = party

    def wake(self) -> None:
        pass

    def wait(self, until: Callable[[], bool], seconds: float) -> bool:
        with self.lock:
            return self.lock.wait_for(until, seconds)

    def close(self) -> None:
        with self.lock:
            self._open = False
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while self._open:
            with suppress(OlafError):
                frame = self._host.receive(_TURN)
                with self.lock:
                    if frame is not None and self._party is not None:
                        self._take(self._party, Ether(frame))
                    if self._party is not None:
                        self._party.tick()
                    self.lock.notify_all()

    def _take(self, party: Party, frame: Ether) -> None:
        if UDP in frame and (frame[IP].dst, frame[UDP].dport) == self.address:
            payload = bytes(frame[UDP].payload)[: frame[UDP].len - 8]
            party.receive(Run(memoryview(payload)), (frame[IP].src, frame[UDP].sport))
