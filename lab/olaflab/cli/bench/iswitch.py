"""``olafctl bench iswitch``: iSwitch against its paper, and its rounds over links that lose frames."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from olafctl.cli.output import json_option, log_progress, print_json, table

if TYPE_CHECKING:
    from olaflab.queue.aggregation import Times, Workload
    from olaflab.queue.loss import Overhead

WORKERS = 4
SCALE = (4, 6, 9, 12)
RACK = 3
LOSSES = (0.0, 0.001, 0.01, 0.05)
PAPER_REDUCTION = {"parameter server": "81.6–85.8", "all-reduce": "63.4–87.9"}
"""Percent by which iSwitch's aggregation takes less time (iSwitch §6.1, figure 12)."""


@click.command()
@click.option("--rounds", default=10_000, show_default=True, help="Rounds at each loss; 0 leaves them out.")
@click.option("--segments", default=2, show_default=True, help="Segments of each of those rounds.")
@click.option("--seed", default=1, show_default=True, help="Which frames are lost.")
@json_option("Print the measurements as JSON; times in ns.")
def command(rounds: int, segments: int, seed: int, as_json: bool) -> None:
    """Run iSwitch's rounds, next to its paper and over lossy links.

    The queue is the real Verilog, Verilated; links of 10 Gb/s and 500 ns, hosts and their software are models
    in virtual time. Exit code 1 when a result is not the exact sum of one contribution of each worker, or a
    round does not end.
    """
    from olafctl.queue.verilate import build_queue
    from olaflab.queue import aggregation, loss

    library = build_queue(aggregation.GEOMETRY, log_progress)
    single, scaled = {}, {}
    for workload in aggregation.WORKLOADS:
        log_progress(f"{workload.name}, {WORKERS} workers in one rack")
        single[workload.name] = aggregation.times(library, workload.size, (WORKERS,))
    for workload in aggregation.WORKLOADS[2:]:
        for workers in SCALE:
            log_progress(f"{workload.name}, {workers} workers, {RACK} a rack")
            racks = aggregation.racks_of(workers, RACK)
            scaled[workload.name, workers] = aggregation.times(library, workload.size, racks)
    lossy = {}
    if rounds:
        small = build_queue(loss.GEOMETRY, log_progress)
        for chance in LOSSES:
            log_progress(f"{rounds} rounds, {chance:.1%} of all frames lost")
            lossy[chance] = loss.run(small, WORKERS, segments, rounds, chance, seed)
    if as_json:
        print_json(_json(single, scaled, lossy))
    else:
        _print(aggregation.WORKLOADS, single, scaled, lossy)


def _json(
    single: "dict[str, Times]",
    scaled: "dict[tuple[str, int], Times]",
    lossy: "dict[float, Overhead]",
) -> dict[str, Any]:
    return {
        "aggregation": {name: asdict(one) for name, one in single.items()},
        "hierarchical": [{"workload": name, **asdict(one)} for (name, _), one in scaled.items()],
        "loss": [{"chance": chance, **asdict(one)} for chance, one in lossy.items()],
    }


def _print(
    workloads: "tuple[Workload, ...]",
    single: "dict[str, Times]",
    scaled: "dict[tuple[str, int], Times]",
    lossy: "dict[float, Overhead]",
) -> None:
    table(
        f"one gradient of {WORKERS} workers: ms until the last has the result, and less than (paper's range)",
        (
            "workload",
            "MB",
            "parameter server",
            "all-reduce",
            "iSwitch",
            f"than PS, % ({PAPER_REDUCTION['parameter server']})",
            f"than AR, % ({PAPER_REDUCTION['all-reduce']})",
        ),
        [
            (
                each.name,
                each.size / 1e6,
                *(f"{value / 1e6:.3f}" for value in (times.server, times.reduce, times.switch)),
                f"{100 * (1 - times.switch / times.server):.1f}",
                f"{100 * (1 - times.switch / times.reduce):.1f}",
            )
            for each, times in ((each, single[each.name]) for each in workloads)
        ],
    )
    table(
        "synchronous iteration, ms, and speedup over the parameter server (tables 3 and 4, figure 12)",
        (
            "workload",
            "paper PS",
            "AR",
            "iSW",
            "ours PS",
            "AR",
            "paper AR ×",
            "ours ×",
            "paper iSW ×",
            "ours ×",
        ),
        [_iteration_row(each, single[each.name]) for each in workloads],
    )
    click.echo(
        "  Ours is the paper's iSwitch iteration with our aggregation in its place: the network alone,\n"
        "  without hosts' software, so that the three differ by links and queue only."
    )
    table(
        "asynchronous iteration, ms (table 5, figure 13)",
        ("workload", "paper PS", "paper iSW", "ours iSW: the longer of computing and aggregation"),
        [
            (
                each.name,
                *(f"{value:.2f}" for value in each.asynchronous),
                f"{max(_computing(each, single[each.name]), single[each.name].switch / 1e6):.2f}",
            )
            for each in workloads
        ],
    )
    table(
        f"hierarchical, {RACK} workers a rack (figure 15): ms for one gradient",
        ("workload", "workers", "parameter server", "all-reduce", "iSwitch", "iSwitch / its own with 4"),
        [
            (
                name,
                workers,
                *(f"{value / 1e6:.3f}" for value in (times.server, times.reduce, times.switch)),
                f"{times.switch / scaled[name, SCALE[0]].switch:.3f}",
            )
            for (name, workers), times in scaled.items()
        ],
    )
    if lossy:
        table(
            f"{WORKERS} workers over links that lose frames, both ways: every result exact, no round hangs",
            (
                "loss, %",
                "rounds",
                "lost",
                "contributions",
                "of them repeated, %",
                "help",
                "passed on",
                "results re-sent",
                "resets",
                "µs a round",
                "duplicate",
                "late",
            ),
            [_loss_row(chance, one) for chance, one in lossy.items()],
        )


def _computing(workload: "Workload", times: "Times") -> float:
    """ms of an iteration that are no aggregation: the paper's iSwitch iteration without our aggregation."""
    return max(workload.iteration[2] - times.switch / 1e6, 0)


def _iteration_row(workload: "Workload", times: "Times") -> tuple[Any, ...]:
    computing = _computing(workload, times)
    server, reduce, switch = (computing + value / 1e6 for value in (times.server, times.reduce, times.switch))
    return (
        workload.name,
        *(f"{value:.2f}" for value in workload.iteration),
        f"{server:.2f}",
        f"{reduce:.2f}",
        workload.speedup[0],
        f"{server / reduce:.2f}",
        workload.speedup[1],
        f"{server / switch:.2f}",
    )


def _loss_row(chance: float, one: "Overhead") -> tuple[Any, ...]:
    return (
        100 * chance,
        one.rounds,
        one.lost,
        one.contributions,
        f"{100 * one.repeated / (one.contributions - one.repeated):.2f}",
        one.helps,
        one.forwarded,
        one.resent,
        one.resets,
        f"{1000 * one.milliseconds / one.rounds:.2f}",
        one.counters.get("dropped_duplicate", 0),
        one.counters.get("dropped_late", 0),
    )
