"""A compiled program's library and its functions (:file:`olafswitch/p4/native`)."""

import ctypes as c
from pathlib import Path

EMIT = c.CFUNCTYPE(None, c.c_void_p, c.c_uint32, c.POINTER(c.c_uint8), c.c_size_t)
DIGEST = c.CFUNCTYPE(None, c.c_void_p, c.c_uint32, c.POINTER(c.c_uint64), c.c_uint32)
USER_EXTERN = c.CFUNCTYPE(None, c.c_void_p, c.c_uint32, c.POINTER(c.c_uint8), c.POINTER(c.c_uint8))

_P, _U32, _U64, _WORDS = c.c_void_p, c.c_uint32, c.c_uint64, c.c_char_p
_SIGNATURES = {
    "p4_switch_new": (_P,),
    "p4_switch_free": (None, _P),
    "p4_lanes": (c.c_bool, _P, _U32, c.POINTER(_P)),
    "p4_quiesce": (None, _P),
    "p4_action_direct": (_P, _U32, _WORDS, _U32),
    "p4_action_member": (_P, _P),
    "p4_action_group": (_P, _P),
    "p4_insert": (_P, _P, _U32, _WORDS, _WORDS, _U32, c.c_int32, _P),
    "p4_modify": (None, _P, _P, _P),
    "p4_delete": (c.c_bool, _P, _U32, _P),
    "p4_idle_ns": (_U64, _P),
    "p4_set_default": (c.c_bool, _P, _U32, _P),
    "p4_const_entry": (_P, _P, _U32),
    "p4_value_set": (c.c_bool, _P, _U32, _U32, _WORDS, _WORDS),
    "p4_member_new": (_P, _P),
    "p4_member_set": (None, _P, _P, _P),
    "p4_member_free": (None, _P, _P),
    "p4_group_new": (_P,),
    "p4_group_set": (c.c_bool, _P, _P, _U32, c.POINTER(_P)),
    "p4_group_free": (None, _P, _P),
    "p4_counter_get": (None, _P, _P, _U32, _U32, c.POINTER(_U64)),
    "p4_counter_set": (None, _P, _P, _U32, _U32, _U64, _U64),
    "p4_meter_set": (c.c_bool, _P, _P, _U32, _U32, c.POINTER(c.c_double)),
    "p4_register_get": (None, _P, _U32, _U32, c.POINTER(_U64)),
    "p4_register_set": (None, _P, _U32, _U32, c.POINTER(_U64)),
    "p4_replicas_set": (c.c_bool, _P, c.c_int, _U32, c.c_int, c.POINTER(_U32), _U32),
    "p4_on_digest": (None, _P, DIGEST, _P),
    "p4_on_user_extern": (None, _P, USER_EXTERN, _P),
    "p4_replay": (_U64, _P, _P, _U32, c.c_char_p, c.POINTER(_U32), _U32, _U32, c.POINTER(_U64)),
}
PROCESS = {"v1model": "p4_switch_process", "xsa": "p4_switch_process_with_metadata"}
"""The function that processes packets in a program of each architecture."""
_PROCESS_SIGNATURES = {
    "v1model": (None, _P, _U32, c.c_char_p, c.c_size_t, _U64, EMIT, _P),
    "xsa": (None, _P, c.c_char_p, c.c_size_t, _U64, c.c_char_p, EMIT, _P),
}


def load_library(path: Path, architecture: str) -> c.CDLL:
    """Return the library with its functions' types set."""
    library = c.CDLL(str(path))
    signatures = {**_SIGNATURES, PROCESS[architecture]: _PROCESS_SIGNATURES[architecture]}
    for name, (result, *arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
