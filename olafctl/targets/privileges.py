"""The rights of an engine's process that root starts: no more than its ports need."""

import ctypes
import os
from collections.abc import Set

NEEDED = frozenset({"CAP_DAC_OVERRIDE", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_IPC_LOCK", "CAP_BPF"})
"""The rights for caches in a folder of sudo's caller, ports, and memory and programs of AF_XDP."""
NAMESPACES = "CAP_SYS_ADMIN"
_NUMBERS = {
    "CAP_DAC_OVERRIDE": 1,
    "CAP_NET_ADMIN": 12,
    "CAP_NET_RAW": 13,
    "CAP_IPC_LOCK": 14,
    NAMESPACES: 21,
    "CAP_BPF": 39,
}
_BOUNDING_DROP = 24
_VERSION_3 = 0x20080522
_LAST = 63


def keep_capabilities(names: Set[str]) -> None:
    """Give up every capability but ``names``, for this thread, its new threads and their programs.

    It gains no capability. Raises OSError.
    """
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    kept = sum(1 << _NUMBERS[name] for name in names)
    for number in range(_LAST + 1):
        if not kept >> number & 1:
            libc.prctl(_BOUNDING_DROP, number, 0, 0, 0)  # an unknown number is refused
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    held = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; then the same of the upper 32
    if libc.capget(header, held) == 0:
        for word in range(6):
            held[word] &= kept >> (32 * (word // 3)) & 0xFFFFFFFF
        if libc.capset(header, held) == 0:
            return
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
