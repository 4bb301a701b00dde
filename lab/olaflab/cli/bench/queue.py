"""``olaflab bench queue``: OlafQueue's throughput and latency, counted in cycles of its clock."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from olafctl.wire.geometry import BEATS, INDICES, SLOTS
from olafswitch.errors import EXIT_FAILED

if TYPE_CHECKING:
    from olaflab.queue.performance import Latency, Throughput

PAPER_GBPS = 50
PAPER_LATENCY_NS = 1152
GOAL_BEATS_PER_CYCLE = 0.98
GOAL_ONE_CLUSTER_256_GBPS = 60.0
GOAL_LAST_NS = 620
GOAL_FIRST_NS = 40


@click.command()
@click.option("--frames", default=10_000, show_default=True, help="Frames of each throughput measurement.")
@click.option("--indices", default=INDICES.default, show_default=True, help="Indices the queue tracks.")
@click.option("--slots", default=SLOTS.default, show_default=True, help="Slots of the queue.")
@click.option("--fifo", is_flag=True, help="Measure FIFO mode, the baseline, instead.")
@click.option("--json", "as_json", is_flag=True, help="Print the measurements as JSON.")
def command(frames: int, indices: int, slots: int, fifo: bool, as_json: bool) -> None:
    """Measure OlafQueue's throughput and latency at 250 MHz.

    The real Verilog runs, Verilated: 256 B, 1500 B and 9036 B updates back to back in three mixes of
    clusters, with the output unconstrained and at 40 and 20 Gb/s; a model of many segments from three
    workers; iSwitch rounds of 4 and 12 workers; and updates weighed by their staleness. The paper's figures
    are shown next to ours. Exit code 1 when a goal of the design is missed.
    """
    from olafctl.queue.verilate import build_queue
    from olafctl.wire.geometry import Geometry
    from olafctl.wire.modes import Mode
    from olaflab.queue import performance

    def tell(step: str) -> None:
        click.echo(step, err=True)

    library = build_queue(Geometry(indices=indices, slots=slots, beats=BEATS.greatest), tell)
    large = build_queue(
        Geometry(indices=performance.SEGMENTS, slots=performance.SEGMENTS, beats=BEATS.greatest), tell
    )
    mode = Mode.FIFO if fifo else Mode.OLAF
    measured = []
    for size in performance.SIZES:
        for mix in performance.MIXES:
            for rate in performance.RATES:
                tell(f"{size} B, {mix}, output {_rate(rate)}")
                measured.append(performance.throughput(library, size, mix, rate, frames, mode))
    size = performance.SIZES[-1]
    for rate in performance.RATES:
        tell(f"{size} B, {performance.MODEL_MIX}, output {_rate(rate)}")
        measured.append(performance.throughput(large, size, performance.MODEL_MIX, rate, frames, mode))
    for size in performance.SIZES if not fifo else ():
        for workers in performance.ROUND_WORKERS:
            for summing in (Mode.ISWITCH, Mode.ISWITCH_ASYNC):
                tell(f"{size} B, {summing} of {workers} workers")
                measured.append(performance.rounds(library, size, workers, None, frames, summing))
    for size in performance.SIZES if not fifo else ():
        tell(f"{size} B, {performance.STALE}")
        measured.append(performance.weighed(library, size, frames))
    latencies = [performance.latency(library, size) for size in performance.SIZES]
    missed = [] if fifo else _missed(measured, latencies)
    if as_json:
        click.echo(
            json.dumps(
                {
                    "frames": frames,
                    "mode": "fifo" if fifo else "olaf",
                    "throughput": [asdict(one) for one in measured],
                    "latency": [asdict(one) for one in latencies],
                    "paper": {"in_gbps": PAPER_GBPS, "last_ns": PAPER_LATENCY_NS},
                    "missed": missed,
                },
                indent=2,
            )
        )
    else:
        _print(measured, latencies, missed)
    if missed:
        raise SystemExit(EXIT_FAILED)


def _rate(rate: int | None) -> str:
    return "unconstrained" if rate is None else f"{rate // 10**9} Gb/s"


def _missed(measured: "Sequence[Throughput]", latencies: "Sequence[Latency]") -> list[str]:
    """The goals that were not met, in words."""
    missed = []
    for one in measured:
        what = f"{one.size} B, {one.mix}, output {_rate(one.rate)}"
        if one.size == 256 and one.mix == "all one cluster":
            if one.in_gbps < GOAL_ONE_CLUSTER_256_GBPS:
                missed.append(f"{what}: {one.in_gbps:.1f} Gb/s, goal {GOAL_ONE_CLUSTER_256_GBPS:.0f}")
        elif one.beats_per_cycle < GOAL_BEATS_PER_CYCLE:
            missed.append(f"{what}: {one.beats_per_cycle:.3f} beats per cycle, goal {GOAL_BEATS_PER_CYCLE}")
    jumbo = latencies[-1]
    if jumbo.last_ns > GOAL_LAST_NS or jumbo.first_ns > GOAL_FIRST_NS:
        missed.append(
            f"{jumbo.size} B: {jumbo.first_ns} ns to the first and {jumbo.last_ns} ns to the last beat, "
            f"goals {GOAL_FIRST_NS} and {GOAL_LAST_NS}"
        )
    return missed


def _print(measured: "Sequence[Throughput]", latencies: "Sequence[Latency]", missed: list[str]) -> None:
    click.echo(
        f"{'size':>6}  {'mix':<52}{'output':>14}{'beats/cycle':>13}{'in Gb/s':>9}{'paper':>7}"
        f"{'out Gb/s':>10}{'stalls':>8}{'merged':>8}{'dropped':>9}"
    )
    for one in measured:
        click.echo(
            f"{one.size:>4} B  {one.mix:<52}{_rate(one.rate):>14}{one.beats_per_cycle:>13.3f}"
            f"{one.in_gbps:>9.1f}{PAPER_GBPS:>7}{one.out_gbps:>10.1f}{one.stalls:>8}{one.merged:>8}{one.dropped:>9}"
        )
    click.echo("")
    click.echo(f"{'size':>6}  {'to first beat out':>18}{'to last beat out':>18}{'paper':>10}")
    for delay in latencies:
        paper = f"{PAPER_LATENCY_NS} ns" if delay.size == 9036 else "–"
        click.echo(f"{delay.size:>4} B  {delay.first_ns:>15} ns{delay.last_ns:>15} ns{paper:>10}")
    for goal in missed:
        click.echo(f"missed: {goal}")
