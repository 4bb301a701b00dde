"""``olaflab replay``: send a recorded training through what is deployed, and measure at the server."""

from dataclasses import replace
from pathlib import Path

import click

from olafctl import quantities
from olafctl.plotting import file_format
from olafctl.testbed import limits
from olaflab.verb import FILE, VerbReport, argument, option, verb
from olafswitch.console.output import log_progress
from olafswitch.errors import BadInput, Problem


@verb("Print JSON; ages in ns, rates in bit/s.")
def command(
    trace_path: Path = argument(..., metavar="TRACE", type=FILE),
    testbed: str | None = option(
        None, "Deployment; may be left out when there is only one.", metavar="NAME|YAML"
    ),
    mode: str | None = option(None, "Queue mode, instead of the testbed's.", choices=["olaf", "fifo"]),
    rate: str | None = option(None, "Output rate, instead of the testbed's: 40G, 2.5G, off.", metavar="RATE"),
    offered: str = option("60G", "Mean rate of all updates together.", metavar="RATE"),
    link: str = option("100G", "Rate of the workers' link: the most offered.", metavar="RATE"),
    frame_bytes: int = option(256, "Bytes of a frame; gradients are cut to fit; 64 + 4·n."),
    whole: bool = option(False, "Send the testbed's whole models instead, in segments of a slot's size."),
    at_once: int | None = option(
        None, "Only N clusters train at a time: the next begins when one has sent its last update.",
        least=1, metavar="N",
    ),
    order: int | None = option(
        None, "With --at-once: deal the order in which clusters begin. Left out: the testbed's.",
        least=0, metavar="SEED",
    ),
    updates: int | None = option(None, "Only the first N updates of each worker.", least=1),
    plot: Path | None = option(
        None, "File for a picture of Age-of-Model over time: .png, .svg or .pdf.", metavar="FILE", type=FILE
    ),
) -> VerbReport:  # fmt: skip
    """Replay a recorded training through a deployed twin.

    In virtual time. Its workers are those of the clusters of mode olaf and fifo. The engine's settings are
    put back afterwards. Exit code 1 when what was sent, received and counted does not add up, or when a frame
    is not the exact sum of the updates that it counts.
    """
    if order is not None and at_once is None:
        raise click.UsageError("--order goes with --at-once")
    out_rate = None if rate is None else _read_rate("--rate", rate)
    if plot is not None:
        file_format(plot)
    mean, most = _read_finite_rate("--offered", offered), _read_finite_rate("--link", link)

    from olafctl.control.deploy import use_deployment
    from olafctl.control.store import pick_store
    from olafctl.wire.layouts import BEAT_BYTES
    from olafctl.wire.modes import Mode
    from olaflab.training.replay import report
    from olaflab.training.replay import trace as traces
    from olaflab.training.replay.frames import asynchronous_clusters, values_in, whole_model
    from olaflab.training.replay.run import Setting, clusters_of, replay_trace
    from olaflab.training.replay.trace import ReplayLoad, schedule_updates

    trace = traces.load_trace(trace_path)
    if not whole:
        values_in(frame_bytes, trace)
    with use_deployment(pick_store(testbed)) as (deployed, running):
        clusters = asynchronous_clusters(deployed)
        setting = Setting(
            mode=deployed.mode_of(clusters[0]) if clusters and mode is None else Mode(mode or "olaf"),
            rate=deployed.root.output_rate if rate is None else out_rate,
        )
        load = ReplayLoad(mean, most, frame_bytes, at_once, order)
        if whole:
            size = deployed.root.beats * BEAT_BYTES
            load = replace(load, frame_bytes=size, model=whole_model(deployed))
        plan = schedule_updates(trace, clusters_of(deployed), load, updates)
        log_progress(f"replaying {plan.updates} updates")
        outcome = replay_trace(running, deployed, trace, plan, load.blocks, setting)
    figures = outcome.measurement
    if plot is not None:
        from olaflab.training.replay import report as plots

        plots.draw_ages([outcome], deployed, plan, load, plot)
    document = {"trace": trace.header, **report.as_json(setting, figures)}
    text = report.source_text(trace, plan, len(clusters_of(deployed)), load)
    problems = [Problem(violation, "conservation") for violation in figures.violations]
    return VerbReport(document, [text, report.format_replay(setting, figures)], problems)


def _read_rate(option: str, text: str) -> int | None:
    """Read ``40G`` and every other way to write a rate in a testbed; ``off`` is None."""
    written = text.strip()
    if not written:
        raise BadInput(Problem("is empty", option, "give a rate such as 40G, or off"))
    if written[-1:] in tuple("0123456789kKmMgGtT"):
        written += "b/s"
    try:
        return quantities.rate(limits.MIN_RATE, limits.MAX_RATE)(written)
    except quantities.Unreadable as error:
        raise BadInput(Problem(error.what, option, "give a rate such as 40G, or off")) from error


def _read_finite_rate(option: str, text: str) -> int:
    rate = _read_rate(option, text)
    if rate is None:
        raise BadInput(Problem("cannot be unlimited", option, "give a rate such as 60G"))
    return rate
