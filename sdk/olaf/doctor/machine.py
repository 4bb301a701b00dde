"""Examine this machine alone: its route, interface and neighbour towards the server."""

from __future__ import annotations

import array
import fcntl
import ipaddress
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from olaf.transport import wire
from olaf.transport.port import Address
from olaf.transport.segments import Segments


class Verdict(str, Enum):
    """How it is."""

    OK = "ok"
    WARNING = "warning"
    """Training works; something is not as it should be."""
    FAULT = "fault"
    """Training does not work like this."""
    SKIPPED = "skipped"
    """Not examined, because of a fault before it or for want of an option."""


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    check: str
    verdict: Verdict
    what: str
    remedy: str = ""


def report_ok(check: str, what: str) -> Finding:
    """Report that a check found no fault."""
    return Finding(check, Verdict.OK, what)


def report_warning(check: str, what: str, remedy: str) -> Finding:
    """Report something that training survives, and its remedy."""
    return Finding(check, Verdict.WARNING, what, remedy)


def report_fault(check: str, what: str, remedy: str) -> Finding:
    """Report something that keeps training from working, and its remedy."""
    return Finding(check, Verdict.FAULT, what, remedy)


def report_skipped(check: str, why: str) -> Finding:
    """Report a check that was not made."""
    return Finding(check, Verdict.SKIPPED, why)


_SIOCETHTOOL = 0x8946
_ETHTOOL_GDRVINFO = 0x03
_ETHTOOL_GTXCSUM = 0x16
_IN_SOFTWARE = ("veth", "tun")
"""Drivers of interfaces that hand frames to other software unchanged, whatever they report of checksums."""
_SIOCGIFCONF = 0x8912
_SIOCGIFMTU = 0x8921
_IFREQ = struct.Struct("16s4x4s16x")
"""struct ifreq with an IPv4 address."""
_INTERFACES = 1024
_COMPLETE = 0x2
"""ATF_COM: the neighbour's address is known."""
_UDP_COUNTERS = ("InCsumErrors", "RcvbufErrors")


@dataclass(frozen=True)
class Way:
    """How this machine reaches the server."""

    source: str
    """This machine's IPv4 address on the way."""
    interface: str
    mtu: int
    """Bytes of an IP packet."""


def way_to(server: Address) -> Way | Finding:
    """Return the interface that datagrams to ``server`` leave by, or why there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(server)
        except OSError as error:
            what = f"no route leads to {server[0]}: {error.strerror}"
            return report_fault("route", what, f"ip address add …, ip route add {server[0]}/32 dev INTERFACE")
        source = probe.getsockname()[0]
        for interface, address in _list_addresses(probe):
            if address == source:
                request = struct.pack("16si20x", interface.encode(), 0)
                (mtu,) = struct.unpack_from("i", fcntl.ioctl(probe, _SIOCGIFMTU, request), 16)
                return Way(source, interface.partition(":")[0], mtu)
    return report_fault("route", f"no interface has the address {source}", "look at ip address, ip route")


def _list_addresses(any_socket: socket.socket) -> Iterator[tuple[str, str]]:
    """Yield each IPv4 address of this machine, after the interface that has it."""
    found = array.array("B", bytes(_IFREQ.size * _INTERFACES))
    place, room = found.buffer_info()
    size, _ = struct.unpack("iP", fcntl.ioctl(any_socket, _SIOCGIFCONF, struct.pack("iP", room, place)))
    for name, address in _IFREQ.iter_unpack(found.tobytes()[:size]):
        yield name.split(b"\0")[0].decode(), socket.inet_ntoa(address)


def examine_machine(way: Way, server: Address, segments: Segments | None) -> Iterator[Finding]:
    """Examine route, frame size and offload; the neighbour's address is known after a probe."""
    yield report_ok("route", f"{way.source} on {way.interface} leads to {server[0]}")
    yield _check_mtu(way, segments)
    if _leaves_checksums(way.interface):
        yield report_warning(
            "offload",
            f"UDP checksums leave {way.interface} incomplete, and updates of several segments undivided, as "
            "if hardware followed; an engine in software cannot read them",
            f"ethtool -K {way.interface} tx off",
        )


def _check_mtu(way: Way, segments: Segments | None) -> Finding:
    if segments is None:
        return report_ok("mtu", f"{way.mtu}: segments of up to {wire.packet_values(way.mtu)} values fit")
    needed = wire.IP_UDP_BYTES + wire.OLAF_BYTES + wire.OLAF_STATUS_BYTES + 4 * segments.size
    what = f"an ACK with {segments.size} values has {needed} bytes, the MTU of {way.interface} is {way.mtu}"
    if needed <= way.mtu:
        return report_ok("mtu", what)
    return report_fault(
        "mtu",
        what,
        f"ip link set {way.interface} mtu {needed}, or mtu={way.mtu} for every member: smaller segments",
    )


def examine_neighbour(way: Way, server: Address) -> Iterator[Finding]:
    """Find out whether the next hop's MAC address is known; yield nothing where none is needed (loopback,
    tunnels)."""
    hop = _next_hop(way.interface, server[0])
    for line in Path("/proc/net/arp").read_text().splitlines()[1:]:
        ip, _, flags, mac, _, interface = line.split()
        if (interface, ip) != (way.interface, hop):
            continue
        if int(flags, 16) & _COMPLETE:
            yield report_ok("neighbour", f"{ip} is at {mac}")
        else:
            remedy = f"ip neighbour replace {ip} lladdr MAC dev {interface}: the testbed gives the MAC"
            yield report_fault("neighbour", f"{ip} does not answer ARP on {interface}", remedy)


def udp_counters() -> dict[str, int]:
    """Return the kernel's counters of datagrams that it dropped on receipt."""
    lines = [line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line[:4] == "Udp:"]
    names, values = lines[0], lines[1]
    counted = dict(zip(names[1:], map(int, values[1:])))
    return {name: counted.get(name, 0) for name in _UDP_COUNTERS}


def report_dropped(before: dict[str, int]) -> Iterator[Finding]:
    """Report datagrams that the kernel dropped since ``before``."""
    now = udp_counters()
    if lost := now["InCsumErrors"] - before["InCsumErrors"]:
        what = f"the kernel dropped {lost} datagrams with a wrong UDP checksum meanwhile"
        yield report_warning("checksum", what, "ethtool -K INTERFACE tx off where they were sent")
    if lost := now["RcvbufErrors"] - before["RcvbufErrors"]:
        what = f"the kernel dropped {lost} datagrams meanwhile because a socket's buffer was full"
        yield report_warning("buffer", what, "sysctl net.core.rmem_max=4194304")


def _next_hop(interface: str, destination: str) -> str:
    """Return the gateway of the most specific route over ``interface``, or the destination itself."""
    address = int(ipaddress.IPv4Address(destination))
    best, hop = -1, destination
    for line in Path("/proc/net/route").read_text().splitlines()[1:]:
        fields = line.split()
        network, gateway, mask = (_little_endian(fields[column]) for column in (1, 2, 7))
        if fields[0] == interface and address & mask == network and mask > best:
            best, hop = mask, str(ipaddress.IPv4Address(gateway)) if gateway else destination
    return hop


def _little_endian(text: str) -> int:
    return int.from_bytes(bytes.fromhex(text), "little")


def _leaves_checksums(interface: str) -> bool:
    """Return whether checksums that the kernel left to the interface stay as they are."""
    info = _ask_ethtool(interface, struct.pack("I192x", _ETHTOOL_GDRVINFO))
    value = _ask_ethtool(interface, struct.pack("II", _ETHTOOL_GTXCSUM, 0))
    if info is None or value is None:
        return False
    driver = info[4:36].split(b"\0")[0].decode(errors="replace")
    return driver in _IN_SOFTWARE and bool(struct.unpack("II", value)[1])


def _ask_ethtool(interface: str, request: bytes) -> bytes | None:
    """Return the interface driver's answer, None without one."""
    answer = array.array("B", request)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        try:
            given = struct.pack("16sP", interface.encode(), answer.buffer_info()[0])
            fcntl.ioctl(control, _SIOCETHTOOL, given)
        except OSError:
            return None
    return answer.tobytes()
