"""Frames leave an interface as they will be on the wire: checksums made, nothing left to "hardware"."""

import array
import fcntl
import socket
import struct
from contextlib import suppress

_SIOCETHTOOL = 0x8946
_ETHTOOL_STXCSUM = 0x17
_ETHTOOL_STSO = 0x1F
_ETHTOOL_SGSO = 0x24
_ETHTOOL_SGRO = 0x2C


def disable(interface: str) -> None:
    """Switch segmentation and checksum offloads of ``interface`` (in the current namespace) off.

    What an interface does not offer is off already. Raises OSError when it does not exist.
    """
    socket.if_nametoindex(interface)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command in (_ETHTOOL_STXCSUM, _ETHTOOL_STSO, _ETHTOOL_SGSO, _ETHTOOL_SGRO):
            value = array.array("B", struct.pack("II", command, 0))
            request = struct.pack("16sP", interface.encode(), value.buffer_info()[0])
            with suppress(OSError):
                fcntl.ioctl(control, _SIOCETHTOOL, request)
