"""How long verdicts take, what each choice of the encoding gains, and whether the verdicts are right."""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace

from olafctl.membership.objective import Kind, Objective
from olafctl.verify.encoding.numbers import Numbers
from olafctl.verify.encoding.query import Encoding
from olafctl.verify.search.verdict import Answer, verify
from olaflab.model.agreement import cases
from olaflab.model.agreement.counted import CountedQuery
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


def encodings(timeout: float) -> Iterator[Row]:
    """Six questions with each of the encoding's choices left out."""
    usual = Encoding()
    searching = replace(usual, guesses=False)
    variants = {
        "as shipped": usual,
        "no guesses": searching,
        "no guesses, integers": replace(searching, numbers=Numbers.INTEGER),
        "no guesses, slots counted (OLAF §12.3)": replace(searching, query=CountedQuery),
        "no guesses, no arrival windows": replace(searching, windows=False),
        "no guesses, no symmetry breaking": replace(searching, symmetry=False),
        "no guesses, no stated bounds": replace(searching, bounds=False),
        "no guesses, no short horizons": replace(searching, incremental=False),
    }
    questions = {
        "2 clusters × 20, fairness (accept)": (cases.paper((100, 100), 8), cases.fairness(2)),
        "4 clusters × 20, half slow (accept)": cases.half_slow(4, 20),
        "2 clusters × 20, controlled (accept)": cases.controlled(2, 20),
        "4 clusters × 20, overloaded (reject)": cases.overloaded(4, 20),
        "8 clusters × 20, fairness (reject)": (cases.paper((100,) * 8, 8), cases.fairness(13)),
        "2 clusters × 20, Q_max 1 (reject)": (cases.paper((100, 100), 1), cases.fairness(50)),
    }
    for question, (system, objective) in questions.items():
        if objective.kind == "fairness":
            system = replace(system, tick=cases.MS)
        for name, encoding in variants.items():
            verdict = verify(system, objective, timeout, encoding)
            yield {
                "case": question,
                "encoding": name,
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
            progress(f"disagree: {comparison.system} {comparison.objective} {comparison.encoding}")
        if done % 50 == 0:
            progress(f"{done} of {count}")
    yield {
        "systems": done,
        "rejected": rejected,
        "schedules_simulated": schedules,
        "undecided": undecided,
        "disagreeing": wrong,
    }
