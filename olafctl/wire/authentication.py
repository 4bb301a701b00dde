"""The MAC of a control message: the bytes that it covers, and how a message gets it."""

import hmac
from ipaddress import IPv4Address

from olafctl.wire.frames import Values, pack_header
from olafctl.wire.layouts import HeaderLayout

MAC_BYTES = 16


def make_mac(message: bytes, key: str, ip: IPv4Address, udp_port: int) -> bytes:
    """Return the MAC under ``key`` (hexadecimal) of a message up to its MAC; zero without a key. The member
    that sends or gets the message is at ``ip`` and ``udp_port``."""
    if not key:
        return bytes(MAC_BYTES)
    covered = ip.packed + udp_port.to_bytes(2, "big") + message
    return hmac.digest(bytes.fromhex(key), covered, "sha256")[:MAC_BYTES]


def sign_message(layout: HeaderLayout, values: Values, key: str, ip: IPv4Address, udp_port: int) -> bytes:
    """Return a message's bytes with its MAC; the arguments are those of :func:`make_mac`."""
    message = pack_header(layout, values)[:-MAC_BYTES]
    return message + make_mac(message, key, ip, udp_port)
