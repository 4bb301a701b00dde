"""Packet sockets: frames as they are on the wire, with the VLAN tag that the kernel takes out of them."""

import socket
import struct

Ancillary = list[tuple[int, int, bytes]]

MAX_FRAME = 16384
"""Bytes of the longest frame that any port takes; ``native/ports.h`` says the same."""
_SOL_PACKET = 263
_PACKET_STATISTICS = 6
_PACKET_AUXDATA = 8
_PACKET_IGNORE_OUTGOING = 23
_SO_RCVBUFFORCE = 33
_BUFFER = 32 << 20
_AUXDATA = struct.Struct("=IIIHHHH")
_STATISTICS = struct.Struct("=II")
_VLAN_VALID = 1 << 4
_VLAN_TPID_VALID = 1 << 6

ANCILLARY_BYTES = socket.CMSG_SPACE(_AUXDATA.size)


def open_socket(interface: str, *, outgoing: bool = False) -> socket.socket:
    """Return a packet socket at ``interface`` of this namespace, for frames that come in and (``outgoing``)
    go out.

    Raises OSError.
    """
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    try:
        made.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, int(not outgoing))
        made.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        try:
            made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
        except PermissionError:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
        made.bind((interface, 3))  # ETH_P_ALL
    except BaseException:
        made.close()
        raise
    return made


def count_lost(opened: socket.socket) -> int:
    """Return the number of frames that did not fit the socket's buffer since the last call."""
    statistics = opened.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, _STATISTICS.size)
    return int(_STATISTICS.unpack(statistics)[1])


def with_vlan_tag(frame: bytes, ancillary: Ancillary) -> bytes:
    """Return ``frame`` as it was on the wire: with the VLAN tag that the kernel took out."""
    for level, kind, data in ancillary:
        if level == _SOL_PACKET and kind == _PACKET_AUXDATA and len(data) >= _AUXDATA.size:
            status, _, _, _, _, tci, tpid = _AUXDATA.unpack(data[: _AUXDATA.size])
            if status & _VLAN_VALID:
                tag = tpid if status & _VLAN_TPID_VALID else 0x8100
                return frame[:12] + struct.pack(">HH", tag, tci) + frame[12:]
    return frame
