"""``olafctl verify``: accept or reject an Age-of-Model objective, with a schedule that violates it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olafctl.wire.geometry import SLOTS
from olafswitch.console.output import json_option, print_json, print_lines, print_table
from olafswitch.errors import BadInput, Problem

if TYPE_CHECKING:
    from olafctl.membership.objective import Objective
    from olafctl.testbed.model import Testbed
    from olafctl.verify.simulation import SimulationRun, UpdateSchedule
    from olafctl.verify.system import System
    from olafctl.verify.verdict import SearchParameter, Tried, Verdict

_FILE = click.Path(dir_okay=False, path_type=Path)
_CODES = {"accept": 0, "reject": 1, "unknown": 4}


@click.command()
@click.argument("testbed", required=False)
@click.option(
    "--clusters", multiple=True, metavar="SPEC",
    help="name:period=100ms[,workers=2,jitter=1ms,phase=0ms..50ms]; several separated by ';'.",
)  # fmt: skip
@click.option(
    "--period", "periods", multiple=True, metavar="[NAME=]TIME",
    help="With TESTBED: how often each worker generates an update.",
)  # fmt: skip
@click.option(
    "--objective", default="fairness<=0.1ms", show_default=True,
    help="fairness<=T, average<=T, peak<=T or loss-free; @a,b limits it to clusters.",
)  # fmt: skip
@click.option(
    "--service", metavar="TIME",
    help="p/C, the time one update takes to leave. With TESTBED: from its frame and rate.",
)  # fmt: skip
@click.option(
    "--frame-bytes", type=click.IntRange(64),
    help="With TESTBED: the frame that p/C is of; by default it fills a slot.",
)  # fmt: skip
@click.option("--slots", type=int, help=f"Q_max. With TESTBED: its engine's; else {SLOTS.default}.")
@click.option(
    "--updates", type=int, default=20, show_default=True,
    help="Horizon: updates of a worker of the fastest cluster.",
)  # fmt: skip
@click.option(
    "--transmission", default="any", show_default=True,
    help="Chance in sending where P_s < 1: any (for all outcomes), bounded:N (at most N withheld in a row),"
         " expected (the mean rate), always (control off).",
)  # fmt: skip
@click.option("--threshold", default="400ms", show_default=True, metavar="TIME", help="Δ_T.")
@click.option(
    "--slope", type=click.Choice(["urgent", "fair"]), default="urgent", show_default=True,
    help="v = 1/Δ_T or v = Δ_T.",
)  # fmt: skip
@click.option(
    "--ack-delay", default="0ms", show_default=True, metavar="TIME",
    help="R, from departure to the ACK's reception.",
)  # fmt: skip
@click.option(
    "--slot-freed", type=click.Choice(["departure", "sent"]), default="departure", show_default=True,
    help="When a slot takes another update: at D(k), or p/C later.",
)  # fmt: skip
@click.option(
    "--tick", default="1ns", show_default=True, metavar="TIME", help="Grain of free phases and jitters."
)
@click.option(
    "--timeout", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True, metavar="SECONDS",
    help="Then the answer is unknown.",
)  # fmt: skip
@click.option(
    "--exhaustive", is_flag=True,
    help="Simulate every schedule instead of solving: small systems, coarse ticks.",
)  # fmt: skip
@click.option(
    "--maximise-rate", is_flag=True,
    help="Find the accepted range of update rates, all clusters scaled alike.",
)  # fmt: skip
@click.option(
    "--threshold-range", metavar="LOW..HIGH", help="Find the accepted values of Δ_T within this range."
)
@click.option("--save", metavar="FILE", type=_FILE, help="Save a rejecting schedule as JSON.")
@click.option(
    "--plot", metavar="FILE", type=_FILE, help="Draw a rejecting or replayed schedule: .png, .svg or .pdf."
)
@click.option(
    "--replay", "saved", metavar="FILE", type=_FILE, help="Simulate a saved schedule instead of verifying."
)
@click.option("--details", is_flag=True, help="List every update of a rejecting or replayed schedule.")
@json_option("Print JSON; times in ns.")
def command(
    testbed: str | None,
    timeout: float,
    exhaustive: bool,
    maximise_rate: bool,
    threshold_range: str | None,
    save: Path | None,
    plot: Path | None,
    saved: Path | None,
    details: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Prove or refute an Age-of-Model objective.

    Either every schedule of TESTBED or --clusters meets it, or one that does not is shown. Workers generate
    periodically (or with jitter) from free phases; nothing else about arrivals is assumed. An accept holds
    for the stated horizon and assumptions, which are printed with it. A reject names its cause.

    \b
    Exit codes: 0 accept, 1 reject, 2 bad parameters, 4 unknown (timeout).

    \b
    Two clusters that share an output: fair within 210 ms? (accept)
      olafctl verify --clusters 'a:period=100ms;b:period=300ms' --service 2ms --objective 'fairness<=210ms'
    A testbed with a slot for each of its clusters: no model older than 20 us? (accept)
      olafctl verify nine-clusters --slots 9 --period 10us --objective 'peak<=20us'
    With its eight slots and no transmission control: does it lose nothing? (reject)
      olafctl verify nine-clusters --period 10us --transmission always --objective loss-free
    """
    from olafctl.plotting import file_format

    if plot is not None:
        file_format(plot)
    if saved is not None:
        raise SystemExit(_replay_schedule(saved, plot, details, as_json))
    if maximise_rate and threshold_range:
        raise BadInput(Problem("--maximise-rate and --threshold-range", remedy="one of the two"))
    from olafctl.verify.question import read_question

    system, objective = read_question(_load_testbed(testbed), **options)
    if maximise_rate or threshold_range:
        from olafctl.verify.verdict import rate_parameter, threshold_parameter

        parameter = threshold_parameter(threshold_range) if threshold_range else rate_parameter()
        raise SystemExit(_search_values(system, objective, parameter, timeout, as_json))
    from olafctl.verify.verdict import verify_exhaustively, verify_objective

    verdict = (verify_exhaustively if exhaustive else verify_objective)(system, objective, timeout)
    _keep_schedule(verdict, save, plot)
    _show_verdict(verdict, details, as_json)
    raise SystemExit(_CODES[verdict.answer])


def _load_testbed(name: str | None) -> "Testbed | None":
    if name is None:
        return None
    from olafctl.targets.testbeds import load_testbed, locate_testbed

    return load_testbed(locate_testbed(name))


def _keep_schedule(verdict: "Verdict", save: Path | None, plot: Path | None) -> None:
    """Save and plot a rejecting schedule where the options ask for it."""
    from olafctl.verify.simulation import save_schedule

    found, objective = verdict.counterexample, verdict.objective
    if found and save:
        save_schedule(found.schedule, str(objective), save)
    if found and plot:
        _draw_schedule(found.schedule, found.run, f"{objective}: {found.violation.what}", plot)


def _show_verdict(verdict: "Verdict", details: bool, as_json: bool) -> None:
    from olafctl.verify import report

    if as_json:
        print_json(report.verdict_values(verdict))
        return
    print_lines(*report.summarize_verdict(verdict))
    if verdict.counterexample and details:
        found = verdict.counterexample
        print_table("the rejecting schedule", report.COLUMNS, report.make_rows(found.schedule, found.run))


def _replay_schedule(saved: Path, plot: Path | None, details: bool, as_json: bool) -> int:
    """Simulate a saved schedule; return 1 when no worker could take one of its decisions."""
    from olafctl.verify import report
    from olafctl.verify.simulation import load_schedule, simulate_schedule

    loaded = load_schedule(saved)
    run = simulate_schedule(loaded)
    if plot:
        _draw_schedule(loaded, run, f"replay of {saved.name}", plot)
    if as_json:
        print_json(report.outcome_values(loaded, run))
    else:
        if details:
            print_table("the schedule", report.COLUMNS, report.make_rows(loaded, run))
        print_lines(*report.outcome_lines(loaded, run))
    if run.impossible:
        print_lines(f"error: {len(run.impossible)} decisions are impossible under P_s", err=True)
    return 1 if run.impossible else 0


def _search_values(
    system: "System", objective: "Objective", parameter: "SearchParameter", timeout: float, as_json: bool
) -> int:
    """Return 0 when some value of the parameter is accepted, 1 when none is."""
    from olafctl.verify import report
    from olafctl.verify.verdict import find_accepted

    def progress(tried: "Tried") -> None:
        if not as_json:
            shown = f"{parameter.shown(tried.value):.4g} {parameter.unit}"
            print_lines(f"  {parameter.name} {shown}: {tried.answer}", err=True)

    found = find_accepted(system, objective, parameter, timeout, progress)
    if as_json:
        print_json(report.search_values(found, parameter))
    else:
        print_lines(*report.describe_ranges(found, parameter, system))
    return 0 if found.ranges else 1


def _draw_schedule(schedule: "UpdateSchedule", run: "SimulationRun", title: str, path: Path) -> None:
    from olafctl.verify.timeline import draw_timeline

    draw_timeline(schedule, run, title, path)
