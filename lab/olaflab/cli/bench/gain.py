"""``olaflab bench gain``: what olaflab gain predicts, next to the twin and to the SDK on it."""

from __future__ import annotations

from dataclasses import asdict
from math import isinf
from typing import TYPE_CHECKING

import click

from olafswitch.console.output import json_option, log_progress, print_json, table
from olafswitch.errors import OlafError, Problem

if TYPE_CHECKING:
    from olaflab.model.agreement.gain import Compared as ByArrivals
    from olaflab.model.agreement.workers import Compared as BySdk
    from olaflab.model.gain import Job, Spread


@click.command()
@json_option("Print JSON; ages in ns.")
def command(as_json: bool) -> None:
    """Compare what `olaflab gain` predicts with the twin and the SDK.

    Ten jobs, with FIFO and with Olaf: the same arrivals through P4 and Verilog. Then three jobs that the
    SDK's own workers and parameter server do through the twin, three runs of each queue. Exit code 1 when a
    loss of the first differs by more than 0.1 % of the updates or an age by more than 0.1 %, or when the
    median of the SDK's runs is outside of what `olaflab gain` predicts for one run.
    """
    from olaflab.model.agreement import gain, workers

    arrivals = list(gain.compare(gain.CASES, log_progress))
    sdk = list(workers.compare(workers.CASES, log_progress))
    if as_json:
        same, own = ([{**asdict(each), "agrees": each.agrees} for each in found] for found in (arrivals, sdk))
        print_json({"arrivals": same, "sdk": own})
    else:
        _show_arrivals(arrivals)
        _show_sdk(sdk)
    if not all([each.agrees for each in arrivals] + [each.agrees for each in sdk]):
        raise OlafError(Problem("the predictions and the twin differ", "bench gain"))


_JOB = ["values", "interval ms", "workers", "clusters", "Mb/s", "slots", "queue"]


def _job(job: Job) -> tuple[object, ...]:
    return job.values, job.interval / 1e6, job.workers, job.clusters, job.rate / 1e6, job.slots


def _show_arrivals(compared: list[ByArrivals]) -> None:
    rows = []
    for each in compared:
        losses = f"{each.predicted_loss:.2%}", f"{each.measured_loss:.2%}"
        rows.append((*_job(each.job), each.way, *losses, _ms(each.predicted_age), _ms(each.measured_age)))
    heads = [*_JOB, "lost: predicted", "twin", "AoM ms: predicted", "twin"]
    table("predicted and measured, the same arrivals", heads, rows)


def _show_sdk(compared: list[BySdk]) -> None:
    rows = []
    for each in compared:
        losses = (_spread(loss, "{:.1%}", 1) for loss in (each.predicted_loss, each.measured_loss))
        ages = (_spread(age, "{:.4g}", 1e6) for age in (each.predicted_age, each.measured_age))
        rows.append((*_job(each.job), each.way, *losses, *ages))
    heads = [*_JOB, "lost: predicted", "SDK", "AoM ms: predicted", "SDK"]
    table("predicted and the SDK's own: median (lowest … highest)", heads, rows)


def _spread(found: Spread, form: str, unit: float) -> str:
    values = (found.median, found.lowest, found.highest)
    median, low, high = ("–" if isinf(value) else form.format(value / unit) for value in values)
    return median if low == high else f"{median} ({low} … {high})"


def _ms(age: float | None) -> str:
    return "–" if age is None else f"{age / 1e6:.5g}"
