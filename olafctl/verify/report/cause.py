"""Why a rejecting schedule violates the objective, and which question to ask next.

The answer is found by changing one thing at a time in that very schedule and simulating it again.
"""

from collections import Counter
from dataclasses import dataclass, replace

from olafctl.membership.objective import Kind, Objective, duration
from olafctl.verify.question.objective import scope, violation
from olafctl.verify.question.system import System, Transmission
from olafctl.verify.search.verdict import Counterexample
from olafctl.verify.simulation.engine import Disposition, simulate
from olafctl.verify.simulation.schedule import Schedule


@dataclass(frozen=True)
class Cause:
    """What violates the objective, and the options that ask the next useful question."""

    what: str
    remedy: str


def cause(objective: Objective, found: Counterexample) -> Cause:
    """The cause of the violation in ``found``, a counterexample to ``objective``."""
    schedule, system = found.schedule, found.schedule.system
    dispositions = Counter(
        disposition
        for update, disposition in zip(schedule.updates, found.run.dispositions, strict=True)
        if update.cluster in found.violation.clusters
    )
    names = " and ".join(system.clusters[index].name for index in found.violation.clusters)
    withheld, lost = dispositions[Disposition.WITHHELD], dispositions[Disposition.LOST]
    total = dispositions.total()
    if withheld == total or (withheld and not _violates(objective, _all_sent(schedule))):
        return _withheld(system, f"{withheld} of {total} updates of {names} are withheld")
    if lost:
        return _lost(objective, schedule, f"{lost} of {total} updates of {names} are lost", withheld)
    if withheld:
        return _withheld(system, f"{withheld} of {total} updates of {names} are withheld")
    return _waiting(objective, system, found.violation.clusters)


def _withheld(system: System, how_many: str) -> Cause:
    longest = f"P_s < 1 until {duration(system.certain_after)} after an ACK"
    if system.transmission is Transmission.ANY and system.certain_after >= system.horizon:
        longest += f", longer than the horizon of {duration(system.horizon)}, so every one may be"
    return Cause(
        f"transmission control, not the engine: {how_many}. {longest}",
        "--transmission always (the engine alone), bounded:N (at most N withheld in a row) or expected (the"
        f" mean rate); --threshold where the workers' Δ_T is not {duration(system.threshold)}",
    )


def _lost(objective: Objective, schedule: Schedule, how_many: str, withheld: int) -> Cause:
    system = schedule.system
    what = f"a full queue: {how_many}" + (f", and {withheld} withheld" if withheld else "")
    for slots in range(system.slots + 1, len(system.clusters) + 2):
        if not _violates(objective, replace(schedule, system=replace(system, slots=slots))):
            return Cause(what, f"--slots {slots}, with which this schedule meets the objective")
    if system.load > 1:
        return Cause(what, f"a lower rate: the output is offered {system.load:.0%} of what it can send")
    return Cause(
        what, "a looser bound, or narrower phases (--clusters …,phase=0ms..1ms) if the workers have them"
    )


def _waiting(objective: Objective, system: System, clusters: tuple[int, ...]) -> Cause:
    periods = {system.clusters[index].period for index in clusters}
    slowest = max(periods)
    if objective.kind is Kind.FAIRNESS and slowest - min(periods) > objective.bound:
        apart = duration(slowest - min(periods))
        return Cause(
            f"the update periods: they differ by {apart}, and so do the ages with an empty engine",
            "a looser bound, or fairness among clusters of one period: fairness<=T@a,b",
        )
    if objective.kind in (Kind.PEAK, Kind.AVERAGE) and slowest > objective.bound:
        return Cause(
            f"the update period: with an empty engine an age grows to {duration(slowest)}",
            "a looser bound, or more frequent updates",
        )
    return Cause(
        f"waiting behind other clusters' updates, {duration(system.service)} each;"
        f" the output is offered {system.load:.0%} of what it can send",
        "a looser bound, or a shorter --service (a faster output, smaller frames)",
    )


def _all_sent(schedule: Schedule) -> Schedule:
    system = replace(schedule.system, transmission=Transmission.ALWAYS)
    return Schedule(system, tuple(replace(update, sent=True) for update in schedule.updates))


def _violates(objective: Objective, schedule: Schedule) -> bool:
    outcome = simulate(schedule).outcome
    return violation(objective, outcome, scope(schedule.system, objective)) is not None
