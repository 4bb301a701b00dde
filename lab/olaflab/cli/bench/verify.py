"""``olaflab bench verify``: how long verdicts take, and whether they are right."""

from collections.abc import Iterator

import click

from olafswitch.console.output import json_option, log_progress, print_json, table
from olafswitch.errors import OlafError, Problem


@click.command()
@click.option("--paper", is_flag=True, help="The paper's two cases, under each reading; median of --runs.")
@click.option("--scale", is_flag=True, help="2 … 16 clusters, 10 … 40 updates.")
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
@json_option("Print JSON.")
def command(
    paper: bool,
    scale: bool,
    agreement: bool,
    runs: int,
    count: int,
    seed: int,
    timeout: float,
    as_json: bool,
) -> None:
    """Measure the verifier; without a choice, the paper's cases.

    Exit code 1 when a verdict of --agreement differs from exhaustive simulation; one without
    a verdict after a minute counts as undecided.
    """
    from olaflab.model.agreement import verdicts

    chosen: list[tuple[str, Iterator[verdicts.Row]]] = []
    if paper or not (scale or agreement):
        chosen.append(("paper", verdicts.paper(runs, timeout)))
    if scale:
        chosen.append(("scale", verdicts.scale(timeout)))
    if agreement:
        chosen.append(("agreement", verdicts.agreement(count, seed, log_progress)))
    results: dict[str, list[verdicts.Row]] = {}
    for name, rows in chosen:
        results[name] = []
        for row in rows:
            results[name].append(row)
            log_progress("  ".join(f"{key}: {value}" for key, value in row.items()))
        if not as_json:
            table(name, list(results[name][0]), [list(row.values()) for row in results[name]])
    if as_json:
        print_json(results)
    wrong = sum(int(row["disagreeing"]) for row in results.get("agreement", []))
    if wrong:
        raise OlafError(Problem(f"{wrong} verdicts differ from exhaustive simulation"))
