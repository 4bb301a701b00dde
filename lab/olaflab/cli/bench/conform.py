"""``olafctl bench conform``: the Verilated queue and the one in C++ against the golden model."""

import click

from olafctl.cli.output import json_option, log_progress, print_json, table
from olafctl.errors import OlafError, Problem


@click.command()
@click.option("--frames", type=click.IntRange(1), default=200_000, show_default=True, help="In all.")
@click.option(
    "--per-seed", type=click.IntRange(1), default=2_000, show_default=True, help="Frames of one seed."
)
@json_option("Print how often each rule was met as JSON.")
def command(frames: int, per_seed: int, as_json: bool) -> None:
    """Compare the queue, Verilated and in C++, with the golden model.

    Every byte, status and counter of random frames and commands, with several geometries and adder latencies,
    stalls and back-pressure. Exit code 1 at the first difference, with its seed, and when a rule was never
    met.
    """
    from olaflab.queue import conform
    from olaflab.queue.golden import Unexplained

    reported = 0

    def report(so_far: conform.Coverage) -> None:
        nonlocal reported
        if so_far.frames - reported >= frames // 10:
            reported = so_far.frames
            log_progress(f"{so_far.frames} of {frames} frames")

    try:
        coverage = conform.run(frames, per_seed, report)
    except Unexplained as difference:
        raise OlafError(Problem(str(difference), "the queues and their golden model differ")) from None
    if as_json:
        print_json({"frames": coverage.frames, "seeds": coverage.seeds, "rules": coverage.rules})
    else:
        table("rules", ("rule", "met"), sorted(coverage.rules.items()))
        click.echo(f"\n{coverage.frames} frames, {coverage.seeds} seeds, no difference")
    if coverage.unmet:
        raise OlafError(*(Problem("was never met", rule, "raise --frames") for rule in coverage.unmet))
