"""``olaflab bench simulate``: the event-level model's speed, and its agreement with other models."""

from typing import TYPE_CHECKING, Any

import click

from olafswitch.console.output import json_option, log_progress, print_json, table
from olafswitch.errors import OlafError, Problem, importing

if TYPE_CHECKING:
    from olaflab.model.agreement.ns3.compare import Comparison

_AGE_LIMIT, _SPEED_LIMIT = 0.02, 50
"""What --ns3 must keep: the difference of the ages, and how many times ns-3's speed."""
_RACKS, _SIZES = ((4,), (3, 1), (3, 3), (3, 3, 3, 3)), (40_980, 161_308)
"""Workers by rack, and bytes of PPO's and DDPG's gradient, of --gradients."""


@click.command()
@click.option(
    "--agreement",
    type=click.IntRange(1),
    metavar="UPDATES",
    help="Compare so many random arrivals with the Verilated OlafQueue instead.",
)
@click.option(
    "--testbed",
    metavar="TESTBED",
    help="With --agreement: all engines of TESTBED on the twin, not one queue.",
)
@click.option(
    "--rounds",
    is_flag=True,
    help="With --testbed: all clusters in mode iswitch, their workers at all engines; twice, once with links "
    "so long that no result comes down while contributions go up.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of --agreement.")
@click.option(
    "--ns3",
    type=click.IntRange(1),
    metavar="SECONDS",
    help="Compare so much virtual time of OLAF's table 2 with ns-3 instead (extra [ns3]).",
)
@click.option(
    "--gradients", is_flag=True, help="Compare a round of a gradient with the Verilated queue instead."
)
@click.option("--hour", is_flag=True, help="Measure an hour of virtual time instead.")
@click.option("--clusters", type=click.IntRange(1, 1024), default=1000, show_default=True, help="In all.")
@click.option("--workers", type=click.IntRange(1), default=10, show_default=True, help="Of each cluster.")
@click.option(
    "--updates", type=click.IntRange(1), default=5_000_000, show_default=True, help="Of each measurement."
)
@json_option("Print JSON.")
def command(
    agreement: int | None,
    testbed: str | None,
    rounds: bool,
    seed: int,
    ns3: int | None,
    gradients: bool,
    hour: bool,
    clusters: int,
    workers: int,
    updates: int,
    as_json: bool,
) -> None:
    """Measure the event-level model, or compare it with others.

    Updates per second of processor time, on one core (docs/simulate.md). Exit code 1 when an arrival of
    --agreement ends otherwise than in the Verilated queue or on the twin (with --rounds: with the long
    links), or when with --ns3 the ages of two runs differ by more than 2 % or the model is not 50 times as
    fast.
    """
    from olaflab.model.agreement import queue

    if testbed is not None and agreement is None:
        raise click.UsageError("--testbed goes with --agreement")
    if rounds and testbed is None:
        raise click.UsageError("--rounds goes with --testbed")
    if agreement is not None and testbed is not None and rounds:
        _rounds(agreement, testbed, seed, as_json)
        return
    if agreement is not None:
        _agreement(agreement, testbed, seed, as_json)
        return
    if gradients:
        _gradients(as_json)
        return
    if ns3 is not None:
        _against_ns3(ns3, seed, as_json)
        return
    speeds = [queue.hour(clusters, workers)] if hour else queue.speeds(clusters, workers, updates)
    if as_json:
        print_json([{**vars(speed), "updates_per_second": speed.per_second} for speed in speeds])
        return
    table(
        f"{clusters} clusters of {workers} workers",
        ["output", "updates", "CPU s", "updates/s"],
        [[speed.name, speed.updates, round(speed.seconds, 2), round(speed.per_second)] for speed in speeds],
    )


def _agreement(updates: int, testbed: str | None, seed: int, as_json: bool) -> None:
    """With the Verilated queue, to the cycle, or with the twin's engines, to the frame."""
    if testbed is None:
        from olaflab.model.agreement.queue import agreement

        queue = agreement(updates, seed, progress=log_progress)
        counts, other = vars(queue), "the Verilated queue"
        differ = queue.different_frames or queue.different_times or queue.different_counts
    else:
        from olafctl.targets import testbeds
        from olaflab.model.agreement.tree import tree_agreement

        bed = testbeds.load(testbeds.locate(testbed))
        tree = tree_agreement(bed, updates, seed, progress=log_progress)
        counts, other = vars(tree), f"the twin's {len(bed.engines)} engines"
        differ = tree.different_frames or tree.different_counts
    if as_json:
        print_json(counts)
    else:
        table(f"agreement with {other}", list(counts), [list(counts.values())])
    if differ:
        raise OlafError(Problem(f"the event-level model and {other} differ", "agreement"))


def _gradients(as_json: bool) -> None:
    """iSwitch's rounds, for which :mod:`olaflab.papers.iswitch` takes the model."""
    from dataclasses import asdict

    from olafctl.queue.verilate import build_queue
    from olaflab.model.agreement.iterations import compare
    from olaflab.queue import aggregation

    library = build_queue(aggregation.GEOMETRY, log_progress)
    found = [compare(library, size, racks) for racks in _RACKS for size in _SIZES]
    if as_json:
        print_json([asdict(one) for one in found])
    else:
        heads = ("workers", "racks", "bytes", "Verilated, µs", "model, µs")
        rows = [
            (one.workers, one.racks, one.size, f"{one.verilated / 1e3:.3f}", f"{one.modelled / 1e3:.3f}")
            for one in found
        ]
        table("one gradient until the last worker has the sum", heads, rows)
    if any(one.modelled != one.verilated for one in found):
        raise OlafError(Problem("the event-level model and the Verilated queue differ"))


def _rounds(contributions: int, testbed: str, seed: int, as_json: bool) -> None:
    from olafctl.targets import testbeds
    from olaflab.model.agreement.rounds import rounds_agreement

    bed = testbeds.load(testbeds.locate(testbed))
    long, given = (
        rounds_agreement(bed, contributions, seed, far=far, progress=log_progress) for far in (True, False)
    )
    counts = {"long": vars(long), "as in the testbed": vars(given)}
    if as_json:
        print_json(counts)
    else:
        rows = [[links, *values.values()] for links, values in counts.items()]
        table(f"rounds over the twin's {len(bed.engines)} engines", ["links", *vars(long)], rows)
    if long.different_copies or long.different_counts or long.latest:
        raise OlafError(Problem("the event-level model and the twin differ", "agreement on rounds"))


def _against_ns3(seconds: int, seed: int, as_json: bool) -> None:
    from olaflab.model.agreement.ns3.compare import compare

    with importing("table 2"):
        from olaflab.papers.olaf import table2

    length, warm_up = seconds * 10**9, seconds * 10**8
    found = [
        compare(name, scenario, length, warm_up, log_progress) for name, scenario in table2.scenarios(seed)
    ]
    if as_json:
        print_json([_values(one) for one in found])
    else:
        table(
            f"OLAF's table 2, {seconds} s of virtual time; speeds in updates a second of processor time",
            ["queue", "AoM, ms", "in ns-3", "lost, %", "in ns-3", "updates/s", "in ns-3", "times"],
            [list(_values(one).values()) for one in found],
        )
    wrong = [
        Problem("the Age-of-Model differs by more than 2 %, or the speed by less than 50 times", one.name)
        for one in found
        if one.age_difference is None
        or one.age_difference > _AGE_LIMIT
        or one.our_speed < _SPEED_LIMIT * one.their_speed
    ]
    if wrong:
        raise OlafError(*wrong)


def _values(one: "Comparison") -> dict[str, Any]:
    return {
        "name": one.name,
        "aom_ms": _ms(one.ours.average_age),
        "ns3_aom_ms": _ms(one.theirs.average_age),
        "lost_percent": round(100 * one.ours.loss, 2),
        "ns3_not_delivered_percent": round(100 * (1 - one.theirs.delivered), 2),
        "updates_per_second": round(one.our_speed),
        "ns3_updates_per_second": round(one.their_speed),
        "times": round(one.our_speed / one.their_speed),
    }


def _ms(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else round(nanoseconds / 1e6, 3)
