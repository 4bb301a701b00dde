"""A verdict and a replayed schedule as JSON values; times in ns."""

from typing import Any

from olafctl.membership.objective import Objective
from olafctl.verify.report.assumptions import assumptions
from olafctl.verify.report.cause import cause
from olafctl.verify.search.ranges import Parameter, Search
from olafctl.verify.search.verdict import Counterexample, Verdict
from olafctl.verify.simulation.engine import Run
from olafctl.verify.simulation.schedule import Schedule, row


def verdict_values(verdict: Verdict) -> dict[str, Any]:
    """The verdict as JSON values; times in ns."""
    found = verdict.counterexample
    return {
        "verdict": verdict.answer.value,
        "objective": str(verdict.objective),
        "seconds": round(verdict.seconds, 3),
        "assumptions": list(assumptions(verdict.system)),
        "counterexample": None if found is None else _counterexample(verdict.objective, found),
    }


def outcome_values(schedule: Schedule, run: Run) -> dict[str, Any]:
    """The outcome of a replayed schedule and of each of its updates as JSON values; times in ns."""
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
            {**row(update), "disposition": disposition.value}
            for update, disposition in zip(schedule.updates, run.dispositions, strict=True)
        ],
    }


def search_values(search: Search, parameter: Parameter) -> dict[str, Any]:
    """The accepted ranges of a parameter and every value tried, in the parameter's unit."""
    return {
        "parameter": parameter.name,
        "unit": parameter.unit,
        "accepted": [[parameter.shown(end) for end in pair] for pair in search.ranges],
        "tried": [
            {"value": parameter.shown(tried.value), "verdict": tried.answer.value} for tried in search.tried
        ],
    }


def _counterexample(objective: Objective, found: Counterexample) -> dict[str, Any]:
    excess, why = found.violation.excess, cause(objective, found)
    names = [cluster.name for cluster in found.schedule.system.clusters]
    return {
        "what": found.violation.what,
        "cause": why.what,
        "remedy": why.remedy,
        "excess": None if excess is None else float(excess),
        "clusters": [names[index] for index in found.violation.clusters],
        **outcome_values(found.schedule, found.run),
    }
