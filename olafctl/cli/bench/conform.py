"""``olafctl bench conform``: random traffic through OlafQueue and its golden model."""

import click

from olafctl.cli.output import json_option, print_json
from olafctl.errors import EXIT_FAILED


@click.command()
@click.option("--frames", default=200_000, show_default=True, help="Frames to compare, over all geometries.")
@click.option("--per-seed", default=2_000, show_default=True, help="Frames of one seed.")
@json_option("Print how often each rule was met as JSON.")
def command(frames: int, per_seed: int, as_json: bool) -> None:
    """Compare the Verilated OlafQueue with its golden model on random traffic, byte by byte.

    Exits with 1 when they differ, or when no frame met one of the rules.
    """
    from olafctl.queue import conform
    from olafctl.queue.golden import Unexplained

    def progress(so_far: conform.Coverage) -> None:
        click.echo(f"\r{so_far.frames} of {frames} frames", nl=False, err=True)

    try:
        coverage = conform.run(frames, per_seed, progress)
    except Unexplained as difference:
        click.echo(f"\nthe queue and its golden model differ: {difference}", err=True)
        raise SystemExit(EXIT_FAILED) from None
    click.echo("", err=True)
    if as_json:
        met = {"frames": coverage.frames, "seeds": coverage.seeds, "rules": dict(coverage.rules)}
        print_json({**met, "never_met": coverage.unmet})
    else:
        for rule, times in sorted(coverage.rules.items()):
            click.echo(f"{times:>12}  {rule}")
        click.echo(f"{coverage.frames} frames, {coverage.seeds} seeds, no difference")
        for rule in coverage.unmet:
            click.echo(f"never met: {rule}")
    if coverage.unmet:
        raise SystemExit(EXIT_FAILED)
