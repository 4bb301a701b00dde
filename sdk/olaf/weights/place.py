"""Join a cluster, or stay at a fixed address; pack and check players' messages with their MAC."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import ipaddress
import os
import struct
import threading
from collections.abc import Iterable
from dataclasses import dataclass

from olaf.errors import BadAddress
from olaf.transport import wire
from olaf.transport.address import Cluster
from olaf.transport.membership import Membership, key_of
from olaf.transport.port import Address, Port
from olaf.transport.udp import UdpPort, open_port

_JOIN_SECONDS = 10.0
LEAST_MTU = 256
"""Bytes of an IP packet that a manifest fits."""
_newest_line = 0
_lines = threading.Lock()
MOST_RANGES = 150
"""Ranges in one message: it fits an MTU of 1500."""
Ranges = list[tuple[int, int]]
"""First frame and count of each range."""


@dataclass
class Place:
    """The control plane's answer, or nothing."""

    server: Address | None
    """The publisher's address; None at the publisher of a fixed testbed."""
    key: bytes
    membership: Membership | None
    fixed_epoch: int = 0

    @property
    def epoch(self) -> int:
        """The job's."""
        joined = self.membership.joined if self.membership else None
        return joined.epoch if joined else self.fixed_epoch

    def take(self, datagram: memoryview) -> None:
        """Take a control message."""
        if self.membership is not None:
            self.membership.take(datagram)

    def report(self, player: Address, version: int, lag: int, age: float | None, state: int) -> None:
        """Report a player's state to the control plane; ``age`` in s, ``state`` as ``wire.Report`` has it."""
        if self.membership is not None:
            self.membership.report(player, version, lag, age, state)

    def leave(self) -> None:
        """Leave the cluster."""
        if self.membership is not None:
            self.membership.leave()


def open_member(local: str | None, where: Address | Cluster) -> UdpPort:
    """Open a port for a publisher or a player; in a cluster the usual one of testbeds, if it is free.

    Raises BadAddress, and OSError when the address cannot be bound.
    """
    if local is None and not os.environ.get("OLAF_LOCAL") and isinstance(where, Cluster):
        with contextlib.suppress(OSError):
            return UdpPort(("0.0.0.0", wire.UDP_PORT))
    return open_port(local, where)


def require_arguments(
    *,
    max_lag: int | None = None,
    epoch: int = 0,
    version: int = 0,
    rate: float = 1.0,
    mtu: int | None = None,
) -> None:
    """Raise ValueError, with the remedy, for an argument that nothing can be done with."""
    if max_lag is not None and max_lag < 0:
        raise ValueError(f"max_lag is {max_lag}; give a number of versions from 0, or None to a player")
    if not 0 <= epoch < wire.EPOCHS:
        raise ValueError(f"epoch is {epoch}; give the testbed's, from 0 to {wire.EPOCHS - 1}")
    if not 0 <= version < 1 << 32:
        raise ValueError(f"version is {version}; give the last one published, from 0, below 2**32")
    if not 0 < rate < float("inf"):
        raise ValueError(f"rate is {rate}; give bytes a second, above 0")
    if mtu is not None and not LEAST_MTU <= mtu <= wire.MOST_PACKET_BYTES:
        raise ValueError(f"mtu is {mtu}; give bytes of an IP packet, {LEAST_MTU} to {wire.MOST_PACKET_BYTES}")


def place_of(
    destination: Address | Cluster,
    key: str | None,
    role: wire.MemberRole,
    port: Port,
    epoch: int,
) -> Place:
    """Join, where there is a control plane. Raises JoinRefused, NoAnswer, and ValueError for a bad key."""
    secret = key_of(key if key is not None else os.environ.get("OLAF_KEY", ""))
    if not isinstance(destination, Cluster):
        return Place(destination, secret, None, epoch)
    membership = Membership(port, destination, 0, role, secret)
    return Place(membership.admit(_JOIN_SECONDS).server, secret, membership)


def control_of(destination: Address | Cluster) -> Address:
    """Return the address that answers for a destination."""
    return destination.control if isinstance(destination, Cluster) else destination


def open_publisher(
    destination: Address | Cluster, local: str | None, key: str | None, epoch: int
) -> tuple[UdpPort, Place]:
    """Open the port that players are told, and join there. Raises BadAddress where ``local`` is another."""
    wanted: str | None = local
    while True:
        port = open_member(wanted, destination)
        try:
            place = place_of(destination, key, wire.MemberRole.PARAMETER_SERVER, port, epoch)
            own = port.reachable(control_of(destination))
        except BaseException:
            port.close()
            raise
        if not isinstance(destination, Cluster) or place.server in (own, None):
            return port, place
        port.close()
        host, number = place.server
        if local is not None or host != own[0] or wanted is not None:
            raise BadAddress(
                f"players of {destination.name} listen to {host}:{number} and this publisher is at "
                f"{own[0]}:{own[1]}; start it there (OLAF_LOCAL or local={host}:{number})"
            )
        wanted = f"{host}:{number}"


def next_line(wall: int) -> int:
    """Number this run, later than every other one of this process."""
    global _newest_line
    with _lines:
        _newest_line = max(wall // 100_000_000, _newest_line + 1)
        return _newest_line % 2**32


def pack_want(want: wire.Want, ranges: Iterable[tuple[int, int]], key: bytes, member: Address) -> bytes:
    """Pack a message of the player at ``member``."""
    sent = list(ranges)[:MOST_RANGES]
    want.count = len(sent)
    body = b"".join(wire.Range(first, count).pack() for first, count in sent)
    want.mac = compute_mac(_covered(want, body), key, member)
    return want.pack() + body


def unpack_want(datagram: memoryview, key: bytes, member: Address) -> tuple[wire.Want, Ranges]:
    """Take a player's message apart. Raises ValueError for what is none, and for a wrong MAC."""
    try:
        want = wire.Want.unpack(datagram)
        places = range(wire.WANT_BYTES, wire.WANT_BYTES + want.count * wire.RANGE_BYTES, wire.RANGE_BYTES)
        ranges = [wire.Range.unpack(datagram, place) for place in places]
    except struct.error:
        raise ValueError("the message is too short") from None
    body = bytes(datagram[wire.WANT_BYTES : wire.WANT_BYTES + want.count * wire.RANGE_BYTES])
    if want.action != wire.WANT_ACTION or not hmac.compare_digest(
        want.mac, compute_mac(_covered(want, body), key, member)
    ):
        raise ValueError("the MAC is wrong")
    return want, [(one.first, one.count) for one in ranges]


def compute_mac(message: bytes, key: bytes, member: Address) -> bytes:
    """Compute the MAC of a message of the player at ``member``; zero without a key."""
    if not key:
        return bytes(wire.MAC_BYTES)
    where = ipaddress.IPv4Address(member[0]).packed + member[1].to_bytes(2, "big")
    return hmac.new(key, where + message, hashlib.sha256).digest()[: wire.MAC_BYTES]


def _covered(want: wire.Want, ranges: bytes) -> bytes:
    return want.pack()[: -wire.MAC_BYTES] + ranges
