"""The native event-level model: built once, and its C interface (``native/simulate.h``) in ctypes."""

import ctypes
import subprocess
from functools import cache as once
from pathlib import Path

import numpy as np

from olafctl import queue, wire
from olafswitch import cache
from olafswitch.errors import OlafError, Problem
from olafswitch.toolchain import cxx

NATIVE = Path(__file__).parent / "native"
"""The sources, which ``olaflab.model.agreement.ns3`` builds upon too."""
RULES = (
    *sorted((Path(queue.__file__).parent / "native").glob("*.h")),
    Path(wire.__file__).parent / "native" / "modes.h",
)
"""The product's headers, of which they include some: the rules of one queue."""
_FLAGS = ("-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=default", "-Wall", "-Wextra")

DISPOSITIONS = (
    "appended",
    "merged",
    "replaced_worker",
    "replaced_reward",
    "dropped_full",
    "dropped_reward",
    "dropped_mismatch",
    "dropped_member",
    "dropped_duplicate",
    "dropped_late",
    "dropped_superseded",
    "dropped_quota",
    "dropped_halted",
    "dropped_stale",
)
"""What becomes of an update at an engine, in the order of the native enumeration."""


def _layout(*fields: tuple[str, str]) -> np.dtype[np.void]:
    return np.dtype(list(fields), align=True)


ENGINE = _layout(
    ("slots", "u8"),
    ("quota", "u8"),
    ("cycle", "i8"),
    ("merge_cycles", "i8"),
    ("rate", "i8"),
    ("link_ps_per_byte", "f8"),
    ("link_delay", "i8"),
    ("link_capacity", "u8"),
    ("next", "i8"),
    ("window", "i8"),
)
SETTING = _layout(
    ("engine", "u4"),
    ("index", "u4"),
    ("mode", "u4"),
    ("reward_rule", "u4"),
    ("threshold", "f4"),
    ("wanted", "u4"),
    ("member", "u4"),
    ("distributes", "u4"),
)
SOURCE = _layout(
    ("phase", "i8"),
    ("period", "i8"),
    ("jitter", "i8"),
    ("delay", "i8"),
    ("retry", "i8"),
    ("v", "f8"),
    ("tolerance", "f8"),
    ("engine", "u4"),
    ("index", "u4"),
    ("segments", "u4"),
    ("worker", "u4"),
    ("size", "u4"),
    ("sender", "u4"),
)
WORLD = _layout(
    ("owners", "u8"),
    ("indices", "u8"),
    ("clusters", "u8"),
    ("seed", "u8"),
    ("start", "i8"),
    ("end", "i8"),
    ("ack_bytes", "i8"),
    ("status_bytes", "i8"),
    ("senders", "u8"),
    ("goal", "u8"),
    ("acknowledge", "u4"),
    ("record", "u4"),
    ("initial", "u4"),
    ("unused", "u4"),
)
ARRIVAL = _layout(
    ("time", "i8"),
    ("engine", "u4"),
    ("index", "u4"),
    ("worker", "u4"),
    ("size", "u4"),
    ("sender", "u4"),
    ("seq", "u4"),
)
CLUSTER = _layout(
    ("area", "f8"),
    ("observed", "i8"),
    ("peaks", "f8"),
    ("peak_count", "u8"),
    ("highest_peak", "i8"),
    ("generated", "u8"),
    ("replaced", "u8"),
    ("lost", "u8"),
    ("frames", "u8"),
    ("delivered", "u8"),
    ("uncounted", "u8"),
    ("held", "u8"),
    ("acknowledged", "u8"),
)
COUNTERS = _layout(*((name, "u8") for name in DISPOSITIONS), ("sent", "u8"), ("link_dropped", "u8"))
WORKER = _layout(("area", "f8"), ("observed", "i8"), ("delivered", "u8"), ("reached", "i8"))
RECEPTION = _layout(("generated", "i8"), ("time", "i8"), ("index", "u4"), ("count", "u4"))

_handle, _u32, _u64, _i64 = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64
_f64 = ctypes.c_double
_SIGNATURES = {
    "control_new": (_handle, (_f64, _f64)),
    "control_free": (None, (_handle,)),
    "control_acknowledged": (None, (_handle, _i64, _f64)),
    "control_probability": (_f64, (_handle, _i64)),
    "simulation_new": (
        _handle,
        (_handle, _handle, _u64, _handle, _u64, _handle, _u64, _handle, _u64),
    ),
    "simulation_free": (None, (_handle,)),
    "simulation_run": (_u32, (_handle, _u64)),
    "simulation_clusters": (None, (_handle, _handle)),
    "simulation_engines": (None, (_handle, _handle)),
    "simulation_under_way": (_u64, (_handle,)),
    "simulation_events": (_u64, (_handle,)),
    "simulation_receptions": (_u64, (_handle, ctypes.POINTER(_handle))),
    "simulation_workers": (None, (_handle, _handle)),
}


@once
def load() -> ctypes.CDLL:
    """The library, its functions declared. Built when the cache does not hold it, in some seconds.

    Raises MissingTool without a C++ compiler, OlafError when the compiler refuses.
    """
    library = ctypes.CDLL(str(_build()))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, f"olaf_{name}")
        function.restype, function.argtypes = result, arguments
    return library


def _build() -> Path:
    compiler = cxx()
    sources = sorted(NATIVE.iterdir())

    def build(work: Path) -> None:
        units = [str(source) for source in sources if source.suffix == ".cpp"]
        command = [
            *compiler.command,
            *_FLAGS,
            f"-I{RULES[0].parent}",
            *units,
            "-o",
            str(work / "simulate.so"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = done.stderr.strip().splitlines()[:5] or [f"exit code {done.returncode}"]
            raise OlafError(*(Problem(line, "compiling the event-level model") for line in lines))

    key = cache.digest([str(compiler), " ".join(_FLAGS), *sources, *RULES])
    folder, _ = cache.build_once("simulate", key, build)
    return folder / "simulate.so"
