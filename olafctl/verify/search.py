"""How far a parameter can go: the ranges of it in which the objective is accepted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from olafctl.verify.system import System
from olafctl.verify.verdict import Answer


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
