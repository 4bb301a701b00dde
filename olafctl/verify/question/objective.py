"""What is to hold of every schedule, and how far a simulated schedule is from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from olafctl.errors import BadInput, Problem
from olafctl.verify.question.system import System


class Kind(StrEnum):
    """The objectives."""

    FAIRNESS = "fairness"
    """|avg Δ_p^u - avg Δ_p^v| ≤ bound for any two clusters (OLAF §6)."""
    AVERAGE = "average"
    """avg Δ_p ≤ bound for each cluster."""
    PEAK = "peak"
    """Every Δ_p ≤ bound, and so the age each cluster has come to when it generates its last update."""
    LOSS_FREE = "loss-free"
    """No update is dropped at a full queue."""


@dataclass(frozen=True)
class Objective:
    """A kind, its bound in ns, and the clusters it speaks of (empty: all of them).

    A cluster without any peak within the horizon satisfies neither fairness nor an average: starved.
    """

    kind: Kind
    bound: Fraction = Fraction(0)
    clusters: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.bound < 0:
            raise BadInput(Problem(f"the bound is {self.bound} ns", f"objective {self.kind}", "not negative"))
        if self.kind is Kind.FAIRNESS and len(self.clusters) == 1:
            raise BadInput(
                Problem("fairness between one cluster and itself", "objective", "name two or none")
            )

    def __str__(self) -> str:
        of = f" of {', '.join(self.clusters)}" if self.clusters else ""
        if self.kind is Kind.LOSS_FREE:
            return f"loss-free{of}"
        return f"{self.kind} ≤ {duration(self.bound)}{of}"


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

    ``names`` maps the indices of the clusters the objective speaks of to their names.
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
    """The clusters an objective speaks of, by index. Raises BadInput when it names an unknown one."""
    if not objective.clusters:
        return {index: cluster.name for index, cluster in enumerate(system.clusters)}
    return {system.index(name): name for name in objective.clusters}


def duration(time: int | Fraction) -> str:
    """A time in ns as people read it: in ms from 0.1 ms on, in µs from 0.1 µs on, else in ns."""
    value = Fraction(time)
    for size, unit in ((10**6, "ms"), (10**3, "µs")):
        if abs(value) * 10 >= size:
            return f"{_decimal(value / size)} {unit}"
    return f"{_decimal(value)} ns" if value else "0 ms"


def milliseconds(time: int | Fraction) -> str:
    """A time in ns in milliseconds, for columns of one unit; rounded only past a tenth of a nanosecond."""
    return f"{_decimal(Fraction(time) / 10**6)} ms"


def _beyond(value: Fraction, bound: Fraction, clusters: tuple[int, ...], what: str) -> Violation | None:
    return Violation(value - bound, clusters, what) if value > bound else None


def _decimal(value: Fraction) -> str:
    return f"{float(value):.7f}".rstrip("0").rstrip(".")
