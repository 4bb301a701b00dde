"""Accept, reject with a schedule, or unknown: every answer is checked; and the values that are accepted."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise

from olafctl.membership.objective import Objective
from olafctl.membership.objective import time as read_time
from olafctl.verify.arrivals import Numbers, z3
from olafctl.verify.query import Query, Witness
from olafctl.verify.question import Violation, scope, violation
from olafctl.verify.schedules import enumerate_all, guesses
from olafctl.verify.simulation import Run, Schedule, continued, lawful, simulate
from olafctl.verify.system import System
from olafswitch.errors import BadInput, OlafError, Problem


class Answer(StrEnum):
    """The three verdicts."""

    ACCEPT = "accept"
    REJECT = "reject"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Counterexample:
    """A schedule, what the discrete-event model makes of it, and by how much it violates the objective."""

    schedule: Schedule
    run: Run
    violation: Violation


@dataclass(frozen=True)
class Verdict:
    """An answer, the seconds it took, and for a reject its counterexample."""

    answer: Answer
    system: System
    objective: Objective
    seconds: float
    counterexample: Counterexample | None = None


def verify(system: System, objective: Objective, timeout: float = 60.0, *, guessing: bool = True) -> Verdict:
    """Return whether every schedule of ``system`` satisfies ``objective``, within ``timeout`` seconds.

    Without ``guessing`` a violation is searched for at once, which takes longer.

    Raises BadInput when the objective names an unknown cluster, MissingTool without Z3.
    """
    scope(system, objective)
    begin = time.monotonic()
    query = Query(system, objective)
    if _check(query, begin + timeout) == z3.unsat:
        return Verdict(Answer.ACCEPT, system, objective, time.monotonic() - begin)
    found = _guess(system, objective, begin + timeout) if guessing else None
    if found is None:
        found = _try_short_horizons(system, objective, begin, timeout)
    answer = Answer.REJECT if found else Answer.UNKNOWN
    if found is None:
        answer, found = _ask(query, objective, begin + timeout)
    return Verdict(answer, system, objective, time.monotonic() - begin, found)


def verify_exhaustively(system: System, objective: Objective, timeout: float) -> Verdict:
    """Return the second opinion alone: every schedule on the tick simulated, without the solver.

    Unknown when ``timeout`` seconds do not suffice. Raises BadInput as :func:`verify`.
    """
    begin = time.monotonic()
    result = enumerate_all(system, objective, begin + timeout)
    found = None
    if result.worst:
        schedule, violated = result.worst
        found = Counterexample(schedule, simulate(schedule), violated)
    answer = Answer.REJECT if found else Answer.ACCEPT if result.complete else Answer.UNKNOWN
    return Verdict(answer, system, objective, time.monotonic() - begin, found)


def _guess(system: System, objective: Objective, deadline: float) -> Counterexample | None:
    """Return the first guessed schedule that violates the objective, None when none does."""
    for schedule in guesses(system):
        found = _examine(schedule, objective)
        if found or time.monotonic() >= deadline:
            return found
    return None


def _try_short_horizons(
    system: System, objective: Objective, begin: float, timeout: float
) -> Counterexample | None:
    """Look where a violation is cheap to find; what is found is carried on to the whole horizon.

    Finding nothing says nothing: updates beyond the short horizon could have come in between.
    """
    slowest = max(cluster.period for cluster in system.clusters)
    least = -(-2 * slowest // min(cluster.period for cluster in system.clusters))
    updates = max(least, 2)
    while updates * 2 <= system.updates and time.monotonic() < begin + timeout:
        short = replace(system, updates=updates)
        deadline = min(begin + timeout, time.monotonic() + timeout / 20)
        _, found = _ask(Query(short, objective), objective, deadline)
        if found:
            whole = _examine(continued(found.schedule, system), objective)
            if whole:
                return whole
        updates *= 2
    return None


def _ask(query: Query, objective: Objective, deadline: float) -> tuple[Answer, Counterexample | None]:
    if time.monotonic() >= deadline:
        return Answer.UNKNOWN, None
    query.complete()
    outcome = _check(query, deadline)
    if outcome == z3.unsat:
        return Answer.ACCEPT, None
    if outcome != z3.sat:
        return Answer.UNKNOWN, None
    witness = Witness(query, query.solver.model())
    if witness.schedule is None:
        return _ask_integers(query.system, objective, deadline, witness)
    return Answer.REJECT, _checked(witness, objective)


def _ask_integers(
    system: System, objective: Objective, deadline: float, dense: Witness
) -> tuple[Answer, Counterexample | None]:
    """Return a schedule between ticks was found: look for one on them, first with the same events."""
    query = Query(system, objective, Numbers.INTEGER)
    query.complete()
    query.solver.push()
    for name, value in dense.choices():
        query.solver.add(z3.Bool(name) == value)
    outcome = _check(query, deadline)
    if outcome != z3.sat:
        query.solver.pop()
        outcome = _check(query, deadline)
    if outcome == z3.sat:
        return Answer.REJECT, _checked(Witness(query, query.solver.model()), objective)
    return (Answer.ACCEPT if outcome == z3.unsat else Answer.UNKNOWN), None


def _check(query: Query, deadline: float) -> object:
    left = deadline - time.monotonic()
    if left <= 0:
        return z3.unknown
    query.solver.set("timeout", max(1, int(left * 1000)))
    return query.solver.check()


def _checked(witness: Witness, objective: Objective) -> Counterexample:
    """Return the counterexample, if the discrete-event model sees in it exactly what the solver did."""
    assert witness.schedule is not None
    found = _examine(witness.schedule, objective)
    seen = None if found is None else [list(peaks) for peaks in found.run.outcome.peaks]
    claimed = witness.outcome()
    if (
        found is None
        or seen != claimed.peaks
        or list(found.run.outcome.lost) != claimed.lost
        or list(found.run.outcome.final_age) != claimed.final_age
    ):
        raise OlafError(
            Problem(
                "the solver's schedule does not replay as claimed: a defect of the verifier",
                remedy="please report it with the command line",
            )
        )
    return found


def _examine(schedule: Schedule, objective: Objective) -> Counterexample | None:
    """Run a schedule through the discrete-event model; None unless it is lawful and violates."""
    run = simulate(schedule)
    if run.impossible or not lawful(schedule):
        return None
    found = violation(objective, run.outcome, scope(schedule.system, objective))
    return Counterexample(schedule, run, found) if found else None


_STEPS = 8
"""Equal steps of a threshold's range that are tried first."""
_DOUBLINGS = 4
"""Rates are tried from 2**-4 to 2**4 times the given ones first."""
_HALVINGS = 4
"""How often a gap between different answers is halved."""


@dataclass(frozen=True)
class Parameter:
    """A value that is varied: its name, the unit it is shown in and that unit's size, the first values tried,
    and how a value changes a system."""

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


def rate_parameter() -> Parameter:
    """Return all clusters' update rates, as a factor on the given ones."""
    doublings = range(-_DOUBLINGS, _DOUBLINGS + 1)
    return Parameter("rate", "×", 1, tuple(Fraction(2) ** step for step in doublings), at_rate)


def threshold_parameter(text: str) -> Parameter:
    """Δ_T within a range such as ``50ms..800ms``. Raises BadInput."""
    low, _, high = text.partition("..")
    first, last = (read_time(end, "--threshold-range") for end in (low, high))
    if not 0 < first < last:
        raise BadInput(Problem(f"{text!r} is not a range", "--threshold-range", "as in 50ms..800ms"))
    values = tuple(first + (last - first) * step / _STEPS for step in range(_STEPS + 1))
    return Parameter("Δ_T", "ms", 1_000_000, values, at_threshold)


def find_accepted(
    system: System,
    objective: Objective,
    parameter: Parameter,
    timeout: float,
    progress: Callable[[Tried], None],
) -> Search:
    """Return the values of ``parameter`` at which ``objective`` is accepted, each within ``timeout``
    seconds."""

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
