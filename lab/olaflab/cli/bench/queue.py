"""``olaflab bench queue``: OlafQueue's throughput and latency, counted in cycles of its clock."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from olafctl.wire.geometry import BEATS, INDICES, SLOTS
from olaflab.verb import TextTable, VerbReport, option, verb
from olafswitch.console.output import log_progress

if TYPE_CHECKING:
    from olaflab.queue.performance import Latency, Throughput

PAPER_GBPS = 50
PAPER_LATENCY_NS = 1152
GOAL_BEATS_PER_CYCLE = 0.98
GOAL_ONE_CLUSTER_256_GBPS = 60.0
GOAL_LAST_NS = 620
GOAL_FIRST_NS = 40


@verb("Print the measurements as JSON.")
def command(
    frames: int = option(10_000, "Frames of each throughput measurement."),
    indices: int = option(INDICES.default, "Indices the queue tracks."),
    slots: int = option(SLOTS.default, "Slots of the queue."),
) -> VerbReport:
    """Measure OlafQueue's throughput and latency at 250 MHz.

    The real Verilog runs, Verilated: 256 B, 1500 B and 9036 B updates back to back in three mixes of
    clusters, with the output unconstrained and at 40 and 20 Gb/s; a model of many segments from three
    workers; and iSwitch rounds of 4 and 12 workers. The paper's figures are shown next to ours. Exit code 1
    when a goal of the design is missed.
    """
    from olafctl.queue.verilate import build_queue
    from olafctl.wire.geometry import Geometry
    from olafctl.wire.modes import Mode
    from olaflab.queue import performance

    most, segments = BEATS.greatest, performance.SEGMENTS
    library = build_queue(Geometry(indices=indices, slots=slots, beats=most), log_progress)
    large = build_queue(Geometry(indices=segments, slots=segments, beats=most), log_progress)
    cases = [(library, size, mix) for size in performance.SIZES for mix in performance.MIXES]
    cases.append((large, performance.SIZES[-1], performance.MODEL_MIX))
    measured = []
    for chosen, size, mix in cases:
        for rate in performance.RATES:
            log_progress(f"{size} B, {mix}, output {_format_rate(rate)}")
            measured.append(performance.measure_throughput(chosen, size, mix, rate, frames))
    for size in performance.SIZES:
        for workers in performance.ROUND_WORKERS:
            for mode in (Mode.ISWITCH, Mode.ISWITCH_ASYNC):
                log_progress(f"{size} B, {mode} of {workers} workers")
                measured.append(performance.measure_rounds(library, size, workers, None, frames, mode))
    latencies = [performance.measure_latency(library, size) for size in performance.SIZES]
    missed = _find_missed(measured, latencies)
    document = {
        "frames": frames,
        "throughput": [asdict(one) for one in measured],
        "latency": [asdict(one) for one in latencies],
        "paper": {"in_gbps": PAPER_GBPS, "last_ns": PAPER_LATENCY_NS},
        "missed": missed,
    }
    heads = ("bytes", "mix", "output", "beats/cycle", "in Gb/s", "out Gb/s", "stalls", "merged", "dropped")
    rows = [
        (one.size, one.mix, _format_rate(one.rate), round(one.beats_per_cycle, 3), round(one.in_gbps, 1),
         round(one.out_gbps, 1), one.stalls, one.merged, one.dropped)
        for one in measured
    ]  # fmt: skip
    tables = (
        TextTable(f"throughput; the paper takes {PAPER_GBPS} Gb/s in", heads, rows),
        TextTable(f"latency; the paper's last beat of 9036 bytes is out after {PAPER_LATENCY_NS} ns",
              ("bytes", "ns to the first beat out", "to the last"),
              [(delay.size, delay.first_ns, delay.last_ns) for delay in latencies]),
    )  # fmt: skip
    return VerbReport(document, tables, missed)


def _format_rate(rate: int | None) -> str:
    return "unconstrained" if rate is None else f"{rate // 10**9} Gb/s"


def _find_missed(measured: "Sequence[Throughput]", latencies: "Sequence[Latency]") -> list[str]:
    """Say which goals were not met."""
    missed = []
    for one in measured:
        what = f"{one.size} B, {one.mix}, output {_format_rate(one.rate)}"
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
