"""What is to hold of every schedule, and how far a simulated schedule is from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from olafctl.membership.objective import Kind, Objective, duration
from olafctl.verify.question.system import System
from olafswitch.errors import BadInput, Problem


@dataclass(frozen=True)
class Outcome:
    """What one schedule came to, per cluster index: peaks and final age in ns, and updates lost."""

    peaks: Sequence[Sequence[int]]
    final_age: Sequence[int]
    lost: Sequence[int]


@dataclass(frozen=True)
class Violation:
    """By how much an outcome misses an objective, and where; ``excess`` None: starved."""

    excess: Fraction | None
    clusters: tuple[int, ...]
    what: str


def violation(objective: Objective, outcome: Outcome, names: Mapping[int, str]) -> Violation | None:
    """The worst violation of ``objective`` by ``outcome``, or None when it holds.

    ``names`` maps the indices of the clusters the objective covers to their names.
    """
    if objective.kind is Kind.LOSS_FREE:
        worst = max(names, key=lambda index: outcome.lost[index])
        lost = outcome.lost[worst]
        return Violation(Fraction(lost), (worst,), f"{names[worst]} loses {lost}") if lost else None
    if objective.kind is Kind.PEAK:
        ages = {index: max([*outcome.peaks[index], outcome.final_age[index]]) for index in names}
        worst = max(ages, key=lambda index: ages[index])
        what = f"the age of {names[worst]} reaches {duration(ages[worst])}"
        return _beyond(Fraction(ages[worst]), objective.bound, (worst,), what)
    starved = [index for index in names if not outcome.peaks[index]]
    if starved:
        return Violation(None, (starved[0],), f"{names[starved[0]]} is starved: no peak within the horizon")
    means = {index: Fraction(sum(outcome.peaks[index]), len(outcome.peaks[index])) for index in names}
    high, low = max(means, key=lambda index: means[index]), min(means, key=lambda index: means[index])
    if objective.kind is Kind.AVERAGE:
        what = f"the average peak age of {names[high]} is {duration(means[high])}"
        return _beyond(means[high], objective.bound, (high,), what)
    what = (
        f"average peak ages are {duration(means[high])} for {names[high]}"
        f" and {duration(means[low])} for {names[low]}"
    )
    return _beyond(means[high] - means[low], objective.bound, (high, low), what)


def scope(system: System, objective: Objective) -> dict[int, str]:
    """The clusters an objective covers, by index. Raises BadInput when it names an unknown one, or one
    whose age has no peak within the horizon."""
    if not objective.clusters:
        chosen = {index: cluster.name for index, cluster in enumerate(system.clusters)}
    else:
        chosen = {system.index(name): name for name in objective.clusters}
    slow = next((index for index in chosen if system.generations[index] < 2), None)
    if slow is not None and objective.kind is not Kind.LOSS_FREE:
        what = "generates fewer than two updates within the horizon, so it has no peak"
        least = system.clusters[slow].period // min(each.period for each in system.clusters) + 1
        remedy = f"--updates {least}, or an objective of other clusters: {objective.kind}<=…@NAME"
        raise BadInput(Problem(what, f"cluster {chosen[slow]}", remedy))
    return chosen


def _beyond(value: Fraction, bound: Fraction, clusters: tuple[int, ...], what: str) -> Violation | None:
    return Violation(value - bound, clusters, what) if value > bound else None
