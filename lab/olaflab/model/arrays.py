"""A scenario as arrays of the layouts in library.py, in picoseconds: what the native model reads."""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from olafctl.queue.registers import CLOCK_HZ
from olafctl.wire.layouts import STATUS
from olaflab.model import library
from olaflab.model.scenario import Scenario

PS = 1000
"""Picoseconds in a nanosecond."""
CYCLE_PS = 10**12 // CLOCK_HZ
MERGE_CYCLES = 3
"""Cycles of a merged beat besides the adder's: read, written, read again (hdl/olaf_merge.v)."""


def native_arrays(scenario: Scenario, duration: int, warm_up: int = 0) -> bytes:
    """The scenario's sources and engines for another program: the numbers of engines, settings and sources,
    then the world and these arrays, as native/simulate.h declares them; times in ns."""
    parts = engines(scenario), settings(scenario), sources(scenario)
    whole = world(scenario, duration, warm_up)
    whole["indices"] = len(owners(scenario))
    sizes = np.array([len(part) for part in parts], np.uint64)
    return b"".join(part.tobytes() for part in (sizes, whole, *parts))


def world(scenario: Scenario, duration: int, warm_up: int) -> NDArray[np.void]:
    """What a run is besides its engines and workers, still without the owners of the indices; times in ns."""
    row = np.zeros(1, library.WORLD)
    row["clusters"], row["seed"] = scenario.clusters, scenario.seed
    row["start"], row["end"] = warm_up * PS, duration * PS
    row["ack_bytes"], row["status_bytes"] = scenario.ack_bytes or 0, STATUS.size
    row["acknowledge"] = scenario.controlled
    return row


def engines(scenario: Scenario) -> NDArray[np.void]:
    """Every engine with its link."""
    places = {engine.name: place for place, engine in enumerate(scenario.engines)}
    rows = np.zeros(len(scenario.engines), library.ENGINE)
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


def owners(scenario: Scenario) -> NDArray[np.uint32]:
    """The cluster of each index: a cluster's segments have consecutive ones."""
    sizes = [scenario.segments.get(cluster, 1) for cluster in range(scenario.clusters)]
    return np.repeat(np.arange(scenario.clusters, dtype=np.uint32), sizes)


def _first(scenario: Scenario) -> NDArray[np.int64]:
    """The first index of each cluster."""
    return np.searchsorted(owners(scenario), np.arange(scenario.clusters)).astype(np.int64)


def settings(scenario: Scenario) -> NDArray[np.void]:
    """What every engine does with every index, engine by engine."""
    clusters = owners(scenario).tolist()
    members = scenario.members_below() if scenario.rounds else {}
    everyone = defaultdict[int, set[int]](set)
    for (_, cluster), workers in members.items():
        everyone[cluster] |= workers
    rows = np.zeros((len(scenario.engines), len(clusters)), library.SETTING)
    for place, engine in enumerate(scenario.engines):
        for index, cluster in enumerate(clusters):
            below = members.get((engine.name, cluster), set())
            row = rows[place, index]
            row["engine"], row["index"] = place, index
            row["mode"] = engine.mode_of(cluster).number
            row["wanted"], row["member"] = max(len(below), 1), min(below, default=0)
            row["distributes"] = engine.link.to is None or below == everyone[cluster]
    return rows.reshape(-1)


def sources(scenario: Scenario) -> NDArray[np.void]:
    """Every periodic worker, in the order of the scenario."""
    places = {engine.name: place for place, engine in enumerate(scenario.engines)}
    drawn = np.random.default_rng(scenario.seed)
    first = _first(scenario)
    numbers = {sender: number for number, sender in enumerate(scenario.senders)}
    rows = np.zeros(len(scenario.sources), library.SOURCE)
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


def arrivals(scenario: Scenario) -> NDArray[np.void]:
    """Every update of the trace."""
    trace = scenario.trace
    if trace is None:
        return np.zeros(0, library.ARRIVAL)
    rows = np.zeros(len(trace.time), library.ARRIVAL)
    rows["worker"] = trace.worker
    rows["time"], rows["index"] = trace.time * PS, _first(scenario)[trace.cluster]
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
