"""The native event-level model and the arrays that it takes."""

import ctypes
import subprocess
from collections import defaultdict
from functools import cache as once
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from olafctl import queue, wire
from olafctl.queue.registers import CLOCK_HZ
from olafctl.wire.layouts import STATUS
from olaflab.model.scenario import Scenario
from olafswitch import cache
from olafswitch.errors import OlafError, Problem
from olafswitch.toolchain import cxx

PS = 1000
"""Picoseconds in a nanosecond."""
CYCLE_PS = 10**12 // CLOCK_HZ
MERGE_CYCLES = 3
"""Cycles of a merged beat besides the adder's: read, written, read again (hdl/olaf_merge.v)."""


def native_arrays(scenario: Scenario, duration: int, warm_up: int = 0) -> bytes:
    """The scenario's sources and engines for another program: the numbers of engines, settings and sources,
    then the world and these arrays, as native/simulate.h declares them; times in ns."""
    parts = engine_array(scenario), settings_array(scenario), source_array(scenario)
    whole = world_array(scenario, duration, warm_up)
    whole["indices"] = len(index_owners(scenario))
    sizes = np.array([len(part) for part in parts], np.uint64)
    return b"".join(part.tobytes() for part in (sizes, whole, *parts))


def world_array(scenario: Scenario, duration: int, warm_up: int) -> NDArray[np.void]:
    """What a run is besides its engines and workers, still without the owners of the indices; times in ns."""
    row = np.zeros(1, WORLD)
    row["clusters"], row["seed"] = scenario.clusters, scenario.seed
    row["start"], row["end"] = warm_up * PS, duration * PS
    row["ack_bytes"], row["status_bytes"] = scenario.ack_bytes or 0, STATUS.size
    row["acknowledge"] = scenario.controlled
    return row


def engine_array(scenario: Scenario) -> NDArray[np.void]:
    """Every engine with its link."""
    places = {engine.name: place for place, engine in enumerate(scenario.engines)}
    rows = np.zeros(len(scenario.engines), ENGINE)
    for row, engine in zip(rows, scenario.engines, strict=True):
        link = engine.link
        row["slots"], row["quota"], row["cycle"] = engine.slots, engine.quota, CYCLE_PS
        row["merge_cycles"] = engine.adder_latency + MERGE_CYCLES
        row["rate"] = round((engine.rate or 0) * CYCLE_PS / 10**12 * 2**32)
        row["link_ps_per_byte"], row["link_delay"] = _ps_per_byte(link.rate), link.delay * PS
        row["link_capacity"] = link.capacity or 0
        row["next"] = -1 if link.to is None else places[link.to]
        row["window"] = engine.active_window * PS
    return rows


def index_owners(scenario: Scenario) -> NDArray[np.uint32]:
    """The cluster of each index: a cluster's segments have consecutive ones."""
    sizes = [scenario.segments.get(cluster, 1) for cluster in range(scenario.clusters)]
    return np.repeat(np.arange(scenario.clusters, dtype=np.uint32), sizes)


def _first_indices(scenario: Scenario) -> NDArray[np.int64]:
    """The first index of each cluster."""
    return np.searchsorted(index_owners(scenario), np.arange(scenario.clusters)).astype(np.int64)


def settings_array(scenario: Scenario) -> NDArray[np.void]:
    """What every engine does with every index, engine by engine."""
    clusters = index_owners(scenario).tolist()
    members = scenario.members_below() if scenario.rounds else {}
    everyone = defaultdict[int, set[int]](set)
    for (_, cluster), workers in members.items():
        everyone[cluster] |= workers
    rows = np.zeros((len(scenario.engines), len(clusters)), SETTING)
    for place, engine in enumerate(scenario.engines):
        for index, cluster in enumerate(clusters):
            below = members.get((engine.name, cluster), set())
            row = rows[place, index]
            row["engine"], row["index"] = place, index
            row["mode"] = engine.mode_of(cluster).number
            row["wanted"], row["member"] = max(len(below), 1), min(below, default=0)
            row["distributes"] = engine.link.to is None or below == everyone[cluster]
    return rows.reshape(-1)


def source_array(scenario: Scenario) -> NDArray[np.void]:
    """Every periodic worker, in the order of the scenario."""
    places = {engine.name: place for place, engine in enumerate(scenario.engines)}
    drawn = np.random.default_rng(scenario.seed)
    first = _first_indices(scenario)
    numbers = {sender: number for number, sender in enumerate(scenario.senders)}
    rows = np.zeros(len(scenario.sources), SOURCE)
    for row, source in zip(rows, scenario.sources, strict=True):
        phase = int(drawn.integers(source.period * PS)) if source.phase is None else source.phase * PS
        row["phase"], row["period"] = phase, source.period * PS
        row["jitter"], row["delay"] = source.jitter * PS, source.delay * PS
        row["retry"] = source.retry * PS
        row["engine"], row["index"] = places[source.engine], first[source.cluster]
        row["segments"] = scenario.segments.get(source.cluster, 1)
        row["worker"], row["size"] = source.worker, source.size
        row["sender"] = numbers[source.cluster, source.worker]
        if source.control is not None:
            row["v"], row["tolerance"] = source.control.v, source.control.tolerance
    return rows


def arrival_array(scenario: Scenario) -> NDArray[np.void]:
    """Every update of the trace."""
    trace = scenario.trace
    if trace is None:
        return np.zeros(0, ARRIVAL)
    rows = np.zeros(len(trace.time), ARRIVAL)
    rows["worker"] = trace.worker
    rows["time"], rows["index"] = trace.time * PS, _first_indices(scenario)[trace.cluster]
    if trace.segment is not None:
        rows["index"] += trace.segment.astype(np.uint32)
    for place, engine in enumerate(scenario.engines):
        rows["engine"][np.broadcast_to(np.asarray(trace.engine) == engine.name, len(rows))] = place
    rows["size"] = trace.size
    rows["seq"] = np.arange(len(rows)) if trace.round is None else trace.round
    width = 1 + max(worker for _, worker in scenario.senders)
    codes = [cluster * width + worker for cluster, worker in scenario.senders]
    rows["sender"] = np.searchsorted(codes, trace.cluster * width + trace.worker)
    return rows


def _ps_per_byte(rate: float | None) -> float:
    return 0.0 if rate is None else 8e12 / rate


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


def _pack_layout(*fields: tuple[str, str]) -> np.dtype[np.void]:
    return np.dtype(list(fields), align=True)


ENGINE = _pack_layout(
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
SETTING = _pack_layout(
    ("engine", "u4"),
    ("index", "u4"),
    ("mode", "u4"),
    ("reward_rule", "u4"),
    ("threshold", "f4"),
    ("wanted", "u4"),
    ("member", "u4"),
    ("distributes", "u4"),
)
SOURCE = _pack_layout(
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
WORLD = _pack_layout(
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
ARRIVAL = _pack_layout(
    ("time", "i8"),
    ("engine", "u4"),
    ("index", "u4"),
    ("worker", "u4"),
    ("size", "u4"),
    ("sender", "u4"),
    ("seq", "u4"),
)
CLUSTER = _pack_layout(
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
COUNTERS = _pack_layout(*((name, "u8") for name in DISPOSITIONS), ("sent", "u8"), ("link_dropped", "u8"))
WORKER = _pack_layout(("area", "f8"), ("observed", "i8"), ("delivered", "u8"), ("reached", "i8"))
RECEPTION = _pack_layout(("generated", "i8"), ("time", "i8"), ("index", "u4"), ("count", "u4"))

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
def load_library() -> ctypes.CDLL:
    """The library, its functions declared. Built when the cache does not hold it, in some seconds.

    Raises MissingTool without a C++ compiler, OlafError when the compiler refuses.
    """
    library = ctypes.CDLL(str(_build_library()))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, f"olaf_{name}")
        function.restype, function.argtypes = result, arguments
    return library


def _build_library() -> Path:
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
