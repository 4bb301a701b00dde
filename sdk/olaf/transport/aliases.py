"""Several addresses of one machine over one socket, for a program that trains in several clusters.

An engine knows a worker by its address, so a member of several clusters has an address in each.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Callable

from olaf.errors import BadAddress
from olaf.transport import wire
from olaf.transport.port import Address, Bytes, Party, Port, Run
from olaf.transport.udp import IP_PKTINFO, PKTINFO, UdpPort


def share(*addresses: str, port: int = wire.UDP_PORT) -> list[Port]:
    """Share one socket, served by one thread, among a port for each of these IPv4 addresses.

    Each is for one member: ``olaf.attach(optimizer, server, port=mine)``. The socket is closed with the last
    of them. Raises BadAddress for an address that is not this machine's or comes twice, and OSError when
    ``port`` is taken, or on systems other than Linux.
    """
    if len(set(addresses)) != len(addresses) or not addresses:
        raise BadAddress(f"{len(addresses)} addresses, {len(set(addresses))} distinct: give each once")
    if sys.platform != "linux":
        raise OSError("several addresses over one socket need Linux")
    for address in addresses:
        _check_addresses(address)
    shared = _Shared(port, len(addresses))
    return [shared.alias(address) for address in addresses]


class _Shared(UdpPort):
    """The socket, and the party of each address."""

    def __init__(self, port: int, count: int) -> None:
        super().__init__(("0.0.0.0", port))
        self._socket.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
        self.count = count
        self.parties: dict[str, Party | None] = {}

    def alias(self, address: str) -> _Alias:
        """Return the port at one of the addresses."""
        self.parties[address] = None
        return _Alias(self, address)

    @contextmanager
    def sending_from(self, address: str) -> Iterator[None]:
        """Send from there meanwhile."""
        with self.lock:
            mark = PKTINFO.pack(0, socket.inet_aton(address), bytes(4))
            self._origin = [(socket.IPPROTO_IP, IP_PKTINFO, mark)]
            try:
                yield
            finally:
                self._origin = []

    def receive(self, run: Run, source: Address) -> None:
        """Receive nothing: what arrives goes to the party of its address."""

    def tick(self) -> float | None:
        """Let every party do what is due."""
        due = [party.tick() for party in list(self.parties.values()) if party is not None]
        return min((time for time in due if time is not None), default=None)

    def leave(self, address: str) -> None:
        """Leave an address; the last one closes the socket."""
        with self.lock:
            self.parties.pop(address, None)
            last = not self.parties
        if last:
            self.close()

    def _tell_party(self, run: Run, source: Address, reached: bytes) -> None:
        party = self.parties.get(socket.inet_ntoa(reached)) if reached else None
        if party is not None:
            party.receive(run, source)


class _Alias:
    """One address of the socket."""

    def __init__(self, shared: _Shared, host: str) -> None:
        self._shared, self._host = shared, host

    @property
    def address(self) -> Address:
        """Its own, at the common UDP port."""
        return self._host, self._shared.address[1]

    def reachable(self, peer: Address) -> Address:
        """Return the address, which everyone sees alike."""
        return self.address

    def mtu(self, peer: Address) -> int:
        """Return the socket's MTU."""
        return self._shared.mtu(peer)

    @property
    def room(self) -> int:
        """An equal part of the socket's: all may be answered at once."""
        return self._shared.room // self._shared.count

    @property
    def lock(self) -> AbstractContextManager[object]:
        """The same for all addresses."""
        return self._shared.lock

    def now(self) -> float:
        """Return the time of the socket's clock."""
        return self._shared.now()

    def wall(self) -> int:
        """Return the wall time of the socket's clock."""
        return self._shared.wall()

    def send(self, to: Address, header: bytes, body: Bytes = b"", tos: int = 0) -> bool:
        """Send a datagram from this address."""
        with self._shared.sending_from(self._host):
            return self._shared.send(to, header, body, tos)

    def send_run(self, to: Address, run: Run) -> int:
        """Send datagrams from this address."""
        with self._shared.sending_from(self._host):
            return self._shared.send_run(to, run)

    def serve(self, party: Party) -> None:
        """Give this party from now on what comes to the address."""
        with self._shared.lock:
            self._shared.parties[self._host] = party
        self._shared.serve(self._shared)

    def wake(self) -> None:
        """Wake the socket's thread, which ticks all parties."""
        self._shared.wake()

    def wait(self, until: Callable[[], bool], seconds: float) -> bool:
        """Sleep until the socket's thread has done something."""
        return self._shared.wait(until, seconds)

    def close(self) -> None:
        """Close this port; the others stay."""
        self._shared.leave(self._host)


def _check_addresses(address: str) -> None:
    """Refuse an address that is no IPv4 address of this machine. Raises BadAddress."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            if not any(socket.inet_pton(socket.AF_INET, address)):
                raise OSError("it stands for all of them")
            probe.bind((address, 0))
        except OSError as failure:
            what = f"{address!r} is not an address of this machine: {failure.strerror or failure}"
            raise BadAddress(f"{what}; ip address add {address}/24 dev … adds one") from None
