"""Accept, reject with a schedule, or unknown: the query made, and every answer checked."""

import time
from dataclasses import dataclass, replace
from enum import StrEnum

from olafctl.membership.objective import Objective
from olafctl.verify.encoding.numbers import Numbers, z3
from olafctl.verify.encoding.query import Query
from olafctl.verify.encoding.witness import Witness
from olafctl.verify.question.objective import Violation, scope, violation
from olafctl.verify.question.system import System
from olafctl.verify.simulation.arrival_model import continued, lawful
from olafctl.verify.simulation.engine import Run, simulate
from olafctl.verify.simulation.exhaustive import enumerate_all
from olafctl.verify.simulation.guesses import guesses
from olafctl.verify.simulation.schedule import Schedule
from olafswitch.errors import OlafError, Problem


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
    """Whether every schedule of ``system`` satisfies ``objective``, within ``timeout`` seconds.

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
    """The second opinion alone: every schedule on the tick simulated, without the solver.

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
    """The first guessed schedule that violates the objective, None when none does."""
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
    """A schedule between ticks was found: look for one on them, first with the same events."""
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
    """The counterexample, if the discrete-event model sees in it exactly what the solver did."""
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
