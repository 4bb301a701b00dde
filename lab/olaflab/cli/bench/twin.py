"""``olaflab bench twin``: frames a second through the whole pipeline."""

import dataclasses
from contextlib import ExitStack
from statistics import median
from typing import Any

from olaflab.verb import VerbReport, argument, option, verb
from olafswitch.console.output import log_progress
from olafswitch.errors import Problem

_GAP = 4_000
"""ns between two updates of --tree."""


@verb("Print the measurements as JSON.")
def command(
    testbed: str | None = argument(None),
    frames: int = option(20_000, "Frames to send in virtual time.", least=1),
    size: int = option(256, "Bytes of each update."),
    window: int = option(64, "Frames under way on veths.", least=1, most=4096),
    seconds: float = option(2.0, "Seconds of each run over veths.", least=0.1),
    runs: int = option(5, "Runs over veths, in turn.", least=1),
    compare: str | None = option(
        None, "Target whose chain is measured over veths as well.", choices=["bmv2"]
    ),
    tree: bool = option(False, "Instead: through all engines of TESTBED in virtual time."),
) -> VerbReport:
    """Measure frames/s through the twin, and next to BMv2.

    Through VNP4₁ → queue → VNP4₂ of TESTBED, in virtual time and over veths. The queue is in FIFO mode, so
    that every update that goes in comes out. Runs over veths follow a warm-up, and with --compare those of
    the targets take turns; BMv2 is measured as the chain that the project deploys, with its queue and a
    relay of frames, and as its two switches alone, joined by a cable.
    TESTBED is laptop, with --tree multi-hop, if none is named; with --tree the exit code is 1 when two runs
    differ.
    """
    if tree:
        return _measure_tree(testbed or "multi-hop", frames, size)
    from olafctl.targets import testbeds
    from olaflab.pipeline import twin as throughput
    from olaftest.deployment import deployed_testbed

    bed = dataclasses.replace(
        testbeds.load_testbed(testbeds.locate_testbed(testbed or "laptop")), target="twin"
    )
    updates = throughput.encode_updates(bed, size)
    results: dict[str, Any] = {}
    with ExitStack() as stack:
        running = stack.enter_context(deployed_testbed(bed, log_progress))
        for name, gap in (("back to back", throughput.line_gap(updates)), ("1 µs apart", 1000)):
            log_progress(f"measuring virtual time, frames {name}")
            results[f"twin, virtual time, {name}"] = throughput.measure_virtual(
                running, bed, updates, frames, gap
            )
        if reason := throughput.why_no_veth(running):
            results["twin, veth"] = reason
        else:
            done = throughput.measure_targets(
                stack, bed, {"twin": running}, compare, updates, runs, seconds, window, log_progress
            )
            results |= {f"{name}, veth": made for name, made in done.runs.items()}
            for name in done.runs:
                if name != "twin":
                    results[f"twin / {name}, veth"] = done.ratios_of("twin", name)
    return VerbReport(
        {name: _document_of(result) for name, result in results.items()},
        [f"{name:<34}{_format_line(result)}" for name, result in results.items()],
    )


def _measure_tree(testbed: str, frames: int, size: int) -> VerbReport:
    """Send updates from the first worker of each engine in turn, through FIFO queues without a rate."""
    from olafctl.targets import testbeds
    from olaflab.pipeline import tree

    bed = testbeds.load_testbed(testbeds.locate_testbed(testbed))
    done = tree.measure_tree(bed, log_progress, runs=3, count=frames, size=size, gap=_GAP)
    same = len({run.digest for run in done}) == 1
    lines = [
        f"{len(bed.engines)} engines: {run.received / run.seconds:,.0f} frames/s, "
        f"{run.received / run.cpu:,.0f} by CPU time ({run.received} of {run.frames} frames)"
        for run in done
    ]
    document = {"engines": len(bed.engines), "identical": same, "runs": [vars(run) for run in done]}
    return VerbReport(
        document, lines, () if same else [Problem("two runs of the same updates differ", testbed)]
    )


def _document_of(result: Any) -> Any:
    if isinstance(result, str):
        return {"skipped": result}
    if isinstance(result, list):
        return [_document_of(each) for each in result]
    if isinstance(result, float):
        return result
    return {**vars(result), "frames_per_second": result.per_second}


def _format_line(result: Any) -> str:
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
