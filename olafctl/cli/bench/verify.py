"""``olafctl bench verify``: how long verdicts take, what each encoding gains, and whether they are right."""

import json
import statistics
from collections.abc import Iterator
from typing import Any

import click

from olafctl.errors import OlafError, Problem


@click.command()
@click.option("--paper", is_flag=True, help="The paper's two cases, under each reading; median of --runs.")
@click.option("--scale", is_flag=True, help="2 … 16 clusters, 10 … 40 updates.")
@click.option("--encodings", is_flag=True, help="What each choice of the encoding gains.")
@click.option("--agreement", is_flag=True, help="Random small systems against exhaustive simulation.")
@click.option("--runs", type=click.IntRange(1), default=5, show_default=True, help="Runs a median is of.")
@click.option(
    "--count", type=click.IntRange(1), default=500, show_default=True, help="Systems of --agreement."
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of --agreement.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds a verdict.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    paper: bool,
    scale: bool,
    encodings: bool,
    agreement: bool,
    runs: int,
    count: int,
    seed: int,
    timeout: float,
    as_json: bool,
) -> None:
    """Measure the verifier; without a choice, the paper's cases.

    Exit code 1 when a verdict of --agreement differs from exhaustive simulation; one that a minute did not
    bring is counted as undecided.
    """
    chosen: list[tuple[str, Iterator[dict[str, Any]]]] = []
    if scale:
        chosen.append(("scale", _scale(timeout)))
    if encodings:
        chosen.append(("encodings", _encodings(timeout)))
    if agreement:
        chosen.append(("agreement", _agreement(count, seed)))
    if paper or not chosen:
        chosen.insert(0, ("paper", _paper(runs, timeout)))
    results: dict[str, list[dict[str, Any]]] = {}
    for name, rows in chosen:
        results[name] = []
        for row in rows:
            results[name].append(row)
            if not as_json:
                click.echo("  ".join(f"{key}: {value}" for key, value in row.items()))
    if as_json:
        click.echo(json.dumps(results, ensure_ascii=False, indent=1))
    wrong = sum(row["disagreeing"] for row in results.get("agreement", []))
    if wrong:
        raise OlafError(Problem(f"{wrong} verdicts differ from exhaustive simulation"))


def _paper(runs: int, timeout: float) -> Iterator[dict[str, Any]]:
    from olafctl.verify.question import cases
    from olafctl.verify.question.objective import Kind, Objective
    from olafctl.verify.search.verdict import verify

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


def _scale(timeout: float) -> Iterator[dict[str, Any]]:
    from olafctl.verify.question import cases
    from olafctl.verify.search.verdict import verify

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


def _encodings(timeout: float) -> Iterator[dict[str, Any]]:
    from dataclasses import replace

    from olafctl.verify.encoding.numbers import Numbers
    from olafctl.verify.encoding.query import Encoding
    from olafctl.verify.question import cases
    from olafctl.verify.search.verdict import verify

    usual = Encoding()
    searching = replace(usual, guesses=False)
    variants = {
        "as shipped": usual,
        "no guesses": searching,
        "no guesses, integers": replace(searching, numbers=Numbers.INTEGER),
        "no guesses, bit-blasted": replace(searching, numbers=Numbers.BITS),
        "no guesses, slots counted (§12.3)": replace(searching, work=False),
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


def _agreement(count: int, seed: int) -> Iterator[dict[str, Any]]:
    from olafctl.verify.search.agreement import compare
    from olafctl.verify.search.verdict import Answer

    done = rejected = schedules = undecided = wrong = 0
    for comparison in compare(count, seed):
        done += 1
        rejected += comparison.verdict.answer is Answer.REJECT
        schedules += comparison.schedules
        undecided += not comparison.decided
        if comparison.decided and not comparison.agrees:
            wrong += 1
            click.echo(
                f"disagree: {comparison.system} {comparison.objective} {comparison.encoding}", err=True
            )
        if done % 50 == 0:
            click.echo(f"{done} of {count}", err=True)
    yield {
        "systems": done,
        "rejected": rejected,
        "schedules_simulated": schedules,
        "undecided": undecided,
        "disagreeing": wrong,
    }
