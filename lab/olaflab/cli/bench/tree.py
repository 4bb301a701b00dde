"""``olafctl bench tree``: frames a second through several engines in virtual time."""

import click

from olafctl.cli.output import json_option, log_progress, print_json


@click.command()
@click.argument("testbed", default="multi-hop")
@click.option("--frames", type=click.IntRange(1), default=50_000, show_default=True, help="Updates to send.")
@click.option("--size", type=int, default=256, show_default=True, help="Bytes of each update.")
@click.option("--gap", type=click.IntRange(1), default=4_000, show_default=True, help="ns between updates.")
@click.option(
    "--runs", type=click.IntRange(2), default=3, show_default=True, help="Runs of the same updates."
)
@json_option("Print the measurements as JSON.")
@click.pass_context
def command(
    context: click.Context, testbed: str, frames: int, size: int, gap: int, runs: int, as_json: bool
) -> None:
    """Measure frames/s through all engines of TESTBED on the twin.

    In virtual time. Updates come from the first worker of each engine in turn; the queues are in FIFO mode
    and without a rate limit, so that every update that goes in comes out. Frames/s are given by the wall
    clock and by the CPU time of the one process that holds all engines. Exit code 1 when two runs differ.
    """
    from olafctl.targets import testbeds
    from olaflab.pipeline import tree

    bed = testbeds.load(testbeds.locate(testbed))
    done = tree.measure(bed, log_progress, runs=runs, count=frames, size=size, gap=gap)
    same = len({run.digest for run in done}) == 1
    if as_json:
        print_json({"engines": len(bed.engines), "identical": same, "runs": [vars(run) for run in done]})
    else:
        for run in done:
            rates = f"{run.received / run.seconds:,.0f} frames/s, {run.received / run.cpu:,.0f} by CPU time"
            click.echo(f"{len(bed.engines)} engines: {rates} ({run.received} of {run.frames} frames)")
        click.echo("every run gave the same frames at the same times" if same else "runs differ")
    context.exit(0 if same else 1)
