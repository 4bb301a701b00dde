"""Verdicts of the verifier: their times, and random systems against exhaustive simulation."""

import random
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from olafctl.membership.objective import Objective, ObjectiveKind
from olafctl.verify.question import Violation, find_scope, find_violation
from olafctl.verify.schedules import every_schedule
from olafctl.verify.simulation import simulate_schedule
from olafctl.verify.system import ClusterFlow, Slope, SlotFreed, System, Transmission, make_periodic
from olafctl.verify.verdict import Verdict, VerdictAnswer, verify_objective
from olafswitch.errors import BadInput

MS = 1_000_000
EPSILON = Fraction(MS, 10)
"""ε = 0.1 (OLAF §6), read in milliseconds like p/C = 2 and the periods."""

EPSILON_SECONDS = Fraction(100 * MS)
"""ε = 0.1 read in seconds."""


def paper_system(periods: tuple[int, ...], slots: int, service: int = 2, updates: int = 20) -> System:
    """Make OLAF §6's system: Δ_T = 400 ms, p/C = 2 ms, clusters that update every ``periods`` ms, for all
    outcomes.

    The paper gives no Q_max: 8 (OLAF §8) leaves two clusters uncontrolled, 1 puts them under control.
    """
    return System(
        tuple(make_periodic(f"C{index}", period * MS) for index, period in enumerate(periods, 1)),
        service=service * MS,
        slots=slots,
        updates=updates,
        transmission=Transmission.ANY,
        threshold=400 * MS,
    )


PAPER = {
    "100/100 ms, Q_max 8": paper_system((100, 100), 8),
    "100/300 ms, Q_max 8": paper_system((100, 300), 8),
    "100/100 ms, Q_max 1": paper_system((100, 100), 1),
    "100/300 ms, Q_max 1": paper_system((100, 300), 1),
    "100/100 ms, Q_max 1, p/C 200 ms": paper_system((100, 100), 1, service=200),
    "100/300 ms, Q_max 1, p/C 200 ms": paper_system((100, 300), 1, service=200),
}
"""The paper's two cases, under each reading of what it leaves open."""


def fairness_objective(bound: int | Fraction) -> Objective:
    """Average peak ages at most ``bound`` ms apart."""
    return Objective(ObjectiveKind.FAIRNESS, Fraction(bound) * MS)


def peak_objective(bound: int) -> Objective:
    """Make an objective of peak ages of at most ``bound`` ms."""
    return Objective(ObjectiveKind.PEAK, Fraction(bound * MS))


def half_slow(count: int, updates: int) -> tuple[System, Objective]:
    """Make half the clusters update every 100 ms, half every 300 ms, p/C = 2 ms; fair up to what is
    inevitable."""
    periods = (100,) * (count // 2) + (300,) * (count - count // 2)
    return paper_system(periods, count, updates=updates), fairness_objective(200 + 2 * (count - 1))


def all_alike(count: int, updates: int) -> tuple[System, Objective]:
    """Make all clusters update every 100 ms, p/C = 2 ms; peaks are a period and all others' services."""
    return paper_system((100,) * count, count, updates=updates), peak_objective(100 + 2 * (count - 1))


def overloaded_system(count: int, updates: int) -> tuple[System, Objective]:
    """Make all clusters update every 100 ms at 1.6 times the output's rate; a bound that bounded waiting
    misses."""
    service = 160 // count
    return paper_system((100,) * count, count, service=service, updates=updates), peak_objective(
        100 + service * count * 9 // 10
    )


def controlled_system(count: int, updates: int) -> tuple[System, Objective]:
    """Make half as many slots as clusters at 0.8 of the output's rate, for all outcomes; no age beyond half
    the horizon."""
    system = paper_system((100,) * count, count // 2, service=80 // count, updates=updates)
    return system, peak_objective(50 * updates)


SCALE = {
    "all alike, peak": all_alike,
    "half slow, fairness": half_slow,
    "overloaded, peak": overloaded_system,
    "controlled, peak": controlled_system,
}


_MOST_UPDATES = 14
_MOST_SCHEDULES = 20_000


@dataclass(frozen=True)
class VerdictComparison:
    """One random question: the solver's verdict and that of simulating every schedule."""

    system: System
    objective: Objective
    verdict: Verdict
    schedules: int
    violating: int

    @property
    def is_decided(self) -> bool:
        """Whether the solver came to a verdict in time."""
        return self.verdict.answer is not VerdictAnswer.UNKNOWN

    @property
    def agrees(self) -> bool:
        """Same answer, and a reject's schedule replays to the violation claimed."""
        expected = VerdictAnswer.REJECT if self.violating else VerdictAnswer.ACCEPT
        return self.verdict.answer is expected and (
            expected is VerdictAnswer.ACCEPT or self._schedule_replays()
        )

    def _schedule_replays(self) -> bool:
        found = self.verdict.counterexample
        if found is None:
            return False
        run = simulate_schedule(found.schedule)
        again: Violation | None = find_violation(
            self.objective, run.outcome, find_scope(self.system, self.objective)
        )
        return again == found.violation and not run.impossible


def compare_random_systems(count: int, seed: int) -> Iterator[VerdictComparison]:
    """Compare ``count`` random systems and objectives, from a seed; times are a few nanoseconds."""
    chance = random.Random(seed)
    while count:
        system = random_system(chance)
        if system is None or sum(system.generations) > _MOST_UPDATES:
            continue
        objective = random_objective(chance, system)
        try:
            inside = find_scope(system, objective)
        except BadInput:
            continue  # about a cluster that has no peak
        schedules = violating = 0
        for schedules, (_, outcome) in enumerate(every_schedule(system), 1):
            violating += find_violation(objective, outcome, inside) is not None
            if schedules > _MOST_SCHEDULES:
                break
        else:
            count -= 1
            verdict = verify_objective(system, objective, 60, guessing=chance.random() < 0.3)
            yield VerdictComparison(system, objective, verdict, schedules, violating)


def random_system(chance: random.Random) -> System | None:
    """Draw one to three clusters with every feature of the model now and then; None where they do not fit."""
    clusters = []
    count = chance.choice([1, 2, 2, 2, 3])
    late = count < 3 and chance.random() < 0.3
    for index in range(count):
        period = chance.randint(1, 5)
        low = chance.randrange(period)
        phase = (0, period - 1) if chance.random() < 0.5 else (low, chance.randint(low, period - 1))
        jitter = chance.randint(0, 2) if late else 0
        clusters.append(ClusterFlow("abc"[index], period, phase, chance.choice([1, 1, 1, 2]), jitter))
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
    """Draw an objective of any kind on all clusters or some, with a bound near those of small systems."""
    names = [cluster.name for cluster in system.clusters]
    kind = chance.choice(list(ObjectiveKind))
    needed = 2 if kind is ObjectiveKind.FAIRNESS else 1
    some = len(names) >= needed and chance.random() < 0.3
    clusters = tuple(chance.sample(names, needed)) if some else ()
    bound = Fraction(chance.randint(0, 8 if kind is ObjectiveKind.FAIRNESS else 24), chance.choice([1, 2]))
    return Objective(kind, bound, clusters)


Row = dict[str, str | int | float]
"""A measurement by column name."""


def time_paper_cases(runs: int, timeout: float) -> Iterator[Row]:
    """Time the paper's two cases (OLAF §6) under each reading of what it leaves open; medians of ``runs``."""
    for bound in (EPSILON, EPSILON_SECONDS):
        objective = Objective(ObjectiveKind.FAIRNESS, bound)
        for name, system in PAPER.items():
            verdicts = [verify_objective(system, objective, timeout) for _ in range(runs)]
            answers = sorted({verdict.answer.value for verdict in verdicts})
            seconds = statistics.median(verdict.seconds for verdict in verdicts)
            yield {
                "case": name,
                "objective": str(objective),
                "verdict": "/".join(answers),
                "median_s": round(seconds, 3),
            }


def time_scale_cases(timeout: float) -> Iterator[Row]:
    """Time four kinds of question over the number of clusters and the horizon."""
    for name, make in SCALE.items():
        for clusters in (2, 4, 8, 16):
            for updates in (10, 20, 40):
                system, objective = make(clusters, updates)
                verdict = verify_objective(system, objective, timeout)
                yield {
                    "case": name,
                    "clusters": clusters,
                    "updates": updates,
                    "verdict": verdict.answer.value,
                    "seconds": round(verdict.seconds, 2),
                }


def count_disagreements(count: int, seed: int, progress: Callable[[str], None]) -> Iterator[Row]:
    """Count the verdicts on random small systems that differ from simulating every schedule."""
    done = rejected = schedules = undecided = wrong = 0
    for comparison in compare_random_systems(count, seed):
        done += 1
        rejected += comparison.verdict.answer is VerdictAnswer.REJECT
        schedules += comparison.schedules
        undecided += not comparison.is_decided
        if comparison.is_decided and not comparison.agrees:
            wrong += 1
            progress(f"disagree: {comparison.system} {comparison.objective}")
        if done % 50 == 0:
            progress(f"{done} of {count}")
    yield {
        "systems": done,
        "rejected": rejected,
        "schedules_simulated": schedules,
        "undecided": undecided,
        "disagreeing": wrong,
    }
