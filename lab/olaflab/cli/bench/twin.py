"""``olaflab bench twin``: frames a second through the whole pipeline."""

from statistics import median
from typing import Any

import click

from olafswitch.console.output import json_option, log_progress, print_json

_GAP = 4_000
"""ns between two updates of --tree."""


@click.command()
@click.argument("testbed", required=False)
@click.option(
    "--frames", type=click.IntRange(1), default=20_000, show_default=True, help="To send in virtual time."
)
@click.option("--size", type=int, default=256, show_default=True, help="Bytes of each update.")
@click.option(
    "--window", type=click.IntRange(1, 4096), default=64, show_default=True, help="Frames under way on veths."
)
@click.option(
    "--seconds", type=click.FloatRange(0.1), default=2.0, show_default=True, help="Of each run over veths."
)
@click.option("--runs", type=click.IntRange(1), default=5, show_default=True, help="Over veths, in turn.")
@click.option(
    "--compare", type=click.Choice(["bmv2"]), help="Measure this target's chain over veths as well."
)
@click.option("--tree", is_flag=True, help="Through all engines of TESTBED in virtual time instead.")
@json_option("Print the measurements as JSON.")
def command(
    testbed: str | None,
    frames: int,
    size: int,
    window: int,
    seconds: float,
    runs: int,
    compare: str | None,
    tree: bool,
    as_json: bool,
) -> None:
    """Measure frames/s through the twin, and next to BMv2.

    Through VNP4₁ → queue → VNP4₂ of TESTBED, in virtual time and over veths. The queue is in FIFO mode, so
    that every update that goes in comes out. Runs over veths follow a warm-up, and with --compare those of
    the targets take turns; BMv2 is measured as the chain that the project deploys, with its queue and a
    relay of frames, and as its two switches alone, joined by a cable.
    TESTBED is laptop, with --tree multi-hop, if none is named; with --tree the exit code is 1 when two runs
    differ.
    """
    if tree:
        _tree(testbed or "multi-hop", frames, size, as_json)
        return
    import dataclasses
    from contextlib import ExitStack
    from functools import partial

    from olafctl.targets import testbeds
    from olaflab.pipeline import bare
    from olaflab.pipeline import twin as throughput
    from olaftest.deployment import deployed

    bed = dataclasses.replace(testbeds.load(testbeds.locate(testbed or "laptop")), target="twin")
    updates = throughput.updates(bed, size)
    results: dict[str, Any] = {}
    with ExitStack() as stack:
        running = stack.enter_context(deployed(bed, log_progress))
        for name, gap in (("back to back", throughput.line_gap(updates)), ("1 µs apart", 1000)):
            log_progress(f"measuring virtual time, frames {name}")
            results[f"twin, virtual time, {name}"] = throughput.virtual(running, bed, updates, frames, gap)
        if reason := throughput.why_no_veth(running):
            results["twin, veth"] = reason
        else:
            targets = {"twin": (running, throughput.ends(running, bed))}
            if compare is not None:
                other = dataclasses.replace(bed, target=compare)
                chain, alone = (stack.enter_context(deployed(other, log_progress)) for _ in range(2))
                targets[compare] = chain, throughput.ends(chain, other)
                targets[f"{compare} alone"] = alone, bare.unplug(alone, other)
            log_progress(
                f"measuring over veths: {runs} runs of {seconds:g} s of {', '.join(targets)} in turn"
            )
            measures = {
                f"{name}, veth": partial(throughput.wall, target, between, updates, window=window)
                for name, (target, between) in targets.items()
            }
            done = throughput.interleaved(runs, measures, seconds)
            results |= done.runs
            for name in targets:
                if name != "twin":
                    results[f"twin / {name}, veth"] = done.ratios("twin, veth", f"{name}, veth")
    if as_json:
        print_json({name: _as_json(result) for name, result in results.items()})
        return
    for name, result in results.items():
        click.echo(f"{name:<34}{_line(result)}")


def _tree(testbed: str, frames: int, size: int, as_json: bool) -> None:
    """Updates from the first worker of each engine in turn; the queues are in FIFO mode, without a rate."""
    from olafctl.targets import testbeds
    from olaflab.pipeline import tree
    from olafswitch.errors import OlafError, Problem

    bed = testbeds.load(testbeds.locate(testbed))
    done = tree.measure(bed, log_progress, runs=3, count=frames, size=size, gap=_GAP)
    same = len({run.digest for run in done}) == 1
    if as_json:
        print_json({"engines": len(bed.engines), "identical": same, "runs": [vars(run) for run in done]})
    else:
        for run in done:
            rates = f"{run.received / run.seconds:,.0f} frames/s, {run.received / run.cpu:,.0f} by CPU time"
            click.echo(f"{len(bed.engines)} engines: {rates} ({run.received} of {run.frames} frames)")
    if not same:
        raise OlafError(Problem("two runs of the same updates differ", testbed))


def _as_json(result: Any) -> Any:
    if isinstance(result, str):
        return {"skipped": result}
    if isinstance(result, list):
        return [_as_json(each) for each in result]
    if isinstance(result, float):
        return result
    return {**vars(result), "frames_per_second": result.per_second}


def _line(result: Any) -> str:
    if isinstance(result, str):
        return f"skipped: {result}"
    if not isinstance(result, list):
        lost = result.frames - result.received
        return (
            f"{result.per_second:>12,.0f} frames/s  ({result.frames} in {result.seconds:.2f} s, {lost} lost)"
        )
    if isinstance(result[0], float):
        return f"{median(result):>12.1f} ×         (median; {result[0]:.1f} … {result[-1]:.1f})"
    rates = sorted(run.per_second for run in result)
    lost = sum(run.frames - run.received for run in result)
    spread = f"median of {len(rates)}; {rates[0]:,.0f} … {rates[-1]:,.0f}; {lost} lost"
    return f"{median(rates):>12,.0f} frames/s  ({spread})"
