"""A verdict and a replayed schedule as lines for people."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from olafctl.membership.objective import Kind, Objective, duration, milliseconds
from olafctl.verify.question.system import System
from olafctl.verify.report.assumptions import assumptions
from olafctl.verify.report.cause import cause
from olafctl.verify.search.ranges import Parameter, Search
from olafctl.verify.search.verdict import Answer, Counterexample, Verdict
from olafctl.verify.simulation.engine import Run
from olafctl.verify.simulation.schedule import Schedule

COLUMNS = ("A(k)", "cluster", "worker", "seq", "what", "D(k)", "Δ_p", "ACK_Q")


def summary(verdict: Verdict) -> Iterator[str]:
    """The answer and the assumptions; for a reject also the violation, its cause, and what to ask next."""
    objective, found = verdict.objective, verdict.counterexample
    yield f"{verdict.answer}: {objective} ({verdict.seconds:.2f} s)"
    if found:
        yield from _rejection(objective, found)
    elif verdict.answer is Answer.UNKNOWN:
        yield "  not decided in time: raise --timeout, or ask for fewer --updates"
    yield from assumed(verdict.system)


def assumed(system: System) -> Iterator[str]:
    """The assumptions as a list."""
    yield "assumed:"
    for line in assumptions(system):
        yield f"  - {line}"


def ranges(search: Search, parameter: Parameter, system: System) -> Iterator[str]:
    """The accepted values of ``parameter``, and the periods at the largest accepted rate."""
    for low, high in search.ranges:
        ends = f"{parameter.shown(low):.4g} … {parameter.shown(high):.4g} {parameter.unit}"
        yield f"accepted: {parameter.name} {ends} (each value tried; between them nothing is proved)"
    if not search.ranges:
        yield f"no {parameter.name} tried is accepted"
    elif parameter.name == "rate":
        fastest = parameter.change(system, search.ranges[-1][1])
        each = ", ".join(f"{one.name} every {duration(one.period)}" for one in fastest.clusters)
        yield f"largest accepted rate: {each}"
    yield from assumed(system)


def rows(schedule: Schedule, run: Run) -> list[tuple[str, ...]]:
    """The schedule as a table with the columns COLUMNS; D, Δ_p, ACK_Q stand with a slot's first update."""
    departures = {(departure.cluster, departure.opened): departure for departure in run.departures}
    table: list[tuple[str, ...]] = []
    for update, disposition in zip(schedule.updates, run.dispositions, strict=True):
        departure = departures.get((update.cluster, update.time)) if disposition == "waits" else None
        peak = departure.peak if departure else None
        table.append(
            (
                milliseconds(update.time),
                schedule.system.clusters[update.cluster].name,
                str(update.worker),
                str(update.seq),
                disposition.value,
                milliseconds(departure.time) if departure else "",
                "" if peak is None else milliseconds(peak),
                str(departure.ack_queue) if departure else "",
            )
        )
    return table


def outcome_lines(schedule: Schedule, run: Run) -> Iterator[str]:
    """Mean and largest peak age, and losses, a line a cluster."""
    for index, cluster in enumerate(schedule.system.clusters):
        peaks = run.outcome.peaks[index]
        ages = "no peak"
        if peaks:
            mean = duration(Fraction(sum(peaks), len(peaks)))
            ages = f"average peak age {mean}, largest {duration(max(peaks))}"
        yield f"{cluster.name}: {ages}; {run.outcome.lost[index]} lost"


def _rejection(objective: Objective, found: Counterexample) -> Iterator[str]:
    excess, why = found.violation.excess, cause(objective, found)
    by = "" if excess is None or objective.kind is Kind.LOSS_FREE else f", {duration(excess)} too much"
    counts = ", ".join(f"{count} {kind}" for kind, count in Counter(found.run.dispositions).most_common())
    yield f"  {found.violation.what}{by}"
    yield f"  cause: {why.what}"
    yield f"  try: {why.remedy}"
    yield f"  the schedule: {counts} (--details lists the updates, --plot draws them)"
