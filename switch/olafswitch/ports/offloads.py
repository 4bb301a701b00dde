"""Offloads of an interface that change frames before a switch sees them, or leave checksums to "hardware"."""

import array
import fcntl
import socket
import struct
from contextlib import suppress
from pathlib import Path

_SIOCETHTOOL = 0x8946
_GET_TX, _GET_TSO, _GET_GSO, _GET_FLAGS, _GET_GRO = 0x16, 0x1E, 0x23, 0x25, 0x2B
_LRO = 1 << 15
_SENDING = {"tx": _GET_TX, "tso": _GET_TSO, "gso": _GET_GSO}
_SYS = Path("/sys/class/net")


def ask_ethtool(control: socket.socket, interface: str, question: bytes) -> bytes:
    """Return the kernel's answer to an ethtool command, as long as the question. Raises OSError."""
    value = array.array("B", question)
    request = struct.pack("16sP", interface.encode(), value.buffer_info()[0])
    fcntl.ioctl(control, _SIOCETHTOOL, request)
    return value.tobytes()


def read_setting(control: socket.socket, interface: str, command: int) -> int:
    """Return a number that ethtool reads; 0 where the interface has no such setting."""
    with suppress(OSError):
        return int(
            struct.unpack_from("I", ask_ethtool(control, interface, struct.pack("II", command, 0)), 4)[0]
        )
    return 0


def describe_offloads(interface: str) -> str | None:
    """Return which offloads of ``interface`` that join or split frames are on, with the command against them.

    A checksum that the other end of a veth leaves to "hardware" arrives here incomplete. An end in another
    namespace cannot be seen and is assumed to be as this one.
    """
    sender = _other_end(interface)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        here = {
            "gro": read_setting(control, interface, _GET_GRO),
            "lro": read_setting(control, interface, _GET_FLAGS) & _LRO,
        }
        there = {name: sender and read_setting(control, sender, what) for name, what in _SENDING.items()}
    commands = []
    for at, settings in ((interface, here), (sender, there)):
        if on := [name for name, value in settings.items() if value]:
            commands.append(f"ethtool -K {at} {' '.join(f'{name} off' for name in on)}")
    if not commands:
        return None
    unseen = " (and at its other end)" if sender == interface else ""
    why = "frames are joined or lack checksums, so that TCP is slow or fails"
    return f"{why}: {'; '.join(commands)}{unseen}"


def _other_end(interface: str) -> str | None:
    """Return a veth's other end, or the interface itself where that is out of sight; None if it is no
    veth."""
    try:
        own, other = (int((_SYS / interface / name).read_text()) for name in ("ifindex", "iflink"))
    except (OSError, ValueError):
        return None
    if other == own:
        return None
    with suppress(OSError, ValueError):
        name = socket.if_indextoname(other)
        if int((_SYS / name / "iflink").read_text()) == own:
            return name
    return interface
