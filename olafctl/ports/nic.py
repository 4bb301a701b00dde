"""A network card as a front port: whether it may be one, and what should be set at it and is not."""

import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from olafctl.ports import offload

_SYS = Path("/sys/class/net")
_ROUTES = Path("/proc/net/route")
_ETHERNET = 14
_GET_RING, _GET_FLAGS, _GET_GRO = 0x10, 0x25, 0x2B
_RING = struct.Struct("=9I")
_LRO, _VLAN = 1 << 15, 1 << 8


def why_not(name: str) -> str | None:
    """Why ``name`` cannot be a front port, or None when it can: the engine takes all that comes in there."""
    if not (_SYS / name).exists():
        return f"there is no interface {name}"
    routes = (line.split() for line in _ROUTES.read_text().splitlines()[1:])
    if any(route[0] == name and route[1] == "00000000" for route in routes):
        return f"{name} has this machine's default route"
    return None


def notes(name: str, longest: int) -> Iterator[str]:
    """A line for each setting of ``name`` that costs frames of up to ``longest`` bytes, with its remedy; none
    where there is no such interface."""
    if not (_SYS / name).exists():
        return
    mtu = int((_SYS / name / "mtu").read_text())
    if mtu + _ETHERNET < longest:
        wanted = longest - _ETHERNET
        yield f"{name} takes {mtu} bytes, updates have up to {wanted}: ip link set dev {name} mtu {wanted}"
    try:
        if int((_SYS / name / "carrier").read_text()) == 0:
            yield f"{name} has no link: is its cable in, and the other end up?"
    except OSError:
        yield f"{name} is down: ip link set dev {name} up"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:

        def value(command: int) -> int:
            with suppress(OSError):  # it has no such setting
                return int(
                    struct.unpack_from("I", offload.ask(control, name, struct.pack("II", command, 0)), 4)[0]
                )
            return 0

        flags = value(_GET_FLAGS)
        on = {"lro": flags & _LRO, "gro": value(_GET_GRO), "rxvlan": flags & _VLAN}
        if wrong := [feature for feature, is_on in on.items() if is_on]:
            off = " ".join(f"{feature} off" for feature in wrong)
            yield f"{name} changes frames as they come in: ethtool -K {name} {off}"
        with suppress(OSError):
            ring = _RING.unpack(offload.ask(control, name, _RING.pack(_GET_RING, *[0] * 8)))
            if ring[5] < ring[1]:
                yield f"{name} has room for {ring[5]} frames of {ring[1]}: ethtool -G {name} rx {ring[1]}"
