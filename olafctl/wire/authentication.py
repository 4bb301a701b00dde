"""The MAC of a control message: what it covers, and how a message gets it."""

import hmac
from ipaddress import IPv4Address

from olafctl.wire.frames import Values, pack_header
from olafctl.wire.layouts import HeaderLayout

MAC_BYTES = 16


def make_mac(message: bytes, key: str, ip: IPv4Address, udp_port: int) -> bytes:
    """Authenticate a message up to its MAC under ``key`` (hexadecimal); zero without a key. The member that
    sends or gets it is at that address."""
    if not key:
        return bytes(MAC_BYTES)
    covered = ip.packed + udp_port.to_bytes(2, "big") + message
    return hmac.digest(bytes.fromhex(key), covered, "sha256")[:MAC_BYTES]


def sign_message(layout: HeaderLayout, values: Values, key: str, ip: IPv4Address, udp_port: int) -> bytes:
    """Return a message's bytes with its MAC; arguments as of :func:`mac`."""
    message = pack_header(layout, values)[:-MAC_BYTES]
    return message + make_mac(message, key, ip, udp_port)
