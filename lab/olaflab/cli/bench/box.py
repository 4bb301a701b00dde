"""``olaflab bench box``: OpenNIC's user box in simulation, its throughput, latency and random frames."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from olafswitch.console.output import json_option
from olafswitch.errors import EXIT_FAILED

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

    All of it is Verilog. Throughput of bypassing frames and of updates in one
    direction, and of both ports into one; one ACK of 1500 bytes to 3, 64 and 256 members; the latency of an
    update of 64 to 9036 bytes, of the largest by stage and next to the paper's 1152 ns. With --frames instead
    random frames of all kinds, good and bad, into two ports and the host, with pauses at every port and
    resets in the middle; each that leaves is compared with what the twin sends. Exit code 1 when a goal of
    the design is missed, or a frame is not accounted for.
    """
    if frames is not None:
        _account(frames, seed, as_json)
        return
    from olafctl.wire.layouts import Kind
    from olaflab.opennic import performance

    measured: list[tuple[str, Throughput]] = []
    for size in SIZES:
        for kind, what in ((Kind.BYPASS, "bypassing"), (Kind.UPDATE, "updates")):
            _tell(f"{size} B, {what}")
            measured.append((f"{size} B, {what}", performance.throughput(size, kind)))
        _tell(f"{size} B, both ports into one")
        both = performance.throughput(size, Kind.BYPASS, inputs=(0, 1))
        measured.append((f"{size} B, both ports into one", both))
    copied = []
    for members in MEMBERS:
        _tell(f"one ACK to {members} members")
        copied.append((members, performance.replication(ACK_BYTES, members)))
    latencies = {}
    for size in LATENCY_SIZES:
        _tell(f"latency of {size} B")
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
        report = {
            "throughput": {what: one.beats_per_cycle for what, one in everything},
            "latency_ns": {
                size: {"first": latency.first_ns, "last": latency.last_ns}
                for size, latency in latencies.items()
            },
            "stages_cycles": dict(jumbo.stages),
            "paper_ns": PAPER_LATENCY_NS,
            "missed": missed,
        }
        click.echo(json.dumps(report, indent=2))
    else:
        _print(measured, copied, latencies, missed)
    if missed:
        raise SystemExit(EXIT_FAILED)


def _account(frames: int, seed: int, as_json: bool) -> None:
    from olaflab.opennic.random_frames import account

    done = account(frames, seed, _tell)
    if as_json:
        click.echo(json.dumps(asdict(done), indent=2))
        return
    dropped = ", ".join(f"{count} {name}" for name, count in done.dropped.items())
    click.echo(
        f"{done.frames:,} frames, seed {seed}: {done.copies:,} copies left, all as the twin sends them; "
        f"counted as dropped: {dropped}; {done.bad} bad frames dropped at their port; "
        f"{done.resets} resets, which cut {done.cut} frames"
    )


def _print(
    measured: "Sequence[tuple[str, Throughput]]",
    copied: "Sequence[tuple[int, Throughput]]",
    latencies: "Mapping[int, Latency]",
    missed: Sequence[str],
) -> None:
    click.echo(f"{'':<34}{'beats/cycle':>12}{'Gb/s':>8}")
    for what, one in measured:
        click.echo(f"{what:<34}{one.beats_per_cycle:>12.3f}{one.bits_per_second / 1e9:>8.1f}")
    click.echo("")
    click.echo(f"{f'one ACK of {ACK_BYTES} B':<34}{'copies/cycle':>12}{'limit':>8}")
    beats = (ACK_BYTES + 63) // 64
    for members, one in copied:
        click.echo(f"{f'to {members} members':<34}{one.beats_per_cycle / beats:>12.4f}{1 / beats:>8.4f}")
    click.echo("")
    click.echo(f"{'latency, from the first beat in':<34}{'first out':>12}{'last out':>10}{'paper':>10}")
    for size, latency in latencies.items():
        paper = f"{PAPER_LATENCY_NS} ns" if size == JUMBO else "–"
        click.echo(f"{f'{size} B':<34}{latency.first_ns:>9.0f} ns{latency.last_ns:>7.0f} ns{paper:>10}")
    click.echo(f"{f'{JUMBO} B, to the first beat out':<34}{'cycles':>12}{'ns':>10}")
    for stage, cycles in latencies[JUMBO].stages.items():
        click.echo(f"  {stage:<32}{cycles:>12}{cycles * 4:>10}")
    for goal in missed:
        click.echo(f"missed: {goal}")


def _tell(step: str) -> None:
    click.echo(step, err=True)
