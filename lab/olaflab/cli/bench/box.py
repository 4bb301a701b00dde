"""``olaflab bench box``: OpenNIC's user box in simulation, its throughput, latency and random frames."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from olafswitch.console.output import json_option, log_progress, print_json, show, table
from olafswitch.errors import OlafError

if TYPE_CHECKING:
    from olaflab.opennic.performance import Latency, Throughput

GOAL_BEATS_PER_CYCLE = 0.98
PAPER_LATENCY_NS = 1152
SIZES = (1500, 9036)
LATENCY_SIZES = (64, 256, 1500, 9036)
MEMBERS = (3, 64, 256)
ACK_BYTES = 1500
JUMBO = 9036
GOAL_LATENCY_NS = 960


@click.command()
@click.option("--frames", type=int, help="Instead: send so many random frames and account for each.")
@click.option("--seed", default=1, show_default=True, help="Of the random frames.")
@json_option("Print the figures as JSON.")
def command(frames: int | None, seed: int, as_json: bool) -> None:
    """Measure the OpenNIC user box at 250 MHz, in cycles.

    All of it is Verilog. Throughput of bypassing frames and of updates in one direction, and of both ports
    into one; one ACK of 1500 bytes to 3, 64 and 256 members; the latency of an update of 64 to 9036 bytes, of
    the largest by stage and next to the paper's 1152 ns. With --frames instead random frames of all kinds,
    good and bad, into two ports and the host, with pauses at every port, resets and entries written in the
    middle, and ports that are dead for a while; each frame that leaves is compared with what the twin sends.
    Exit code 1 when a goal of the design is missed, or a frame is not accounted for.
    """
    if frames is not None:
        _account(frames, seed, as_json)
        return
    from olafctl.wire.layouts import Kind
    from olaflab.opennic import performance

    measured: list[tuple[str, Throughput]] = []
    for size in SIZES:
        for kind, what in ((Kind.BYPASS, "bypassing"), (Kind.UPDATE, "updates")):
            log_progress(f"{size} B, {what}")
            measured.append((f"{size} B, {what}", performance.throughput(size, kind)))
        log_progress(f"{size} B, both ports into one")
        both = performance.throughput(size, Kind.BYPASS, inputs=(0, 1))
        measured.append((f"{size} B, both ports into one", both))
    copied = []
    for members in MEMBERS:
        log_progress(f"one ACK to {members} members")
        copied.append((members, performance.replication(ACK_BYTES, members)))
    latencies = {}
    for size in LATENCY_SIZES:
        log_progress(f"latency of {size} B")
        latencies[size] = performance.latency(size)
    jumbo = latencies[JUMBO]
    everything = [*measured, *((f"one ACK to {members} members", one) for members, one in copied)]
    missed = [
        f"{what}: {one.beats_per_cycle:.3f} beats per cycle, goal {GOAL_BEATS_PER_CYCLE}"
        for what, one in everything
        if one.beats_per_cycle < GOAL_BEATS_PER_CYCLE
    ]
    if jumbo.last_ns > GOAL_LATENCY_NS:
        missed.append(f"{jumbo.last_ns:.0f} ns to the last beat out, goal {GOAL_LATENCY_NS}")
    if as_json:
        print_json(
            {
                "throughput": {what: one.beats_per_cycle for what, one in everything},
                "latency_ns": {
                    size: {"first": latency.first_ns, "last": latency.last_ns}
                    for size, latency in latencies.items()
                },
                "stages_cycles": dict(jumbo.stages),
                "paper_ns": PAPER_LATENCY_NS,
                "missed": missed,
            }
        )
    else:
        _print(measured, copied, latencies)
    if missed:
        raise OlafError(*missed)


def _account(frames: int, seed: int, as_json: bool) -> None:
    from olaflab.opennic.random_frames import account

    done = account(frames, seed, log_progress)
    dropped = ", ".join(f"{count} {name}" for name, count in done.dropped.items())
    text = (
        f"{done.frames:,} frames, seed {seed}: {done.copies:,} copies left, all as the twin sends them; "
        f"counted as dropped: {dropped}; {done.bad} bad frames dropped at their port; "
        f"{done.resets} resets, which cut {done.cut} frames; {done.lost_links} lost links; "
        f"entries written {done.rewritten} times in traffic"
    )
    show(asdict(done), text, as_json)


def _print(
    measured: "Sequence[tuple[str, Throughput]]",
    copied: "Sequence[tuple[int, Throughput]]",
    latencies: "Mapping[int, Latency]",
) -> None:
    rates = [
        (what, f"{one.beats_per_cycle:.3f}", f"{one.bits_per_second / 1e9:.1f}") for what, one in measured
    ]
    table("throughput", ("", "beats/cycle", "Gb/s"), rates)
    beats = (ACK_BYTES + 63) // 64
    copies = [(members, f"{one.beats_per_cycle / beats:.4f}", f"{1 / beats:.4f}") for members, one in copied]
    table(f"one ACK of {ACK_BYTES} bytes", ("members", "copies/cycle", "limit"), copies)
    delays = [(size, round(delay.first_ns), round(delay.last_ns)) for size, delay in latencies.items()]
    title = f"ns from the first beat in; the paper's {JUMBO} bytes are out after {PAPER_LATENCY_NS}"
    table(title, ("bytes", "first beat out", "last"), delays)
    stages = [(stage, cycles, cycles * 4) for stage, cycles in latencies[JUMBO].stages.items()]
    table(f"{JUMBO} bytes, to the first beat out", ("stage", "cycles", "ns"), stages)
