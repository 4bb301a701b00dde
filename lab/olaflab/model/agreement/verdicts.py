"""How long verdicts take, and whether the verdicts are right."""

import statistics
from collections.abc import Callable, Iterator

from olafctl.membership.objective import Kind, Objective
from olafctl.verify.verdict import Answer, verify
from olaflab.model.agreement import cases
from olaflab.model.agreement.systems import compare

Row = dict[str, str | int | float]
"""A measurement by column name."""


def paper(runs: int, timeout: float) -> Iterator[Row]:
    """The paper's two cases (OLAF §6) under each reading of what it leaves open; medians of ``runs``."""
    for bound in (cases.EPSILON, cases.EPSILON_SECONDS):
        objective = Objective(Kind.FAIRNESS, bound)
        for name, system in cases.PAPER.items():
            verdicts = [verify(system, objective, timeout) for _ in range(runs)]
            answers = sorted({verdict.answer.value for verdict in verdicts})
            seconds = statistics.median(verdict.seconds for verdict in verdicts)
            yield {
                "case": name,
                "objective": str(objective),
                "verdict": "/".join(answers),
                "median_s": round(seconds, 3),
            }


def scale(timeout: float) -> Iterator[Row]:
    """Four kinds of question over the number of clusters and the horizon."""
    for name, make in cases.SCALE.items():
        for clusters in (2, 4, 8, 16):
            for updates in (10, 20, 40):
                system, objective = make(clusters, updates)
                verdict = verify(system, objective, timeout)
                yield {
                    "case": name,
                    "clusters": clusters,
                    "updates": updates,
                    "verdict": verdict.answer.value,
                    "seconds": round(verdict.seconds, 2),
                }


def agreement(count: int, seed: int, progress: Callable[[str], None]) -> Iterator[Row]:
    """How many verdicts on random small systems differ from simulating every schedule."""
    done = rejected = schedules = undecided = wrong = 0
    for comparison in compare(count, seed):
        done += 1
        rejected += comparison.verdict.answer is Answer.REJECT
        schedules += comparison.schedules
        undecided += not comparison.decided
        if comparison.decided and not comparison.agrees:
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
