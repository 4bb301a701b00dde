"""``olafctl bench twin``: frames a second through the whole pipeline."""

from typing import TYPE_CHECKING, Any

import click

from olafctl.cli.output import json_option, log_progress, print_json

if TYPE_CHECKING:
    from olafctl.bench.twin import Rate


@click.command()
@click.argument("testbed", default="laptop")
@click.option("--frames", type=click.IntRange(1), default=20_000, show_default=True, help="Frames to send.")
@click.option("--size", type=int, default=256, show_default=True, help="Bytes of each update.")
@click.option(
    "--window", type=click.IntRange(1, 4096), default=64, show_default=True, help="Frames under way."
)
@click.option("--compare", type=click.Choice(["bmv2"]), help="Measure this target's chain over veth as well.")
@json_option("Print the measurements as JSON.")
def command(testbed: str, frames: int, size: int, window: int, compare: str | None, as_json: bool) -> None:
    """Measure frames/s through VNP4₁ → queue → VNP4₂ of TESTBED on the twin, in virtual time and over veth.

    The queue is in FIFO mode, so that every update that goes in comes out.
    """
    import dataclasses

    from olafctl.bench import twin as throughput
    from olafctl.targets import testbeds

    bed = dataclasses.replace(testbeds.load(testbeds.locate(testbed)), target="twin")
    updates = throughput.updates(bed, size)
    results: dict[str, Any] = {}
    with throughput.deployed(bed, log_progress) as running:
        for name, gap in (("back to back", throughput.line_gap(updates)), ("1 µs apart", 1000)):
            log_progress(f"measuring virtual time, frames {name}")
            results[f"twin, virtual time, {name}"] = throughput.virtual(running, bed, updates, frames, gap)
        reason = throughput.why_no_veth(running)
        if reason is None:
            log_progress("measuring over veth")
        results["twin, veth"] = reason or throughput.wall(running, bed, updates, frames, window)
    if compare is not None and reason is None:
        other = dataclasses.replace(bed, target=compare)
        with throughput.deployed(other, log_progress) as running:
            log_progress(f"measuring {compare} over veth")
            results[f"{compare}, veth"] = throughput.wall(running, other, updates, frames, window)
    if as_json:
        print_json({name: _as_json(result) for name, result in results.items()})
        return
    for name, result in results.items():
        click.echo(f"{name:<34}{_line(result)}")


def _as_json(result: "Rate | str") -> dict[str, Any]:
    if isinstance(result, str):
        return {"skipped": result}
    return {**vars(result), "frames_per_second": result.per_second}


def _line(result: "Rate | str") -> str:
    if isinstance(result, str):
        return f"skipped: {result}"
    lost = result.frames - result.received
    return f"{result.per_second:>12,.0f} frames/s  ({result.frames} in {result.seconds:.2f} s, {lost} lost)"
