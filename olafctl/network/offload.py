"""Make frames leave an interface as they will be on the wire: checksums made, VLAN tags in place, nothing
left to "hardware"."""

import socket
import struct
from contextlib import suppress

from olafswitch.ports.offloads import ask_ethtool

_ETHTOOL_STXCSUM = 0x17
_ETHTOOL_GSTRINGS = 0x1B
_ETHTOOL_STSO = 0x1F
_ETHTOOL_SGSO = 0x24
_ETHTOOL_SGRO = 0x2C
_ETHTOOL_GSSET_INFO = 0x37
_ETHTOOL_SFEATURES = 0x3B
_ETH_SS_FEATURES = 4
_NAME_BYTES = 32
_TAGS = ("tx-vlan-hw-insert", "tx-vlan-stag-hw-insert")


def disable_offloads(interface: str) -> None:
    """Switch segmentation, checksum and VLAN offloads of ``interface`` (in the current namespace) off.

    An offload that the interface lacks is off already. Raises OSError when the interface does not exist.
    """
    socket.if_nametoindex(interface)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command in (_ETHTOOL_STXCSUM, _ETHTOOL_STSO, _ETHTOOL_SGSO, _ETHTOOL_SGRO):
            with suppress(OSError):
                ask_ethtool(control, interface, struct.pack("II", command, 0))
        with suppress(OSError):
            _disable_features(control, interface, _TAGS)


def _disable_features(control: socket.socket, interface: str, unwanted: tuple[str, ...]) -> None:
    """Switch off the features that ``ethtool -k`` shows by these names."""
    wanted = struct.pack("IIQI", _ETHTOOL_GSSET_INFO, 0, 1 << _ETH_SS_FEATURES, 0)
    (count,) = struct.unpack_from("I", ask_ethtool(control, interface, wanted), 16)
    head = struct.pack("III", _ETHTOOL_GSTRINGS, _ETH_SS_FEATURES, count)
    names = ask_ethtool(control, interface, head + bytes(count * _NAME_BYTES))[len(head) :]
    blocks = [0] * (-(-count // 32))
    for bit in range(count):
        name = names[bit * _NAME_BYTES : (bit + 1) * _NAME_BYTES].rstrip(b"\0").decode()
        if name in unwanted:
            blocks[bit // 32] |= 1 << bit % 32
    pairs = b"".join(struct.pack("II", chosen, 0) for chosen in blocks)
    ask_ethtool(control, interface, struct.pack("II", _ETHTOOL_SFEATURES, len(blocks)) + pairs)
