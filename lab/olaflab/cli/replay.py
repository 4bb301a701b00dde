"""``olaflab replay``: send a recorded training through what is deployed, and measure at the server."""

from dataclasses import replace
from pathlib import Path

import click

from olafctl import quantities
from olafctl.plotting import file_format
from olafctl.testbed import limits
from olafswitch.console.output import json_option, log_progress, print_json
from olafswitch.errors import BadInput, OlafError, Problem

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("trace_path", metavar="TRACE", type=_FILE)
@click.option(
    "--testbed", metavar="NAME|YAML", help="The deployment; may be left out when there is only one."
)
@click.option("--mode", type=click.Choice(["olaf", "fifo"]), help="Override the testbed's queue mode.")
@click.option("--rate", metavar="RATE", help="Override the output rate: 40G, 2.5G, off.")
@click.option(
    "--offered", metavar="RATE", default="60G", show_default=True, help="Mean rate of all updates together."
)
@click.option(
    "--link", metavar="RATE", default="100G", show_default=True, help="The workers' link: the most offered."
)
@click.option(
    "--frame-bytes", type=int, default=256, show_default=True, help="Gradients are cut to fit; 64 + 4·n."
)
@click.option(
    "--whole",
    is_flag=True,
    help="Send the testbed's whole models instead, in segments of a slot's size.",
)
@click.option(
    "--at-once",
    type=click.IntRange(1),
    metavar="N",
    help="Only N clusters train at a time: the next begins when one has sent its last update.",
)
@click.option(
    "--order",
    type=click.IntRange(0),
    metavar="SEED",
    help="With --at-once: deal the order in which clusters begin. Left out: the testbed's.",
)
@click.option("--updates", type=click.IntRange(1), help="Only the first N updates of each worker.")
@click.option("--plot", metavar="FILE", type=_FILE, help="Save Age-of-Model over time: .png, .svg or .pdf.")
@json_option("Print JSON; ages in ns, rates in bit/s.")
def command(
    trace_path: Path,
    testbed: str | None,
    mode: str | None,
    rate: str | None,
    offered: str,
    link: str,
    frame_bytes: int,
    whole: bool,
    at_once: int | None,
    order: int | None,
    updates: int | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Replay a recorded training through a deployed twin.

    In virtual time. Its workers are those of the clusters of mode olaf and fifo. The engine's settings are
    put back afterwards. Exit code 1 when what was sent, received and counted does not add up, or when a frame
    is not the exact sum of the updates that it counts.
    """
    if order is not None and at_once is None:
        raise click.UsageError("--order goes with --at-once")
    out_rate = None if rate is None else _rate("--rate", rate)
    if plot is not None:
        file_format(plot)
    mean, most = _finite("--offered", offered), _finite("--link", link)

    from olafctl.control.deploy import using
    from olafctl.control.store import pick
    from olafctl.wire.layouts import BEAT_BYTES
    from olafctl.wire.modes import Mode
    from olaflab.training.replay import report
    from olaflab.training.replay import trace as traces
    from olaflab.training.replay.frames import asynchronous, values_in, whole_model
    from olaflab.training.replay.run import Setting, clusters_of, replay
    from olaflab.training.replay.schedule import Load, schedule

    trace = traces.load(trace_path)
    if not whole:
        values_in(frame_bytes, trace)
    with using(pick(testbed)) as (deployed, running):
        clusters = asynchronous(deployed)
        setting = Setting(
            mode=deployed.mode_of(clusters[0]) if clusters and mode is None else Mode(mode or "olaf"),
            rate=deployed.root.output_rate if rate is None else out_rate,
        )
        load = Load(mean, most, frame_bytes, at_once, order)
        if whole:
            size = deployed.root.beats * BEAT_BYTES
            load = replace(load, frame_bytes=size, model=whole_model(deployed))
        plan = schedule(trace, clusters_of(deployed), load, updates)
        log_progress(f"replaying {plan.updates} updates")
        outcome = replay(running, deployed, trace, plan, load.blocks, setting)
    figures = outcome.measurement
    if plot is not None:
        from olaflab.training.replay import plot as plots

        plots.ages([outcome], deployed, plan, load, plot)
    if as_json:
        print_json({"trace": trace.header, **report.as_json(setting, figures)})
    else:
        click.echo(report.source_text(trace, plan, len(clusters_of(deployed)), load))
        click.echo(report.table(setting, figures))
    if figures.violations:
        raise OlafError(*(Problem(violation, "conservation") for violation in figures.violations))


def _rate(option: str, text: str) -> int | None:
    """``40G`` and every other way to write a rate in a testbed; ``off`` is None."""
    written = text.strip()
    if not written:
        raise BadInput(Problem("is empty", option, "give a rate such as 40G, or off"))
    if written[-1:] in tuple("0123456789kKmMgGtT"):
        written += "b/s"
    try:
        return quantities.rate(limits.MIN_RATE, limits.MAX_RATE)(written)
    except quantities.Unreadable as error:
        raise BadInput(Problem(error.what, option, "give a rate such as 40G, or off")) from error


def _finite(option: str, text: str) -> int:
    rate = _rate(option, text)
    if rate is None:
        raise BadInput(Problem("cannot be unlimited", option, "give a rate such as 60G"))
    return rate
