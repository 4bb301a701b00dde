"""``olaflab bench interrupts``: long commands, interrupted at random moments."""

import click

from olafswitch.console.output import json_option, log_progress, show
from olafswitch.errors import OlafError


@click.command()
@click.option("--count", type=click.IntRange(1), default=200, show_default=True, help="Commands.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of commands, signals and moments.")
@json_option("Print the report as JSON.")
def command(count: int, seed: int, as_json: bool) -> None:
    """Interrupt long commands and look for what they leave.

    By SIGINT, as a terminal does, or SIGTERM. Exit code 1 when a process, an interface or a half-written
    file is left.
    """
    from olaflab.daemon.interrupts import sweep

    report = sweep(count, seed, log_progress)
    text = f"{sum(report.interrupted.values())} commands interrupted, {len(report.left)} left something"
    show({"interrupted": dict(report.interrupted), "left": report.left}, text, as_json)
    if report.left:
        raise OlafError(*report.left)
