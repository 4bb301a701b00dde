"""A verdict in words, rows and JSON values."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from olafctl.verify.objective import milliseconds
from olafctl.verify.schedule import Schedule
from olafctl.verify.simulation import Run
from olafctl.verify.system import Slope, SlotFreed, System, Transmission
from olafctl.verify.verdict import Counterexample, Verdict

COLUMNS = ("A(k)", "cluster", "worker", "seq", "what", "D(k)", "Δ_p", "ACK_Q")


def assumptions(system: System) -> tuple[str, ...]:
    """What a verdict on ``system`` takes for granted, a line each."""
    return tuple(_assumptions(system))


def rows(schedule: Schedule, run: Run) -> list[tuple[str, ...]]:
    """The schedule as a table with the columns COLUMNS; D, Δ_p, ACK_Q stand with a slot's first update."""
    departures = {(departure.cluster, departure.opened): departure for departure in run.departures}
    table: list[tuple[str, ...]] = []
    for update, fate in zip(schedule.updates, run.fates, strict=True):
        departure = departures.get((update.cluster, update.time)) if fate == "waits" else None
        peak = departure.peak if departure else None
        table.append(
            (
                milliseconds(update.time),
                schedule.system.clusters[update.cluster].name,
                str(update.worker),
                str(update.seq),
                fate.value,
                milliseconds(departure.time) if departure else "",
                "" if peak is None else milliseconds(peak),
                str(departure.ack_queue) if departure else "",
            )
        )
    return table


def as_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict as JSON values; times in ns."""
    found = verdict.counterexample
    return {
        "verdict": verdict.answer.value,
        "objective": str(verdict.objective),
        "seconds": round(verdict.seconds, 3),
        "assumptions": list(assumptions(verdict.system)),
        "counterexample": None if found is None else _counterexample(found),
    }


def outcome_as_json(schedule: Schedule, run: Run) -> dict[str, Any]:
    """What a replayed schedule came to, and each update's fate, as JSON values; times in ns."""
    names = [cluster.name for cluster in schedule.system.clusters]
    return {
        "peaks_ns": dict(zip(names, map(list, run.outcome.peaks), strict=True)),
        "final_age_ns": dict(zip(names, run.outcome.final_age, strict=True)),
        "lost": dict(zip(names, run.outcome.lost, strict=True)),
        "departures": [
            {
                "cluster": names[departure.cluster],
                "arrival_ns": departure.arrival,
                "departure_ns": departure.time,
                "peak_ns": departure.peak,
                "ack_queue": departure.ack_queue,
            }
            for departure in run.departures
        ],
        "updates": [
            {
                "time_ns": update.time,
                "cluster": update.cluster,
                "worker": update.worker,
                "seq": update.seq,
                "gen_time": update.time,
                "fate": fate.value,
            }
            for update, fate in zip(schedule.updates, run.fates, strict=True)
        ],
    }


def outcome_lines(schedule: Schedule, run: Run) -> Iterator[str]:
    """Mean and largest peak age, and losses, a line a cluster."""
    for index, cluster in enumerate(schedule.system.clusters):
        peaks = run.outcome.peaks[index]
        ages = "no peak"
        if peaks:
            mean = milliseconds(Fraction(sum(peaks), len(peaks)))
            ages = f"average peak age {mean}, largest {milliseconds(max(peaks))}"
        yield f"{cluster.name}: {ages}; {run.outcome.lost[index]} lost"


def _counterexample(found: Counterexample) -> dict[str, Any]:
    excess = found.violation.excess
    names = [cluster.name for cluster in found.schedule.system.clusters]
    return {
        "what": found.violation.what,
        "excess": None if excess is None else float(excess),
        "clusters": [names[index] for index in found.violation.clusters],
        **outcome_as_json(found.schedule, found.run),
    }


def _assumptions(system: System) -> Iterator[str]:
    total = sum(system.generations)
    yield (
        f"horizon: {system.updates} updates of a worker of the fastest cluster, {total} in all;"
        " an empty engine, a model generated and an ACK received at time 0;"
        " nothing is generated after the horizon"
    )
    for cluster in system.clusters:
        low, high = (milliseconds(time) for time in cluster.phase)
        workers = f"{cluster.workers} workers, each" if cluster.workers > 1 else "one worker,"
        late = f", each late by 0 … {milliseconds(cluster.jitter)}" if cluster.jitter else " exactly"
        yield (
            f"arrivals of {cluster.name}: {workers} every {milliseconds(cluster.period)}{late},"
            f" the first anywhere in {low} … {high}"
        )
    grain = f" on a grid of {milliseconds(system.tick)}" if system.tick > 1 else ""
    again = ", the same whenever the same two meet" if system.exact else ""
    yield f"free times are all tried{grain}; of updates that meet at one instant either may be first{again}"
    freed = "begins to depart" if system.slot_freed is SlotFreed.DEPARTURE else "is sent out"
    yield (
        f"engine: p/C = {milliseconds(system.service)}, Q_max = {system.slots}, a slot is free when its"
        f" update {freed}; one waiting update a cluster; the reward rule drops nothing"
    )
    yield from _control(system)
    yield "A(k) stands for generation, D(k) for delivery: constant delays are left out (OLAF §6)"


def _control(system: System) -> Iterator[str]:
    if not system.controlled:
        off = system.transmission is Transmission.ALWAYS
        yield "transmission: every update is sent" + ("" if off else ", as Q_max ≥ N (P_s = 1)")
        return
    slope = "1/Δ_T" if system.slope is Slope.URGENT else "Δ_T (in seconds)"
    yield (
        f"transmission control: N = {len(system.clusters)} active clusters,"
        f" Δ_T = {milliseconds(system.threshold)}, v = {slope}, ACKs after {milliseconds(system.ack_delay)};"
        f" P_s = 1 from Δ̂ = {milliseconds(system.certain_after)} on"
    )
    lowest = float(system.probability(0))
    if system.transmission is Transmission.ANY:
        yield "decisions: for all outcomes; a worker may withhold whenever P_s < 1, so an accept holds surely"
    elif system.transmission is Transmission.BOUNDED:
        risk = min(1.0, sum(system.generations) * (1 - lowest) ** (system.patience + 1))
        yield (
            f"decisions: any, but no cluster withholds more than {system.patience} in a row;"
            f" chance leaves this with a probability of at most {risk:.3g} within the horizon"
        )
    else:
        yield "decisions: the expected rate, sent whenever ΣP_s reaches 1: no guarantee for single outcomes"
