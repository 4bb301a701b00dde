"""pcapng files of Ethernet frames, with names of interfaces and times in ns (draft-ietf-opsawg-pcapng)."""

import struct
from collections.abc import Sequence

_SECTION, _INTERFACE, _STATISTICS, _PACKET = 0x0A0D0D0A, 1, 5, 6
_BYTE_ORDER = 0x1A2B3C4D
_UNKNOWN_LENGTH = -1
_ETHERNET = 1
_IF_NAME, _IF_TIME_RESOLUTION = 2, 9
_NANOSECONDS = 9
_EPB_FLAGS = 2
_INBOUND, _OUTBOUND = 1, 2
_ISB_RECEIVED, _ISB_DROPPED = 4, 5
_APPLICATION = 4


def start_section(application: str, interfaces: Sequence[str], longest: int) -> bytes:
    """Return the beginning of a file: the section and its interfaces, which are numbered in this order."""
    section = struct.pack("=IHHq", _BYTE_ORDER, 1, 0, _UNKNOWN_LENGTH)
    blocks = [_make_block(_SECTION, section + _make_options((_APPLICATION, application.encode())))]
    for name in interfaces:
        body = struct.pack("=HHI", _ETHERNET, 0, longest)
        options = _make_options((_IF_NAME, name.encode()), (_IF_TIME_RESOLUTION, bytes([_NANOSECONDS])))
        blocks.append(_make_block(_INTERFACE, body + options))
    return b"".join(blocks)


def packet_block(interface: int, when: int, frame: bytes, outbound: bool) -> bytes:
    """Return the block of a frame at ``when`` ns since the epoch."""
    head = struct.pack("=IIIII", interface, when >> 32, when & 0xFFFFFFFF, len(frame), len(frame))
    direction = struct.pack("=I", _OUTBOUND if outbound else _INBOUND)
    return _make_block(_PACKET, head + _pad_block(frame) + _make_options((_EPB_FLAGS, direction)))


def statistics_block(interface: int, when: int, received: int, dropped: int) -> bytes:
    """Return the block of an interface's received frames, and of those that are not in the file."""
    head = struct.pack("=III", interface, when >> 32, when & 0xFFFFFFFF)
    counts = ((_ISB_RECEIVED, struct.pack("=Q", received)), (_ISB_DROPPED, struct.pack("=Q", dropped)))
    return _make_block(_STATISTICS, head + _make_options(*counts))


def _make_block(kind: int, body: bytes) -> bytes:
    length = len(body) + 12
    return struct.pack("=II", kind, length) + body + struct.pack("=I", length)


def _make_options(*options: tuple[int, bytes]) -> bytes:
    listed = (struct.pack("=HH", code, len(value)) + _pad_block(value) for code, value in options)
    return b"".join(listed) + struct.pack("=HH", 0, 0)


def _pad_block(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
