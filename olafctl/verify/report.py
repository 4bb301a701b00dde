"""A verdict for people and programs: its assumptions, its cause, its lines, its JSON values."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from olafctl.membership.objective import Objective, ObjectiveKind, format_duration, format_milliseconds
from olafctl.verify.question import find_scope, find_violation
from olafctl.verify.simulation import (
    Disposition,
    SimulationRun,
    UpdateSchedule,
    simulate_schedule,
    update_row,
)
from olafctl.verify.system import ClusterFlow, Slope, SlotFreed, System, Transmission
from olafctl.verify.verdict import Counterexample, Search, SearchParameter, Verdict, VerdictAnswer

_NAMED = 3
"""The number of similar clusters that are named one by one."""


def list_assumptions(system: System) -> Iterator[str]:
    """Yield the assumptions of a verdict on ``system``, a line each."""
    total = sum(system.generations)
    yield (
        f"horizon: {system.updates} updates of a worker of the fastest cluster, {total} in all;"
        " an empty engine, a model generated and an ACK received at time 0;"
        " nothing is generated after the horizon"
    )
    for cluster, names in _group_alike(system.clusters):
        low, high = (format_duration(time) for time in cluster.phase)
        workers = f"{cluster.workers} workers, each" if cluster.workers > 1 else "one worker,"
        late = f", each late by 0 … {format_duration(cluster.jitter)}" if cluster.jitter else " exactly"
        yield (
            f"arrivals of {names}: {workers} every {format_duration(cluster.period)}{late},"
            f" the first anywhere in {low} … {high}"
        )
    grain = f" on a grid of {format_duration(system.tick)}" if system.tick > 1 else ""
    again = ", the same whenever the same two meet" if system.exact else ""
    yield f"free times are all tried{grain}; of updates that meet at one instant either may be first{again}"
    freed = "begins to depart" if system.slot_freed is SlotFreed.DEPARTURE else "is sent out"
    yield (
        f"engine: p/C = {format_duration(system.service)}, Q_max = {system.slots}, a slot is free when its"
        f" update {freed}; one waiting update a cluster; the reward rule drops nothing"
    )
    yield from _describe_control(system)
    yield "A(k) stands for generation, D(k) for delivery: constant delays are left out (OLAF §6)"


def _group_alike(clusters: Sequence[ClusterFlow]) -> Iterator[tuple[ClusterFlow, str]]:
    """Yield one cluster of each kind, with the names of all that differ from it only in name."""
    kinds: dict[ClusterFlow, list[str]] = {}
    for cluster in clusters:
        kinds.setdefault(replace(cluster, name=""), []).append(cluster.name)
    for kind, names in kinds.items():
        if len(names) > _NAMED:
            yield kind, f"{names[0]} … {names[-1]} ({len(names)} clusters, each)"
        else:
            yield kind, ", ".join(names)


def _describe_control(system: System) -> Iterator[str]:
    if not system.controlled:
        off = system.transmission is Transmission.ALWAYS
        yield "transmission: every update is sent" + ("" if off else ", as Q_max ≥ N (P_s = 1)")
        return
    slope = "1/Δ_T" if system.slope is Slope.URGENT else "Δ_T (in seconds)"
    yield (
        f"transmission control: N = {len(system.clusters)} active clusters,"
        f" Δ_T = {format_duration(system.threshold)}, v = {slope},"
        f" ACKs after {format_duration(system.ack_delay)};"
        f" P_s = 1 from Δ̂ = {format_duration(system.certain_after)} on"
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


@dataclass(frozen=True)
class Cause:
    """The cause of a violation, and the options of the next useful question."""

    what: str
    remedy: str


def find_cause(objective: Objective, found: Counterexample) -> Cause:
    """Return the cause of the violation in ``found``, a counterexample to ``objective``."""
    schedule, system = found.schedule, found.schedule.system
    dispositions = Counter(
        disposition
        for update, disposition in zip(schedule.updates, found.run.dispositions, strict=True)
        if update.cluster in found.violation.clusters
    )
    names = " and ".join(system.clusters[index].name for index in found.violation.clusters)
    withheld, lost = dispositions[Disposition.WITHHELD], dispositions[Disposition.LOST]
    total = dispositions.total()
    if withheld == total or (withheld and not _violates_objective(objective, _all_sent(schedule))):
        return _cause_withheld(system, f"{withheld} of {total} updates of {names} are withheld")
    if lost:
        return _cause_lost(objective, schedule, f"{lost} of {total} updates of {names} are lost", withheld)
    if withheld:
        return _cause_withheld(system, f"{withheld} of {total} updates of {names} are withheld")
    return _cause_waiting(objective, system, found.violation.clusters)


def _cause_withheld(system: System, how_many: str) -> Cause:
    longest = f"P_s < 1 until {format_duration(system.certain_after)} after an ACK"
    if system.transmission is Transmission.ANY and system.certain_after >= system.horizon:
        longest += f", longer than the horizon of {format_duration(system.horizon)}, so every one may be"
    return Cause(
        f"transmission control, not the engine: {how_many}. {longest}",
        "--transmission always (the engine alone), bounded:N (at most N withheld in a row) or expected (the"
        f" mean rate); --threshold where the workers' Δ_T is not {format_duration(system.threshold)}",
    )


def _cause_lost(objective: Objective, schedule: UpdateSchedule, how_many: str, withheld: int) -> Cause:
    system = schedule.system
    what = f"a full queue: {how_many}" + (f", and {withheld} withheld" if withheld else "")
    for slots in range(system.slots + 1, len(system.clusters) + 2):
        if not _violates_objective(objective, replace(schedule, system=replace(system, slots=slots))):
            return Cause(what, f"--slots {slots}, with which this schedule meets the objective")
    if system.load > 1:
        return Cause(what, f"a lower rate: the output is offered {system.load:.0%} of what it can send")
    return Cause(
        what, "a looser bound, or narrower phases (--clusters …,phase=0ms..1ms) if the workers have them"
    )


def _cause_waiting(objective: Objective, system: System, clusters: tuple[int, ...]) -> Cause:
    periods = {system.clusters[index].period for index in clusters}
    slowest = max(periods)
    if objective.kind is ObjectiveKind.FAIRNESS and slowest - min(periods) > objective.bound:
        apart = format_duration(slowest - min(periods))
        return Cause(
            f"the update periods: they differ by {apart}, and so do the ages with an empty engine",
            "a looser bound, or fairness among clusters of one period: fairness<=T@a,b",
        )
    if objective.kind in (ObjectiveKind.PEAK, ObjectiveKind.AVERAGE) and slowest > objective.bound:
        return Cause(
            f"the update period: with an empty engine an age grows to {format_duration(slowest)}",
            "a looser bound, or more frequent updates",
        )
    return Cause(
        f"waiting behind other clusters' updates, {format_duration(system.service)} each;"
        f" the output is offered {system.load:.0%} of what it can send",
        "a looser bound, or a shorter --service (a faster output, smaller frames)",
    )


def _all_sent(schedule: UpdateSchedule) -> UpdateSchedule:
    system = replace(schedule.system, transmission=Transmission.ALWAYS)
    return UpdateSchedule(system, tuple(replace(update, sent=True) for update in schedule.updates))


def _violates_objective(objective: Objective, schedule: UpdateSchedule) -> bool:
    outcome = simulate_schedule(schedule).outcome
    return find_violation(objective, outcome, find_scope(schedule.system, objective)) is not None


COLUMNS = ("A(k)", "cluster", "worker", "seq", "what", "D(k)", "Δ_p", "ACK_Q")


def summarize_verdict(verdict: Verdict) -> Iterator[str]:
    """Yield the answer and the assumptions; for a reject also the violation, its cause, and the next
    question."""
    objective, found = verdict.objective, verdict.counterexample
    yield f"{verdict.answer}: {objective} ({verdict.seconds:.2f} s)"
    if found:
        yield from _describe_rejection(objective, found)
    elif verdict.answer is VerdictAnswer.UNKNOWN:
        yield "  not decided in time: raise --timeout, or ask for fewer --updates"
    yield from describe_assumed(verdict.system)


def describe_assumed(system: System) -> Iterator[str]:
    """Yield the assumptions as a list."""
    yield "assumed:"
    for line in list_assumptions(system):
        yield f"  - {line}"


def describe_ranges(search: Search, parameter: SearchParameter, system: System) -> Iterator[str]:
    """Yield the accepted values of ``parameter``, and the periods at the largest accepted rate."""
    for low, high in search.ranges:
        ends = f"{parameter.shown(low):.4g} … {parameter.shown(high):.4g} {parameter.unit}"
        yield f"accepted: {parameter.name} {ends} (each value tried; between them nothing is proved)"
    if not search.ranges:
        yield f"no {parameter.name} tried is accepted"
    elif parameter.name == "rate":
        fastest = parameter.change(system, search.ranges[-1][1])
        each = ", ".join(f"{one.name} every {format_duration(one.period)}" for one in fastest.clusters)
        yield f"largest accepted rate: {each}"
    yield from describe_assumed(system)


def make_rows(schedule: UpdateSchedule, run: SimulationRun) -> list[tuple[str, ...]]:
    """Return the schedule as a table with the columns COLUMNS; a slot's first update has D, Δ_p and ACK_Q."""
    departures = {(departure.cluster, departure.opened): departure for departure in run.departures}
    table: list[tuple[str, ...]] = []
    for update, disposition in zip(schedule.updates, run.dispositions, strict=True):
        departure = departures.get((update.cluster, update.time)) if disposition == "waits" else None
        peak = departure.peak if departure else None
        table.append(
            (
                format_milliseconds(update.time),
                schedule.system.clusters[update.cluster].name,
                str(update.worker),
                str(update.seq),
                disposition.value,
                format_milliseconds(departure.time) if departure else "",
                "" if peak is None else format_milliseconds(peak),
                str(departure.ack_queue) if departure else "",
            )
        )
    return table


def outcome_lines(schedule: UpdateSchedule, run: SimulationRun) -> Iterator[str]:
    """Yield mean and largest peak age, and losses, a line a cluster."""
    for index, cluster in enumerate(schedule.system.clusters):
        peaks = run.outcome.peaks[index]
        ages = "no peak"
        if peaks:
            mean = format_duration(Fraction(sum(peaks), len(peaks)))
            ages = f"average peak age {mean}, largest {format_duration(max(peaks))}"
        yield f"{cluster.name}: {ages}; {run.outcome.lost[index]} lost"


def _describe_rejection(objective: Objective, found: Counterexample) -> Iterator[str]:
    excess, why = found.violation.excess, find_cause(objective, found)
    by = (
        ""
        if excess is None or objective.kind is ObjectiveKind.LOSS_FREE
        else f", {format_duration(excess)} too much"
    )
    counts = ", ".join(f"{count} {kind}" for kind, count in Counter(found.run.dispositions).most_common())
    yield f"  {found.violation.what}{by}"
    yield f"  cause: {why.what}"
    yield f"  try: {why.remedy}"
    yield f"  the schedule: {counts} (--details lists the updates, --plot draws them)"


def verdict_values(verdict: Verdict) -> dict[str, Any]:
    """Return the verdict as JSON values; times in ns."""
    found = verdict.counterexample
    return {
        "verdict": verdict.answer.value,
        "objective": str(verdict.objective),
        "seconds": round(verdict.seconds, 3),
        "assumptions": list(list_assumptions(verdict.system)),
        "counterexample": None if found is None else _counterexample_values(verdict.objective, found),
    }


def outcome_values(schedule: UpdateSchedule, run: SimulationRun) -> dict[str, Any]:
    """Return the outcome of a replayed schedule and of each of its updates as JSON values; times in ns."""
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
            {**update_row(update), "disposition": disposition.value}
            for update, disposition in zip(schedule.updates, run.dispositions, strict=True)
        ],
    }


def search_values(search: Search, parameter: SearchParameter) -> dict[str, Any]:
    """Return the accepted ranges of a parameter and every value tried, in the parameter's unit."""
    return {
        "parameter": parameter.name,
        "unit": parameter.unit,
        "accepted": [[parameter.shown(end) for end in pair] for pair in search.ranges],
        "tried": [
            {"value": parameter.shown(tried.value), "verdict": tried.answer.value} for tried in search.tried
        ],
    }


def _counterexample_values(objective: Objective, found: Counterexample) -> dict[str, Any]:
    excess, why = found.violation.excess, find_cause(objective, found)
    names = [cluster.name for cluster in found.schedule.system.clusters]
    return {
        "what": found.violation.what,
        "cause": why.what,
        "remedy": why.remedy,
        "excess": None if excess is None else float(excess),
        "clusters": [names[index] for index in found.violation.clusters],
        **outcome_values(found.schedule, found.run),
    }
