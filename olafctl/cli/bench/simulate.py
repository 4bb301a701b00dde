"""``olafctl bench simulate``: the event-level model's speed, and its agreement with the Verilated queue."""

import click

from olafctl.cli.output import json_option, log_progress, print_json, table
from olafctl.errors import OlafError, Problem


@click.command()
@click.option(
    "--agreement",
    type=click.IntRange(1),
    metavar="UPDATES",
    help="Compare so many random arrivals with the Verilated OlafQueue instead.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of --agreement.")
@click.option("--clusters", type=click.IntRange(1, 1024), default=1000, show_default=True)
@click.option("--workers", type=click.IntRange(1), default=10, show_default=True, help="Of each cluster.")
@click.option(
    "--updates", type=click.IntRange(1), default=5_000_000, show_default=True, help="Of each measurement."
)
@json_option("Print JSON.")
def command(
    agreement: int | None, seed: int, clusters: int, workers: int, updates: int, as_json: bool
) -> None:
    """Measure the event-level model (docs/simulate.md): updates per second of processor time, on one core.

    Exit code 1 when an arrival of --agreement ends otherwise than in the Verilated queue.
    """
    from olafctl.bench import simulate

    if agreement is not None:
        found = simulate.agreement(agreement, seed, progress=log_progress)
        if as_json:
            print_json(vars(found))
        else:
            table("agreement with the Verilated queue", list(vars(found)), [list(vars(found).values())])
        if found.different_frames or found.different_times or found.different_counts:
            raise OlafError(Problem("the event-level model and the Verilated queue differ", "agreement"))
        return
    speeds = simulate.speeds(clusters, workers, updates)
    if as_json:
        print_json([{**vars(speed), "updates_per_second": speed.per_second} for speed in speeds])
        return
    table(
        f"{clusters} clusters of {workers} workers",
        ["output", "updates", "CPU s", "updates/s"],
        [[speed.name, speed.updates, round(speed.seconds, 2), round(speed.per_second)] for speed in speeds],
    )
