"""Age-of-Model objectives (OLAF §6) as people write them."""

import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from olafswitch.errors import BadInput, Problem

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}
_TIME = re.compile(r"(-?\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s)")
_OBJECTIVE = re.compile(r"([a-z-]+)\s*(?:(?:<=|≤)\s*([^@]+?))?\s*(?:@\s*(.+))?")


class ObjectiveKind(StrEnum):
    """The kinds of objectives."""

    FAIRNESS = "fairness"
    """|avg Δ_p^u - avg Δ_p^v| ≤ bound for any two clusters (OLAF §6)."""
    AVERAGE = "average"
    """avg Δ_p ≤ bound for each cluster."""
    PEAK = "peak"
    """Every Δ_p ≤ bound, and the age of each cluster when it generates its last update, too."""
    LOSS_FREE = "loss-free"
    """No update is dropped at a full queue."""


@dataclass(frozen=True)
class Objective:
    """A kind, its bound in ns, and the clusters it covers (empty: all of them).

    A cluster without any peak within the horizon satisfies neither fairness nor an average: starved.
    """

    kind: ObjectiveKind
    bound: Fraction = Fraction(0)
    clusters: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.bound < 0:
            raise BadInput(Problem(f"the bound is {self.bound} ns", f"objective {self.kind}", "not negative"))
        if self.kind is ObjectiveKind.FAIRNESS and len(self.clusters) == 1:
            raise BadInput(
                Problem("fairness between one cluster and itself", "objective", "name two or none")
            )

    def __str__(self) -> str:
        of = f" of {', '.join(self.clusters)}" if self.clusters else ""
        if self.kind is ObjectiveKind.LOSS_FREE:
            return f"loss-free{of}"
        return f"{self.kind} ≤ {format_duration(self.bound)}{of}"


def parse_objective(text: str) -> Objective:
    """Parse ``fairness<=0.1ms``, ``peak<=200ms@a,b``, ``average<=…`` or ``loss-free``. Raises BadInput."""
    match = _OBJECTIVE.fullmatch(text.strip())
    kinds = ", ".join(kind.value for kind in ObjectiveKind)
    if re.match(r"[a-z-]+\s*@.*(<=|≤)", text.strip()):
        remedy = "as in peak<=10ms@a,b"
        raise BadInput(Problem(f"{text!r} names the clusters before the bound", "objective", remedy))
    if match is None or match[1] not in set(ObjectiveKind):
        raise BadInput(
            Problem(
                f"{text!r} is not an objective",
                "objective",
                f"known: {kinds}; as in fairness<=0.1ms, or peak<=10ms@a,b",
            )
        )
    kind, bound = ObjectiveKind(match[1]), match[2]
    if (bound is None) != (kind is ObjectiveKind.LOSS_FREE):
        wrong = "takes no bound" if bound else "needs a bound"
        raise BadInput(Problem(f"{kind} {wrong}", "objective", "as in peak<=200ms, or loss-free"))
    names = tuple(name.strip() for name in match[3].split(",")) if match[3] else ()
    return Objective(kind, parse_time(bound, "objective") if bound else Fraction(0), names)


def parse_time(text: str, where: str) -> Fraction:
    """Return a time with its unit, such as ``0.1ms``, in ns. Raises BadInput."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise BadInput(Problem(f"{text!r} is not a time", where, "a number and ns, us, ms or s: 100ms"))
    return Fraction(match[1]) * _UNITS[match[2]]


def whole_time(text: str, where: str) -> int:
    """Return a time of whole nanoseconds. Raises BadInput."""
    value = parse_time(text, where)
    if value.denominator != 1:
        raise BadInput(Problem(f"{text} is not a whole number of nanoseconds", where))
    return int(value)


def format_duration(time: int | Fraction) -> str:
    """Return a time in ns as people read it: in ms from 0.1 ms on, in µs from 0.1 µs on, else in ns."""
    value = Fraction(time)
    for size, unit in ((10**6, "ms"), (10**3, "µs")):
        if abs(value) * 10 >= size:
            return f"{_format_decimal(value / size)} {unit}"
    return f"{_format_decimal(value)} ns" if value else "0 ms"


def format_milliseconds(time: int | Fraction) -> str:
    """Return a time in ns in ms, for columns of one unit; rounded only past a tenth of a nanosecond."""
    return f"{_format_decimal(Fraction(time) / 10**6)} ms"


def _format_decimal(value: Fraction) -> str:
    return f"{float(value):.7f}".rstrip("0").rstrip(".")
