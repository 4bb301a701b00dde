"""Accept, reject with a schedule, or answer unknown: every answer is checked. Search the accepted values."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise

from olafctl.membership.objective import Objective
from olafctl.membership.objective import parse_time as read_time
from olafctl.verify.arrivals import Numbers, z3
from olafctl.verify.query import Query, Witness
from olafctl.verify.question import Violation, find_scope, find_violation
from olafctl.verify.schedules import enumerate_all, guess_schedules
from olafctl.verify.simulation import (
    SimulationRun,
    UpdateSchedule,
    continue_schedule,
    is_lawful,
    simulate_schedule,
)
from olafctl.verify.system import System
from olafswitch.errors import BadInput, OlafError, Problem


class VerdictAnswer(StrEnum):
    """The three verdicts."""

    ACCEPT = "accept"
    REJECT = "reject"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Counterexample:
    """A schedule, its outcome in the discrete-event model, and the excess of its violation."""

    schedule: UpdateSchedule
    run: SimulationRun
    violation: Violation


@dataclass(frozen=True)
class Verdict:
    """An answer, the seconds it took, and for a reject its counterexample."""

    answer: VerdictAnswer
    system: System
    objective: Objective
    seconds: float
    counterexample: Counterexample | None = None


def verify_objective(
    system: System, objective: Objective, timeout: float = 60.0, *, guessing: bool = True
) -> Verdict:
    """Return whether every schedule of ``system`` satisfies ``objective``, within ``timeout`` seconds.

    Without ``guessing`` a violation is searched for at once, which takes longer. Raises BadInput when the
    objective names an unknown cluster, MissingTool without Z3.
    """
    find_scope(system, objective)
    begin = time.monotonic()
    query = Query(system, objective)
    if _run_solver(query, begin + timeout) == z3.unsat:
        return Verdict(VerdictAnswer.ACCEPT, system, objective, time.monotonic() - begin)
    found = _try_guesses(system, objective, begin + timeout) if guessing else None
    if found is None:
        found = _try_short_horizons(system, objective, begin, timeout)
    answer = VerdictAnswer.REJECT if found else VerdictAnswer.UNKNOWN
    if found is None:
        answer, found = _ask_solver(query, objective, begin + timeout)
    return Verdict(answer, system, objective, time.monotonic() - begin, found)


def verify_exhaustively(system: System, objective: Objective, timeout: float) -> Verdict:
    """Return the second opinion alone: every schedule on the tick simulated, without the solver.

    The answer is unknown when ``timeout`` s do not suffice. Raises BadInput as :func:`verify_objective`.
    """
    begin = time.monotonic()
    result = enumerate_all(system, objective, begin + timeout)
    found = None
    if result.worst:
        schedule, violated = result.worst
        found = Counterexample(schedule, simulate_schedule(schedule), violated)
    answer = (
        VerdictAnswer.REJECT if found else VerdictAnswer.ACCEPT if result.complete else VerdictAnswer.UNKNOWN
    )
    return Verdict(answer, system, objective, time.monotonic() - begin, found)


def _try_guesses(system: System, objective: Objective, deadline: float) -> Counterexample | None:
    """Return the first guessed schedule that violates the objective, None when none does."""
    for schedule in guess_schedules(system):
        found = _examine_schedule(schedule, objective)
        if found or time.monotonic() >= deadline:
            return found
    return None


def _try_short_horizons(
    system: System, objective: Objective, begin: float, timeout: float
) -> Counterexample | None:
    """Search short horizons, where a violation is cheap to find, and continue it to the whole horizon.

    Finding nothing proves nothing: updates beyond the short horizon could have come in between.
    """
    slowest = max(cluster.period for cluster in system.clusters)
    least = -(-2 * slowest // min(cluster.period for cluster in system.clusters))
    updates = max(least, 2)
    while updates * 2 <= system.updates and time.monotonic() < begin + timeout:
        short = replace(system, updates=updates)
        deadline = min(begin + timeout, time.monotonic() + timeout / 20)
        _, found = _ask_solver(Query(short, objective), objective, deadline)
        if found:
            whole = _examine_schedule(continue_schedule(found.schedule, system), objective)
            if whole:
                return whole
        updates *= 2
    return None


def _ask_solver(
    query: Query, objective: Objective, deadline: float
) -> tuple[VerdictAnswer, Counterexample | None]:
    if time.monotonic() >= deadline:
        return VerdictAnswer.UNKNOWN, None
    query.complete()
    outcome = _run_solver(query, deadline)
    if outcome == z3.unsat:
        return VerdictAnswer.ACCEPT, None
    if outcome != z3.sat:
        return VerdictAnswer.UNKNOWN, None
    witness = Witness(query, query.solver.model())
    if witness.schedule is None:
        return _ask_integers(query.system, objective, deadline, witness)
    return VerdictAnswer.REJECT, _check_witness(witness, objective)


def _ask_integers(
    system: System, objective: Objective, deadline: float, dense: Witness
) -> tuple[VerdictAnswer, Counterexample | None]:
    """Search on the ticks for a schedule like ``dense``, found between them; first with the same events."""
    query = Query(system, objective, Numbers.INTEGER)
    query.complete()
    query.solver.push()
    for name, value in dense.choices():
        query.solver.add(z3.Bool(name) == value)
    outcome = _run_solver(query, deadline)
    if outcome != z3.sat:
        query.solver.pop()
        outcome = _run_solver(query, deadline)
    if outcome == z3.sat:
        return VerdictAnswer.REJECT, _check_witness(Witness(query, query.solver.model()), objective)
    return (VerdictAnswer.ACCEPT if outcome == z3.unsat else VerdictAnswer.UNKNOWN), None


def _run_solver(query: Query, deadline: float) -> object:
    left = deadline - time.monotonic()
    if left <= 0:
        return z3.unknown
    query.solver.set("timeout", max(1, int(left * 1000)))
    return query.solver.check()


def _check_witness(witness: Witness, objective: Objective) -> Counterexample:
    """Return the counterexample, if the discrete-event model finds in it exactly what the solver found."""
    assert witness.schedule is not None
    found = _examine_schedule(witness.schedule, objective)
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


def _examine_schedule(schedule: UpdateSchedule, objective: Objective) -> Counterexample | None:
    """Run a schedule through the discrete-event model; return None unless it is lawful and violates."""
    run = simulate_schedule(schedule)
    if run.impossible or not is_lawful(schedule):
        return None
    found = find_violation(objective, run.outcome, find_scope(schedule.system, objective))
    return Counterexample(schedule, run, found) if found else None


_STEPS = 8
"""The equal steps of a threshold's range that are tried first."""
_DOUBLINGS = 4
"""The doublings of the rates that are tried first: 2**-4 to 2**4 times the given ones."""
_HALVINGS = 4
"""The number of times that a gap between different answers is halved."""


@dataclass(frozen=True)
class SearchParameter:
    """A value that is varied: its name, the unit in which it is shown and that unit's size, the first values
    tried, and how a value changes a system."""

    name: str
    unit: str
    size: int
    values: tuple[Fraction, ...]
    change: Callable[[System, Fraction], System]

    def shown(self, value: Fraction) -> float:
        """Return ``value`` in ``unit``."""
        return float(value / self.size)


@dataclass(frozen=True)
class Tried:
    """A value of the parameter, the system with it, and the answer."""

    value: Fraction
    answer: VerdictAnswer


@dataclass(frozen=True)
class Search:
    """All values tried, ascending, and the accepted ranges of them (both ends accepted themselves).

    Between two neighbouring values of a range nothing was proved.
    """

    tried: tuple[Tried, ...]

    @property
    def ranges(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The (lowest, highest) of each run of accepted neighbours."""
        found: list[tuple[Fraction, Fraction]] = []
        joined = False
        for tried in self.tried:
            if tried.answer is VerdictAnswer.ACCEPT:
                found = [*found[:-1], (found[-1][0], tried.value)] if joined else [*found, (tried.value,) * 2]
            joined = tried.answer is VerdictAnswer.ACCEPT
        return tuple(found)


def rate_parameter() -> SearchParameter:
    """Return the parameter of all clusters' update rates, as a factor on the given ones."""
    doublings = range(-_DOUBLINGS, _DOUBLINGS + 1)
    return SearchParameter("rate", "×", 1, tuple(Fraction(2) ** step for step in doublings), at_rate)


def threshold_parameter(text: str) -> SearchParameter:
    """Return the parameter Δ_T within a range such as ``50ms..800ms``. Raises BadInput."""
    low, _, high = text.partition("..")
    first, last = (read_time(end, "--threshold-range") for end in (low, high))
    if not 0 < first < last:
        raise BadInput(Problem(f"{text!r} is not a range", "--threshold-range", "as in 50ms..800ms"))
    values = tuple(first + (last - first) * step / _STEPS for step in range(_STEPS + 1))
    return SearchParameter("Δ_T", "ms", 1_000_000, values, at_threshold)


def find_accepted(
    system: System,
    objective: Objective,
    parameter: SearchParameter,
    timeout: float,
    progress: Callable[[Tried], None],
) -> Search:
    """Return the values of ``parameter`` at which ``objective`` is accepted, each within ``timeout`` s."""

    def ask(value: Fraction) -> VerdictAnswer:
        return verify_objective(parameter.change(system, value), objective, timeout).answer

    return scan_values(parameter.values, ask, _HALVINGS, progress)


def scan_values(
    values: Sequence[Fraction],
    ask: Callable[[Fraction], VerdictAnswer],
    halvings: int,
    progress: Callable[[Tried], None],
) -> Search:
    """Ask at each of the ascending ``values``, then halve each gap in which the answer changes."""
    answers: dict[Fraction, VerdictAnswer] = {}

    def look(value: Fraction) -> None:
        if value not in answers:
            answers[value] = ask(value)
            progress(Tried(value, answers[value]))

    for value in values:
        look(value)
    for _ in range(halvings):
        known = sorted(answers)
        for low, high in pairwise(known):
            if (answers[low] is VerdictAnswer.ACCEPT) != (answers[high] is VerdictAnswer.ACCEPT):
                look((low + high) / 2)
    return Search(tuple(Tried(value, answers[value]) for value in sorted(answers)))


def at_rate(system: System, factor: Fraction) -> System:
    """Return ``system`` with every update rate times ``factor``; periods stay on the tick, at least one."""
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
    """Return ``system`` with Δ_T = ``threshold`` ns, rounded."""
    return replace(system, threshold=max(1, round(threshold)))
