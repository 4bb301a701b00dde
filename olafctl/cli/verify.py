"""``olafctl verify``: accept or reject an Age-of-Model objective, with a schedule that violates it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olafctl.errors import BadInput, Problem
from olafctl.wire.geometry import SLOTS

if TYPE_CHECKING:
    from olafctl.verify.objective import Objective
    from olafctl.verify.system import System

_FILE = click.Path(dir_okay=False, path_type=Path)
_CODES = {"accept": 0, "reject": 1, "unknown": 4}


@click.command()
@click.argument("testbed", required=False)
@click.option(
    "--clusters",
    multiple=True,
    metavar="SPEC",
    help="name:period=100ms[,workers=2,jitter=1ms,phase=0ms..50ms]; several apart by ';'.",
)
@click.option(
    "--period",
    "periods",
    multiple=True,
    metavar="[NAME=]TIME",
    help="With TESTBED: how often each worker generates an update.",
)
@click.option(
    "--objective",
    "goal",
    default="fairness<=0.1ms",
    show_default=True,
    help="fairness<=T, average<=T, peak<=T or loss-free; @a,b limits it to clusters.",
)
@click.option(
    "--service",
    metavar="TIME",
    help="p/C, the time one update takes to leave. With TESTBED: from its frame and rate.",
)
@click.option(
    "--frame-bytes",
    type=click.IntRange(64),
    help="With TESTBED: the frame that p/C is of; by default it fills a slot.",
)
@click.option("--slots", type=int, help=f"Q_max. With TESTBED: its engine's; else {SLOTS.default}.")
@click.option(
    "--updates",
    type=int,
    default=20,
    show_default=True,
    help="Horizon: updates of a worker of the fastest cluster.",
)
@click.option(
    "--transmission",
    default="any",
    show_default=True,
    help="Chance in sending where P_s < 1: any (for all outcomes), bounded:N (at most N withheld in a row),"
    " expected (the mean rate), always (control off).",
)
@click.option("--threshold", default="400ms", show_default=True, metavar="TIME", help="Δ_T.")
@click.option(
    "--slope",
    type=click.Choice(["urgent", "fair"]),
    default="urgent",
    show_default=True,
    help="v = 1/Δ_T or v = Δ_T.",
)
@click.option(
    "--ack-delay",
    default="0ms",
    show_default=True,
    metavar="TIME",
    help="R, from departure to the ACK's reception.",
)
@click.option(
    "--slot-freed",
    type=click.Choice(["departure", "sent"]),
    default="departure",
    show_default=True,
    help="When a slot takes another update: at D(k), or p/C later.",
)
@click.option(
    "--tick", default="1ns", show_default=True, metavar="TIME", help="Grain of free phases and jitters."
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Then the answer is unknown.",
)
@click.option(
    "--exhaustive",
    is_flag=True,
    help="Simulate every schedule instead of solving: small systems, coarse ticks.",
)
@click.option(
    "--maximise-rate",
    is_flag=True,
    help="Find the accepted range of update rates, all clusters scaled alike.",
)
@click.option(
    "--threshold-range", metavar="LOW..HIGH", help="Find the accepted values of Δ_T within this range."
)
@click.option("--save", metavar="FILE", type=_FILE, help="Save a rejecting schedule as JSON.")
@click.option(
    "--plot", metavar="PNG", type=_FILE, help="Draw a rejecting or replayed schedule as a timeline."
)
@click.option(
    "--replay", "saved", metavar="FILE", type=_FILE, help="Simulate a saved schedule instead of verifying."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON; times in ns.")
def command(**options: Any) -> None:
    """Prove that every schedule of TESTBED or --clusters meets an Age-of-Model objective, or show one that
    does not.

    Workers generate periodically (or with jitter) from free phases; nothing else about arrivals is assumed.
    An accept holds for the stated horizon and assumptions, which are printed with it.

    \b
    Exit codes: 0 accept, 1 reject, 2 bad parameters, 3 Z3 is missing, 4 unknown (timeout).

    \b
    olafctl verify --clusters 'a:period=100ms;b:period=300ms' --service 2ms --objective 'fairness<=210ms'
    olafctl verify nine-clusters --period 10us --objective 'peak<=40us'
    """
    if options["saved"] is not None:
        raise SystemExit(_replay(options))
    from olafctl.verify import spec
    from olafctl.verify.exhaustive import scope

    system, objective = _system(options), spec.objective(options["goal"])
    scope(system, objective)
    if options["maximise_rate"] or options["threshold_range"]:
        raise SystemExit(_search(system, objective, options))
    raise SystemExit(_verify(system, objective, options))


def _verify(system: "System", objective: "Objective", options: dict[str, Any]) -> int:
    from olafctl.verify import report, schedule
    from olafctl.verify.verdict import verify, verify_exhaustively

    if options["exhaustive"]:
        verdict = verify_exhaustively(system, objective, options["timeout"])
    else:
        verdict = verify(system, objective, options["timeout"])
    found = verdict.counterexample
    if found and options["save"]:
        _write(options["save"], lambda path: schedule.save(found.schedule, str(objective), path))
    if found and options["plot"]:
        _draw(found.schedule, found.run, f"{objective}: {found.violation.what}", options["plot"])
    if options["as_json"]:
        click.echo(json.dumps(report.as_json(verdict), ensure_ascii=False, indent=1))
        return _CODES[verdict.answer]
    click.echo(f"{verdict.answer}: {objective} ({verdict.seconds:.2f} s)")
    if found:
        excess = found.violation.excess
        by = "" if excess is None or objective.kind == "loss-free" else f", {_ms(excess)} too much"
        click.echo(f"  {found.violation.what}{by}")
        _table(report.COLUMNS, report.rows(found.schedule, found.run))
    elif verdict.answer == "unknown":
        click.echo("  not decided in time: raise --timeout, or ask for fewer --updates")
    _assume(system)
    return _CODES[verdict.answer]


def _replay(options: dict[str, Any]) -> int:
    """Simulate a saved schedule; 1 when a decision in it is one no worker could take."""
    from olafctl.verify import report, schedule
    from olafctl.verify.simulation import simulate

    loaded = schedule.load(options["saved"])
    run = simulate(loaded)
    if options["plot"]:
        _draw(loaded, run, f"replay of {options['saved'].name}", options["plot"])
    if options["as_json"]:
        click.echo(json.dumps(report.outcome_as_json(loaded, run), ensure_ascii=False, indent=1))
    else:
        _table(report.COLUMNS, report.rows(loaded, run))
        for line in report.outcome_lines(loaded, run):
            click.echo(line)
    if run.impossible:
        click.echo(f"error: {len(run.impossible)} decisions are impossible under P_s", err=True)
    return 1 if run.impossible else 0


def _search(system: "System", objective: "Objective", options: dict[str, Any]) -> int:
    """Rates or thresholds; 0 when some value is accepted, 1 when none is."""
    from fractions import Fraction

    from olafctl.verify import search, spec
    from olafctl.verify.verdict import Answer, verify

    change: Callable[[System, Fraction], System] = search.at_rate

    def ask(value: Fraction) -> Answer:
        return verify(change(system, value), objective, options["timeout"]).answer

    if options["threshold_range"]:
        name, unit, change = "Δ_T", " ms", search.at_threshold
        low, _, high = options["threshold_range"].partition("..")
        ends = [spec.time(text, "--threshold-range") for text in (low, high)]
        if not 0 < ends[0] < ends[1]:
            raise BadInput(Problem("is no range", "--threshold-range", "as in 50ms..800ms"))
        values = [ends[0] + (ends[1] - ends[0]) * step / 8 for step in range(9)]
        scale = Fraction(1, 1_000_000)
    else:
        name, unit, scale = "rate", " ×", Fraction(1)
        values = [Fraction(2) ** step for step in range(-4, 5)]

    def progress(tried: search.Tried) -> None:
        if not options["as_json"]:
            click.echo(f"  {name} {float(tried.value * scale):.4g}{unit}: {tried.answer}", err=True)

    found = search.scan(values, ask, 4, progress)
    ranges = [[float(end * scale) for end in pair] for pair in found.ranges]
    if options["as_json"]:
        tried = [{"value": float(one.value * scale), "verdict": one.answer.value} for one in found.tried]
        click.echo(json.dumps({"parameter": name, "unit": unit.strip(), "accepted": ranges, "tried": tried}))
    else:
        for first, last in ranges:
            click.echo(
                f"accepted: {name} {first:.4g} … {last:.4g}{unit}"
                " (each value tried; between them nothing is proved)"
            )
        if not ranges:
            click.echo(f"no {name} tried is accepted")
        elif name == "rate":
            fastest = change(system, found.ranges[-1][1])
            each = ", ".join(f"{one.name} every {_ms(one.period)}" for one in fastest.clusters)
            click.echo(f"largest accepted rate: {each}")
        _assume(system)
    return 0 if ranges else 1


def _system(options: dict[str, Any]) -> "System":
    from olafctl.verify import spec
    from olafctl.verify.system import Slope, SlotFreed, System

    if bool(options["testbed"]) == bool(options["clusters"]):
        raise BadInput(Problem("name a testbed or give --clusters", remedy="one of the two"))
    tick = spec.whole_time(options["tick"], "--tick")
    slots, service = options["slots"], options["service"]
    if options["testbed"]:
        from olafctl.targets.testbeds import load, locate

        testbed = load(locate(options["testbed"]))
        flows = spec.from_testbed(testbed, options["periods"], tick)
        slots = testbed.engine.slots if slots is None else slots
        length = spec.service_of(testbed, options["frame_bytes"])
    else:
        flows = spec.clusters(options["clusters"], tick)
        if service is None:
            raise BadInput(Problem("is missing", "--service", "p/C, as in --service 2ms"))
        length = 0
    if service is not None:
        length = spec.whole_time(service, "--service")
    treatment, patience = spec.transmission(options["transmission"])
    return System(
        clusters=flows,
        service=length,
        slots=SLOTS.default if slots is None else slots,
        updates=options["updates"],
        transmission=treatment,
        threshold=spec.whole_time(options["threshold"], "--threshold"),
        slope=Slope.URGENT if options["slope"] == "urgent" else Slope.FAIR,
        ack_delay=spec.whole_time(options["ack_delay"], "--ack-delay"),
        patience=patience,
        slot_freed=SlotFreed(options["slot_freed"]),
        tick=tick,
    )


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    for row in (columns, *rows):
        click.echo("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


def _assume(system: "System") -> None:
    from olafctl.verify.report import assumptions

    click.echo("assumed:")
    for line in assumptions(system):
        click.echo(f"  - {line}")


def _draw(schedule: Any, run: Any, title: str, path: Path) -> None:
    from olafctl.verify.picture import draw

    _write(path, lambda target: draw(schedule, run, title, target))


def _write(path: Path, write: Any) -> None:
    try:
        write(path)
    except OSError as error:
        raise BadInput(Problem(f"cannot be written: {error.strerror}", str(path))) from error


def _ms(value: Any) -> str:
    from olafctl.verify.objective import milliseconds

    return milliseconds(value)
