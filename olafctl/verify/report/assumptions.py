"""What a verdict takes for granted, a line each."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from olafctl.membership.objective import duration
from olafctl.verify.question.system import Cluster, Slope, SlotFreed, System, Transmission

_NAMED = 3
"""Clusters alike that are named one by one."""


def assumptions(system: System) -> Iterator[str]:
    """What a verdict on ``system`` takes for granted, a line each."""
    total = sum(system.generations)
    yield (
        f"horizon: {system.updates} updates of a worker of the fastest cluster, {total} in all;"
        " an empty engine, a model generated and an ACK received at time 0;"
        " nothing is generated after the horizon"
    )
    for cluster, names in _alike(system.clusters):
        low, high = (duration(time) for time in cluster.phase)
        workers = f"{cluster.workers} workers, each" if cluster.workers > 1 else "one worker,"
        late = f", each late by 0 … {duration(cluster.jitter)}" if cluster.jitter else " exactly"
        yield (
            f"arrivals of {names}: {workers} every {duration(cluster.period)}{late},"
            f" the first anywhere in {low} … {high}"
        )
    grain = f" on a grid of {duration(system.tick)}" if system.tick > 1 else ""
    again = ", the same whenever the same two meet" if system.exact else ""
    yield f"free times are all tried{grain}; of updates that meet at one instant either may be first{again}"
    freed = "begins to depart" if system.slot_freed is SlotFreed.DEPARTURE else "is sent out"
    yield (
        f"engine: p/C = {duration(system.service)}, Q_max = {system.slots}, a slot is free when its"
        f" update {freed}; one waiting update a cluster; the reward rule drops nothing"
    )
    yield from _control(system)
    yield "A(k) stands for generation, D(k) for delivery: constant delays are left out (OLAF §6)"


def _alike(clusters: Sequence[Cluster]) -> Iterator[tuple[Cluster, str]]:
    """One cluster of each kind, with the names of all that differ from it in name only."""
    kinds: dict[Cluster, list[str]] = {}
    for cluster in clusters:
        kinds.setdefault(replace(cluster, name=""), []).append(cluster.name)
    for kind, names in kinds.items():
        if len(names) > _NAMED:
            yield kind, f"{names[0]} … {names[-1]} ({len(names)} clusters, each)"
        else:
            yield kind, ", ".join(names)


def _control(system: System) -> Iterator[str]:
    if not system.controlled:
        off = system.transmission is Transmission.ALWAYS
        yield "transmission: every update is sent" + ("" if off else ", as Q_max ≥ N (P_s = 1)")
        return
    slope = "1/Δ_T" if system.slope is Slope.URGENT else "Δ_T (in seconds)"
    yield (
        f"transmission control: N = {len(system.clusters)} active clusters,"
        f" Δ_T = {duration(system.threshold)}, v = {slope}, ACKs after {duration(system.ack_delay)};"
        f" P_s = 1 from Δ̂ = {duration(system.certain_after)} on"
    )
    lowest = float(system.probability(0))
    if system.transmission is Transmission.ANY:
        yield "decisions: for all outcomes; a worker may withhold whenever P_s < 1"
    elif system.transmission is Transmission.BOUNDED:
        risk = min(1.0, sum(system.generations) * (1 - lowest) ** (system.patience + 1))
        yield (
            f"decisions: any, but no cluster withholds more than {system.patience} in a row;"
            f" chance leaves this with a probability of at most {risk:.3g} within the horizon"
        )
    else:
        yield "decisions: the expected rate, sent whenever ΣP_s reaches 1: no guarantee for single outcomes"
