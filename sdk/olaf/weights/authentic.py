"""Players' messages: packed and taken apart, with the cluster's MAC where it has a key."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import struct
from collections.abc import Iterable

from olaf.transport import wire
from olaf.transport.port import Address

MOST_RANGES = 150
"""Ranges in one message: it fits an MTU of 1500."""
Ranges = list[tuple[int, int]]
"""First frame and count of each."""


def pack(want: wire.Want, ranges: Iterable[tuple[int, int]], key: bytes, member: Address) -> bytes:
    """A message of the player at ``member``."""
    sent = list(ranges)[:MOST_RANGES]
    want.count = len(sent)
    body = b"".join(wire.Range(first, count).pack() for first, count in sent)
    want.mac = mac(_covered(want, body), key, member)
    return want.pack() + body


def unpack(datagram: memoryview, key: bytes, member: Address) -> tuple[wire.Want, Ranges]:
    """The reverse. Raises ValueError for what is none, and for a wrong MAC."""
    try:
        want = wire.Want.unpack(datagram)
        places = range(wire.WANT_BYTES, wire.WANT_BYTES + want.count * wire.RANGE_BYTES, wire.RANGE_BYTES)
        ranges = [wire.Range.unpack(datagram, place) for place in places]
    except struct.error:
        raise ValueError("the message is too short") from None
    body = bytes(datagram[wire.WANT_BYTES : wire.WANT_BYTES + want.count * wire.RANGE_BYTES])
    if want.action != wire.WANT_ACTION or not hmac.compare_digest(
        want.mac, mac(_covered(want, body), key, member)
    ):
        raise ValueError("the MAC is wrong")
    return want, [(one.first, one.count) for one in ranges]


def mac(message: bytes, key: bytes, member: Address) -> bytes:
    """Of a message of the player at ``member``; zero without a key."""
    if not key:
        return bytes(wire.MAC_BYTES)
    where = ipaddress.IPv4Address(member[0]).packed + member[1].to_bytes(2, "big")
    return hmac.new(key, where + message, hashlib.sha256).digest()[: wire.MAC_BYTES]


def _covered(want: wire.Want, ranges: bytes) -> bytes:
    return want.pack()[: -wire.MAC_BYTES] + ranges
