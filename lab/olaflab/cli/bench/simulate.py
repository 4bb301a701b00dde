"""``olaflab bench simulate``: the event-level model's speed, and its agreement with other models."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from olaflab.verb import TextTable, VerbReport, option, verb
from olafswitch.console.output import log_progress
from olafswitch.errors import Problem, importing

if TYPE_CHECKING:
    from olaflab.model.agreement.ns3.compare import Ns3Comparison

_AGE_LIMIT, _SPEED_LIMIT = 0.02, 50
"""Limits of --ns3: the difference of the ages, and how many times ns-3's speed."""
_RACKS, _SIZES = ((4,), (3, 1), (3, 3), (3, 3, 3, 3)), (40_980, 161_308)
"""Workers by rack, and bytes of PPO's and DDPG's gradient, of --gradients."""


@verb("Print JSON.")
def command(
    agreement: int | None = option(
        None, "Instead: compare so many random arrivals with the Verilated OlafQueue.",
        least=1, metavar="UPDATES",
    ),
    testbed: str | None = option(
        None, "With --agreement: all engines of TESTBED on the twin, not one queue.", metavar="TESTBED"
    ),
    rounds: bool = option(
        False, "With --testbed: all clusters in mode iswitch, their workers at all engines; twice, once with"
        " links so long that no result comes down while contributions go up.",
    ),
    seed: int = option(1, "Random seed of --agreement."),
    ns3: int | None = option(
        None, "Instead: compare so much virtual time of OLAF's table 2 with ns-3 (extra [ns3]).",
        least=1, metavar="SECONDS",
    ),
    gradients: bool = option(False, "Instead: compare a round of a gradient with the Verilated queue."),
    hour: bool = option(False, "Instead: measure an hour of virtual time."),
    clusters: int = option(1000, "Clusters in all.", least=1, most=1024),
    workers: int = option(10, "Workers of each cluster.", least=1),
    updates: int = option(5_000_000, "Updates of each measurement.", least=1),
) -> VerbReport:  # fmt: skip
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
    if agreement is not None and testbed is None:
        return _compare_queue(agreement, seed)
    if agreement is not None and testbed is not None:
        return (_compare_rounds if rounds else _compare_twin)(testbed, agreement, seed)
    if gradients:
        return _compare_gradients()
    if ns3 is not None:
        return _compare_ns3(ns3, seed)
    speeds = (
        [queue.measure_hour(clusters, workers)] if hour else queue.measure_speeds(clusters, workers, updates)
    )
    rows = [[one.name, one.updates, round(one.seconds, 2), round(one.per_second)] for one in speeds]
    heads = ["output", "updates", "CPU s", "updates/s"]
    return VerbReport(
        [{**vars(speed), "updates_per_second": speed.per_second} for speed in speeds],
        [TextTable(f"{clusters} clusters of {workers} workers", heads, rows)],
    )


def _report_agreement(counts: dict[str, Any], other: str, differ: object) -> VerbReport:
    problem = Problem(f"the event-level model and {other} differ", "agreement")
    table = TextTable(f"agreement with {other}", list(counts), [list(counts.values())])
    return VerbReport(counts, [table], [problem] if differ else ())


def _compare_queue(updates: int, seed: int) -> VerbReport:
    from olaflab.model.agreement.queue import compare_random_loads

    found = compare_random_loads(updates, seed, progress=log_progress)
    differ = found.different_frames or found.different_times or found.different_counts
    return _report_agreement(vars(found), "the Verilated queue", differ)


def _compare_twin(testbed: str, updates: int, seed: int) -> VerbReport:
    from olafctl.targets import testbeds
    from olaflab.model.agreement.twin import tree_agreement

    bed = testbeds.load_testbed(testbeds.locate_testbed(testbed))
    found = tree_agreement(bed, updates, seed, progress=log_progress)
    other = f"the twin's {len(bed.engines)} engines"
    return _report_agreement(vars(found), other, found.different_frames or found.different_counts)


def _compare_gradients() -> VerbReport:
    """Compare iSwitch's rounds, for which :mod:`olaflab.papers.iswitch` takes the model."""
    from olafctl.queue.verilate import build_queue
    from olaflab.model.agreement.queue import compare_gradient
    from olaflab.queue import aggregation

    library = build_queue(aggregation.GEOMETRY, log_progress)
    found = [compare_gradient(library, size, racks) for racks in _RACKS for size in _SIZES]
    heads = ("workers", "racks", "bytes", "Verilated, µs", "model, µs")
    rows = [
        (one.workers, one.racks, one.size, f"{one.verilated / 1e3:.3f}", f"{one.modelled / 1e3:.3f}")
        for one in found
    ]
    differ = any(one.modelled != one.verilated for one in found)
    return VerbReport(
        [asdict(one) for one in found],
        [TextTable("one gradient until the last worker has the sum", heads, rows)],
        ["the event-level model and the Verilated queue differ"] if differ else (),
    )


def _compare_rounds(testbed: str, contributions: int, seed: int) -> VerbReport:
    from olafctl.targets import testbeds
    from olaflab.model.agreement.twin import rounds_agreement

    bed = testbeds.load_testbed(testbeds.locate_testbed(testbed))
    long, given = (
        rounds_agreement(bed, contributions, seed, far=far, progress=log_progress) for far in (True, False)
    )
    counts = {"long": vars(long), "as in the testbed": vars(given)}
    rows = [[links, *values.values()] for links, values in counts.items()]
    differ = long.different_copies or long.different_counts or long.latest
    return VerbReport(
        counts,
        [TextTable(f"rounds over the twin's {len(bed.engines)} engines", ["links", *vars(long)], rows)],
        [Problem("the event-level model and the twin differ", "agreement on rounds")] if differ else (),
    )


def _compare_ns3(seconds: int, seed: int) -> VerbReport:
    from olaflab.model.agreement.ns3.compare import compare_models

    with importing("table 2"):
        from olaflab.papers.olaf import table2

    length, warm_up = seconds * 10**9, seconds * 10**8
    found = [
        compare_models(name, scenario, length, warm_up, log_progress)
        for name, scenario in table2.scenarios(seed)
    ]
    documents = [_document_of(one) for one in found]
    heads = ["queue", "AoM, ms", "in ns-3", "lost, %", "in ns-3", "updates/s", "in ns-3", "times"]
    title = f"OLAF's table 2, {seconds} s of virtual time; speeds in updates a second of processor time"
    wrong = [
        Problem("the Age-of-Model differs by more than 2 %, or the speed by less than 50 times", one.name)
        for one in found
        if one.age_difference is None
        or one.age_difference > _AGE_LIMIT
        or one.our_speed < _SPEED_LIMIT * one.their_speed
    ]
    return VerbReport(
        documents, [TextTable(title, heads, [list(each.values()) for each in documents])], wrong
    )


def _document_of(one: "Ns3Comparison") -> dict[str, Any]:
    return {
        "name": one.name,
        "aom_ms": _round_milliseconds(one.ours.average_age),
        "ns3_aom_ms": _round_milliseconds(one.theirs.average_age),
        "lost_percent": round(100 * one.ours.loss, 2),
        "ns3_not_delivered_percent": round(100 * (1 - one.theirs.delivered_share), 2),
        "updates_per_second": round(one.our_speed),
        "ns3_updates_per_second": round(one.their_speed),
        "times": round(one.our_speed / one.their_speed),
    }


def _round_milliseconds(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else round(nanoseconds / 1e6, 3)
