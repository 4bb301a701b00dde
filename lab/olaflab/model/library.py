"""The native event-level model and the arrays that it takes."""

import ctypes
import re
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
from olafswitch import cache, native_library
from olafswitch.errors import OlafError, Problem
from olafswitch.toolchain import cxx

PS = 1000
"""Picoseconds in a nanosecond."""
CYCLE_PS = 10**12 // CLOCK_HZ
MERGE_CYCLES = 3
"""Cycles of a merged beat besides the adder's: read, written, read again (hdl/olaf_merge.v)."""


def native_arrays(scenario: Scenario, duration: int, warm_up: int = 0) -> bytes:
    """Return the scenario's sources and engines for another program: the numbers of engines, settings and
    sources, then the world and these arrays, as native/simulate.h declares them; times in ns."""
    parts = engine_array(scenario), settings_array(scenario), source_array(scenario)
    whole = world_array(scenario, duration, warm_up)
    whole["indices"] = len(index_owners(scenario))
    sizes = np.array([len(part) for part in parts], np.uint64)
    return b"".join(part.tobytes() for part in (sizes, whole, *parts))


def world_array(scenario: Scenario, duration: int, warm_up: int) -> NDArray[np.void]:
    """Return what a run is besides its engines and workers, still without the owners of the indices; times in
    ns."""
    row = np.zeros(1, STRUCTS["World"])
    row["clusters"], row["seed"] = scenario.clusters, scenario.seed
    row["start"], row["end"] = warm_up * PS, duration * PS
    row["ack_bytes"], row["status_bytes"] = scenario.ack_bytes or 0, STATUS.size
    row["acknowledge"] = scenario.controlled
    return row


def engine_array(scenario: Scenario) -> NDArray[np.void]:
    """Return every engine with its link."""
    places = {engine.name: place for place, engine in enumerate(scenario.engines)}
    rows = np.zeros(len(scenario.engines), STRUCTS["Engine"])
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
    """Return the cluster of each index: a cluster's segments have consecutive ones."""
    sizes = [scenario.segments.get(cluster, 1) for cluster in range(scenario.clusters)]
    return np.repeat(np.arange(scenario.clusters, dtype=np.uint32), sizes)


def _first_indices(scenario: Scenario) -> NDArray[np.int64]:
    """Return the first index of each cluster."""
    return np.searchsorted(index_owners(scenario), np.arange(scenario.clusters)).astype(np.int64)


def settings_array(scenario: Scenario) -> NDArray[np.void]:
    """Return what every engine does with every index, engine by engine."""
    clusters = index_owners(scenario).tolist()
    members = scenario.members_below() if scenario.rounds else {}
    everyone = defaultdict[int, set[int]](set)
    for (_, cluster), workers in members.items():
        everyone[cluster] |= workers
    rows = np.zeros((len(scenario.engines), len(clusters)), STRUCTS["Setting"])
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
    """Return every periodic worker, in the order of the scenario."""
    places = {engine.name: place for place, engine in enumerate(scenario.engines)}
    drawn = np.random.default_rng(scenario.seed)
    first = _first_indices(scenario)
    numbers = {sender: number for number, sender in enumerate(scenario.senders)}
    rows = np.zeros(len(scenario.sources), STRUCTS["Source"])
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
    """Return every update of the trace."""
    trace = scenario.trace
    if trace is None:
        return np.zeros(0, STRUCTS["Arrival"])
    rows = np.zeros(len(trace.time), STRUCTS["Arrival"])
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

_COMMENT = re.compile(r"//[^\n]*")
_KINDS = {"int64_t": "i8", "uint64_t": "u8", "uint32_t": "u4", "double": "f8", "float": "f4"}


def _read_dispositions(header: Path) -> tuple[str, ...]:
    """Return the names of the native enumeration, ``kDroppedFull`` as ``dropped_full``, in its order."""
    body = header.read_text().partition("enum class Disposition")[2].partition("};")[0]
    names = re.findall(r"^    k(\w+),", body, re.MULTILINE)
    return tuple(re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower() for name in names if name != "Count")


DISPOSITIONS = _read_dispositions(Path(queue.__file__).parent / "native" / "rules.h")
"""What becomes of an update at an engine."""


def _read_structs(header: Path) -> dict[str, np.dtype[np.void]]:
    """Return a header's structs by name; an array of counts has a field for each disposition."""
    found = {}
    for name, body in re.findall(
        r"^struct Olaf(\w+) \{(.*?)^\};", _COMMENT.sub("", header.read_text()), re.MULTILINE | re.DOTALL
    ):
        fields: list[tuple[str, str]] = []
        for kind, names in re.findall(r"(?:const )?(\w+) ([^;]+);", body):
            for each in (text.strip() for text in names.split(",")):
                if "[" in each:
                    fields += [(disposition, _KINDS[kind]) for disposition in DISPOSITIONS]
                else:
                    fields.append((each.removeprefix("*"), "u8" if each.startswith("*") else _KINDS[kind]))
        found[name] = np.dtype(fields, align=True)
    return found


_INTERFACES = NATIVE / "simulate.h", NATIVE / "training.h"
STRUCTS = {name: each for header in _INTERFACES for name, each in _read_structs(header).items()}
"""The structs of the C interface, without their prefix ``Olaf``."""


@once
def load_library() -> ctypes.CDLL:
    """Load the library with its functions declared. Built when the cache does not hold it, in some seconds.

    Raises MissingTool without a C++ compiler, OlafError when the compiler refuses.
    """
    return native_library.load_library(_build_library(), _INTERFACES)


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
