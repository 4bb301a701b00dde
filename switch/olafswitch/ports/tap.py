"""TAP devices: an interface for the host whose other end is a file descriptor."""

import fcntl
import os
import struct

_TUNSETIFF = 0x400454CA
_IFF_TAP = 0x0002
_IFF_NO_PI = 0x1000
_IFF_TUN_EXCL = 0x8000


def open_tap(name: str) -> int:
    """Return a file descriptor (non-blocking) of the new TAP interface ``name``; it ends with the descriptor.

    Raises OSError, also when the interface exists.
    """
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        request = struct.pack("16sH22x", name.encode(), _IFF_TAP | _IFF_NO_PI | _IFF_TUN_EXCL)
        fcntl.ioctl(descriptor, _TUNSETIFF, request)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
