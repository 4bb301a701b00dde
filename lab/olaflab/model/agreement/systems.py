"""The verifier against exhaustive simulation, on random systems small enough for both."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from olafctl.membership.objective import Kind, Objective
from olafctl.verify.question import Violation, scope, violation
from olafctl.verify.schedules import every_schedule
from olafctl.verify.simulation import simulate
from olafctl.verify.system import Cluster, Slope, SlotFreed, System, Transmission
from olafctl.verify.verdict import Answer, Verdict, verify
from olafswitch.errors import BadInput

_MOST_UPDATES = 14
_MOST_SCHEDULES = 20_000


@dataclass(frozen=True)
class Comparison:
    """One random question: the solver's verdict and that of simulating every schedule."""

    system: System
    objective: Objective
    verdict: Verdict
    schedules: int
    violating: int

    @property
    def decided(self) -> bool:
        """Whether the solver came to a verdict in time."""
        return self.verdict.answer is not Answer.UNKNOWN

    @property
    def agrees(self) -> bool:
        """Same answer, and a reject's schedule replays to the violation claimed."""
        expected = Answer.REJECT if self.violating else Answer.ACCEPT
        return self.verdict.answer is expected and (expected is Answer.ACCEPT or self._replays())

    def _replays(self) -> bool:
        found = self.verdict.counterexample
        if found is None:
            return False
        run = simulate(found.schedule)
        again: Violation | None = violation(self.objective, run.outcome, scope(self.system, self.objective))
        return again == found.violation and not run.impossible


def compare(count: int, seed: int) -> Iterator[Comparison]:
    """``count`` random systems and objectives, from a seed; times are a few nanoseconds."""
    chance = random.Random(seed)
    while count:
        system = random_system(chance)
        if system is None or sum(system.generations) > _MOST_UPDATES:
            continue
        objective = random_objective(chance, system)
        try:
            inside = scope(system, objective)
        except BadInput:
            continue  # about a cluster that has no peak
        schedules = violating = 0
        for schedules, (_, outcome) in enumerate(every_schedule(system), 1):
            violating += violation(objective, outcome, inside) is not None
            if schedules > _MOST_SCHEDULES:
                break
        else:
            count -= 1
            verdict = verify(system, objective, 60, guessing=chance.random() < 0.3)
            yield Comparison(system, objective, verdict, schedules, violating)


def random_system(chance: random.Random) -> System | None:
    """One to three clusters with every feature of the model now and then; None where they do not fit."""
    clusters = []
    count = chance.choice([1, 2, 2, 2, 3])
    late = count < 3 and chance.random() < 0.3
    for index in range(count):
        period = chance.randint(1, 5)
        low = chance.randrange(period)
        phase = (0, period - 1) if chance.random() < 0.5 else (low, chance.randint(low, period - 1))
        jitter = chance.randint(0, 2) if late else 0
        clusters.append(Cluster("abc"[index], period, phase, chance.choice([1, 1, 1, 2]), jitter))
    try:
        return System(
            tuple(clusters),
            service=chance.randint(1, 6),
            slots=chance.randint(1, count + 1),
            updates=chance.randint(2, 4),
            transmission=chance.choice(list(Transmission)),
            threshold=chance.randint(1, 8),
            slope=chance.choice(list(Slope)),
            ack_delay=chance.randint(0, 3),
            patience=chance.randint(0, 2),
            slot_freed=chance.choice(list(SlotFreed)),
        )
    except BadInput:
        return None


def random_objective(chance: random.Random, system: System) -> Objective:
    """Any kind, a bound near what small systems come to, on all clusters or some."""
    names = [cluster.name for cluster in system.clusters]
    kind = chance.choice(list(Kind))
    needed = 2 if kind is Kind.FAIRNESS else 1
    some = len(names) >= needed and chance.random() < 0.3
    clusters = tuple(chance.sample(names, needed)) if some else ()
    bound = Fraction(chance.randint(0, 8 if kind is Kind.FAIRNESS else 24), chance.choice([1, 2]))
    return Objective(kind, bound, clusters)
