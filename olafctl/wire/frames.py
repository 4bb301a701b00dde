"""Frames in Python: headers packed and unpacked by their layouts, datagrams with their addresses."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Self

from olafctl.wire import layouts
from olafctl.wire.layouts import HeaderLayout

Values = dict[str, int]

_HEADERS = (layouts.ETHERNET, layouts.IPV4, layouts.UDP)


def pack_header(layout: HeaderLayout, values: Values) -> bytes:
    """Return a header's bytes in network order; fields not named are zero.

    Raises ValueError for a value that does not fit its field and for a name that is not a field.
    """
    total = 0
    left = dict(values)
    for field in layout.fields:
        value = left.pop(field.name, 0)
        if not 0 <= value < 1 << field.bits:
            raise ValueError(f"{layout.name}.{field.name}: {value} does not fit {field.bits} bits")
        total = total << field.bits | value
    if left:
        raise ValueError(f"{layout.name} has no field {', '.join(left)}")
    return total.to_bytes(layout.size, "big")


def unpack_header(layout: HeaderLayout, data: bytes) -> Values:
    """Return a header's fields from its first ``layout.size`` bytes.

    Raises ValueError when there are fewer.
    """
    if len(data) < layout.size:
        raise ValueError(f"{layout.name} needs {layout.size} bytes, not {len(data)}")
    total = int.from_bytes(data[: layout.size], "big")
    values = {}
    for field in reversed(layout.fields):
        values[field.name] = total & ((1 << field.bits) - 1)
        total >>= field.bits
    return values


def float_bits(value: float) -> int:
    """Return the bits of ``value`` as binary32."""
    return int.from_bytes(struct.pack(">f", value), "big")


def bits_float(bits: int) -> float:
    """Return the binary32 with these bits."""
    return float(struct.unpack(">f", bits.to_bytes(4, "big"))[0])


def mac_bits(mac: str) -> int:
    """Return ``aa:bb:cc:dd:ee:ff`` as an integer."""
    return int(mac.replace(":", ""), 16)


def ipv4_checksum(header: bytes) -> int:
    """Return the checksum of an IPv4 header whose checksum field is zero (RFC 791)."""
    total: int = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@dataclass(frozen=True)
class Endpoint:
    """One end of a flow: MAC, IPv4 address and UDP port."""

    mac: str
    ip: IPv4Address
    port: int


@dataclass(frozen=True)
class Datagram:
    """A UDP datagram over IPv4 with its addresses; ``body`` is the payload of the sockets at both ends."""

    source: Endpoint
    destination: Endpoint
    body: bytes
    tos: int = 0

    def encode(self) -> bytes:
        """Return the whole Ethernet frame, with UDP checksum 0."""
        udp = {
            "src_port": self.source.port,
            "dst_port": self.destination.port,
            "length": layouts.UDP.size + len(self.body),
        }
        ipv4 = {
            "version": 4,
            "ihl": 5,
            "tos": self.tos,
            "total_len": layouts.IPV4.size + udp["length"],
            "ttl": 64,
            "protocol": 17,
            "src_addr": int(self.source.ip),
            "dst_addr": int(self.destination.ip),
        }
        ipv4["hdr_checksum"] = ipv4_checksum(pack_header(layouts.IPV4, ipv4))
        ethernet = {
            "dst_addr": mac_bits(self.destination.mac),
            "src_addr": mac_bits(self.source.mac),
            "ether_type": 0x0800,
        }
        headers = (
            pack_header(layouts.ETHERNET, ethernet),
            pack_header(layouts.IPV4, ipv4),
            pack_header(layouts.UDP, udp),
        )
        return b"".join((*headers, self.body))

    @classmethod
    def decode(cls, frame: bytes) -> Self:
        """Return a datagram from its frame, as a host receives it; a UDP checksum is not checked.

        Raises ValueError for anything but IPv4/UDP without options, a wrong IPv4 checksum, and lengths that
        contradict each other.
        """
        ethernet, ipv4, udp = _unpack_headers(frame, _HEADERS)
        if ethernet["ether_type"] != 0x0800 or ipv4["ihl"] != 5 or ipv4["protocol"] != 17:
            raise ValueError("not an IPv4 UDP frame without options")
        if ipv4_checksum(frame[layouts.ETHERNET.size :][: layouts.IPV4.size]):
            raise ValueError("a wrong IPv4 checksum")
        start = layouts.ETHERNET.size + layouts.IPV4.size + layouts.UDP.size
        end = layouts.ETHERNET.size + ipv4["total_len"]
        if ipv4["total_len"] != layouts.IPV4.size + udp["length"] or not start <= end <= len(frame):
            raise ValueError(f"the lengths {len(frame)}, {ipv4['total_len']}, {udp['length']} do not fit")
        return cls(
            Endpoint(_parse_mac(ethernet["src_addr"]), IPv4Address(ipv4["src_addr"]), udp["src_port"]),
            Endpoint(_parse_mac(ethernet["dst_addr"]), IPv4Address(ipv4["dst_addr"]), udp["dst_port"]),
            frame[start:end],
            ipv4["tos"],
        )


def _unpack_headers(frame: bytes, stack: Sequence[HeaderLayout]) -> list[Values]:
    headers = []
    for layout in stack:
        headers.append(unpack_header(layout, frame))
        frame = frame[layout.size :]
    return headers


def _parse_mac(bits: int) -> str:
    return bits.to_bytes(6, "big").hex(":")
