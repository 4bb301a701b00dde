"""How far a parameter can go: the ranges of it in which the objective is accepted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from olafctl.membership.objective import Objective, time
from olafctl.verify.question.system import System
from olafctl.verify.search.verdict import Answer, verify
from olafswitch.errors import BadInput, Problem

_STEPS = 8
"""Equal steps of a threshold's range that are tried first."""
_DOUBLINGS = 4
"""Rates are tried from 2**-4 to 2**4 times the given ones first."""
_HALVINGS = 4
"""How often a gap between different answers is halved."""


@dataclass(frozen=True)
class Parameter:
    """What is varied: its name, the unit it is shown in and that unit's size, the first values tried, and how
    a value changes a system."""

    name: str
    unit: str
    size: int
    values: tuple[Fraction, ...]
    change: Callable[[System, Fraction], System]

    def shown(self, value: Fraction) -> float:
        """``value`` in ``unit``."""
        return float(value / self.size)


@dataclass(frozen=True)
class Tried:
    """A value of the parameter, the system's, and the answer."""

    value: Fraction
    answer: Answer


@dataclass(frozen=True)
class Search:
    """All values tried, ascending, and the accepted stretches of them (both ends accepted themselves).

    Between two neighbouring values of a stretch nothing was proved.
    """

    tried: tuple[Tried, ...]

    @property
    def ranges(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """(lowest, highest) of each run of accepted neighbours."""
        found: list[tuple[Fraction, Fraction]] = []
        joined = False
        for tried in self.tried:
            if tried.answer is Answer.ACCEPT:
                found = [*found[:-1], (found[-1][0], tried.value)] if joined else [*found, (tried.value,) * 2]
            joined = tried.answer is Answer.ACCEPT
        return tuple(found)


def rate() -> Parameter:
    """All clusters' update rates, as a factor on the given ones."""
    doublings = range(-_DOUBLINGS, _DOUBLINGS + 1)
    return Parameter("rate", "×", 1, tuple(Fraction(2) ** step for step in doublings), at_rate)


def threshold(text: str) -> Parameter:
    """Δ_T within a range such as ``50ms..800ms``. Raises BadInput."""
    low, _, high = text.partition("..")
    first, last = (time(end, "--threshold-range") for end in (low, high))
    if not 0 < first < last:
        raise BadInput(Problem(f"{text!r} is not a range", "--threshold-range", "as in 50ms..800ms"))
    values = tuple(first + (last - first) * step / _STEPS for step in range(_STEPS + 1))
    return Parameter("Δ_T", "ms", 1_000_000, values, at_threshold)


def accepted(
    system: System,
    objective: Objective,
    parameter: Parameter,
    timeout: float,
    progress: Callable[[Tried], None],
) -> Search:
    """The values of ``parameter`` at which ``objective`` is accepted, each within ``timeout`` seconds."""

    def ask(value: Fraction) -> Answer:
        return verify(parameter.change(system, value), objective, timeout).answer

    return scan(parameter.values, ask, _HALVINGS, progress)


def scan(
    values: Sequence[Fraction],
    ask: Callable[[Fraction], Answer],
    halvings: int,
    progress: Callable[[Tried], None],
) -> Search:
    """Ask at each of the ascending ``values``, then halve each gap in which the answer changes."""
    answers: dict[Fraction, Answer] = {}

    def look(value: Fraction) -> None:
        if value not in answers:
            answers[value] = ask(value)
            progress(Tried(value, answers[value]))

    for value in values:
        look(value)
    for _ in range(halvings):
        known = sorted(answers)
        for low, high in pairwise(known):
            if (answers[low] is Answer.ACCEPT) != (answers[high] is Answer.ACCEPT):
                look((low + high) / 2)
    return Search(tuple(Tried(value, answers[value]) for value in sorted(answers)))


def at_rate(system: System, factor: Fraction) -> System:
    """``system`` with every update rate ``factor`` times as high; periods on the tick, never below one."""
    tick = system.tick
    clusters = []
    for cluster in system.clusters:
        period = max(tick, round(cluster.period / factor / tick) * tick)
        low, high = (min(round(time / factor / tick) * tick, period - tick) for time in cluster.phase)
        if cluster.phase == (0, cluster.period - tick):
            low, high = 0, period - tick
        clusters.append(replace(cluster, period=period, phase=(low, high)))
    return replace(system, clusters=tuple(clusters))


def at_threshold(system: System, threshold: Fraction) -> System:
    """``system`` with Δ_T = ``threshold`` ns, rounded."""
    return replace(system, threshold=max(1, round(threshold)))
