"""A compiled program's library and its functions (:file:`olafswitch/p4/native`)."""

import ctypes as c
from pathlib import Path

from olafswitch.native_library import load_library

EMIT = c.CFUNCTYPE(None, c.c_void_p, c.c_uint32, c.POINTER(c.c_uint8), c.c_size_t)
DIGEST = c.CFUNCTYPE(None, c.c_void_p, c.c_uint32, c.POINTER(c.c_uint64), c.c_uint32)
USER_EXTERN = c.CFUNCTYPE(None, c.c_void_p, c.c_uint32, c.POINTER(c.c_uint8), c.POINTER(c.c_uint8))

_NATIVE = Path(__file__).parents[1] / "native"
_INTERFACE = [_NATIVE / name for name in ("switch_abi.h", "control.cpp", "replay.cpp", "switch.cpp")]
PROCESS = {"v1model": "p4_switch_process", "xsa": "p4_switch_process_with_metadata"}
"""What processes packets in a program of each architecture."""


def load_program(path: Path) -> c.CDLL:
    """Load a compiled program's library."""
    return load_library(path, _INTERFACE)
