"""A network card as a front port: whether it may be one, and which of its settings should change."""

import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from olafswitch.ports.offloads import ask_ethtool, read_setting

_SYS = Path("/sys/class/net")
_ROUTES, _ROUTES_6 = Path("/proc/net/route"), Path("/proc/net/ipv6_route")
_ETHERNET = 14
_GET_RING, _GET_FLAGS, _GET_GRO = 0x10, 0x25, 0x2B
_RING = struct.Struct("=9I")
_LRO, _VLAN = 1 << 15, 1 << 8


def why_not(name: str) -> str | None:
    """Return why ``name`` cannot be a front port, whose frames the engine takes, or None when it can."""
    if not (_SYS / name).exists():
        return f"interface {name} does not exist"
    if name in _default_routes():
        return f"{name} has this machine's default route"
    return None


def read_mtu(name: str) -> int | None:
    """Return the bytes of the longest packet that passes ``name``; None where it does not exist."""
    try:
        return int((_SYS / name / "mtu").read_text())
    except OSError:
        return None


def _default_routes() -> Iterator[str]:
    """Yield the interfaces with a default route, of IPv4 or IPv6."""
    for line in _ROUTES.read_text().splitlines()[1:]:
        name, to, *_ = line.split()
        if int(to, 16) == 0:
            yield name
    if not _ROUTES_6.exists():  # a kernel without IPv6
        return
    for line in _ROUTES_6.read_text().splitlines():
        to, prefix, *_, name = line.split()
        if int(to, 16) == int(prefix, 16) == 0:
            yield name


def note_settings(name: str, longest: int, threads: int = 1) -> Iterator[str]:
    """Yield a line, with the remedy, for each setting of ``name`` that costs frames of up to ``longest``
    bytes, or ``threads`` time; none where the interface does not exist."""
    if (most := read_mtu(name)) is None:
        return
    queues = len(list((_SYS / name / "queues").glob("rx-*")))
    if queues < threads:
        yield f"{name} has {queues} queues for {threads} shards: ethtool -L {name} combined {threads}"
    if most + _ETHERNET < longest:
        wanted = longest - _ETHERNET
        yield f"{name} takes {most} bytes, updates have up to {wanted}: ip link set dev {name} mtu {wanted}"
    try:
        if int((_SYS / name / "carrier").read_text()) == 0:
            yield f"{name} has no link: is its cable in, and the other end up?"
    except OSError:
        yield f"{name} is down: ip link set dev {name} up"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        flags, gro = (read_setting(control, name, command) for command in (_GET_FLAGS, _GET_GRO))
        on = {"lro": flags & _LRO, "gro": gro, "rxvlan": flags & _VLAN}
        if wrong := [feature for feature, is_on in on.items() if is_on]:
            off = " ".join(f"{feature} off" for feature in wrong)
            yield f"{name} changes frames as they come in: ethtool -K {name} {off}"
        with suppress(OSError):
            ring = _RING.unpack(ask_ethtool(control, name, _RING.pack(_GET_RING, *[0] * 8)))
            if ring[5] < ring[1]:
                yield f"{name} has room for {ring[5]} frames of {ring[1]}: ethtool -G {name} rx {ring[1]}"
