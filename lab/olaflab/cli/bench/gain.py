"""``olaflab bench gain``: predictions of olaflab gain, next to the twin and to the SDK on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from math import isinf
from typing import TYPE_CHECKING, Any

from olaflab.verb import TextTable, VerbReport, verb
from olafswitch.console.output import log_progress

if TYPE_CHECKING:
    from olaflab.model.gain import GainJob, Spread

_JOB = ("values", "interval ms", "workers", "clusters", "Mb/s", "slots", "queue")


@verb("Print JSON; ages in ns.")
def command() -> VerbReport:
    """Compare what `olaflab gain` predicts with the twin and the SDK.

    Ten jobs, with FIFO and with Olaf: the same arrivals through P4 and Verilog. Then three jobs that the
    SDK's own workers and parameter server do through the twin, three runs of each queue. Exit code 1 when a
    loss of the first differs by more than 0.1 % of the updates or an age by more than 0.1 %, or when the
    median of the SDK's runs is outside of what `olaflab gain` predicts for one run.
    """
    from olaflab.model.agreement import gain

    arrivals = list(gain.compare_arrivals(gain.ARRIVAL_CASES, log_progress))
    sdk = list(gain.compare_runs(gain.SDK_CASES, log_progress))
    same, own = ([{**asdict(each), "agrees": each.agrees} for each in found] for found in (arrivals, sdk))
    tables = (
        _compare_table(
            "predicted and measured, the same arrivals",
            "twin",
            arrivals,
            "{:.2%}".format,
            _format_milliseconds,
        ),
        _compare_table(
            "predicted and the SDK's own: median (lowest … highest)",
            "SDK",
            sdk,
            lambda loss: _format_spread(loss, "{:.1%}", 1),
            lambda age: _format_spread(age, "{:.4g}", 1e6),
        ),
    )
    agree = all([each.agrees for each in arrivals] + [each.agrees for each in sdk])
    problems = () if agree else ("bench gain: the predictions and the twin differ",)
    return VerbReport({"arrivals": same, "sdk": own}, tables, problems)


def _compare_table(
    title: str, other: str, found: list[Any], loss: Callable[[Any], str], age: Callable[[Any], str]
) -> TextTable:
    rows = [
        (*_job_cells(each.job), each.way, loss(each.predicted_loss), loss(each.measured_loss),
         age(each.predicted_age), age(each.measured_age))
        for each in found
    ]  # fmt: skip
    return TextTable(title, [*_JOB, "lost: predicted", other, "AoM ms: predicted", other], rows)


def _job_cells(job: GainJob) -> tuple[object, ...]:
    return job.values, job.interval / 1e6, job.workers, job.clusters, job.rate / 1e6, job.slots


def _format_spread(found: Spread, form: str, unit: float) -> str:
    values = (found.median, found.lowest, found.highest)
    median, low, high = ("–" if isinf(value) else form.format(value / unit) for value in values)
    return median if low == high else f"{median} ({low} … {high})"


def _format_milliseconds(age: float | None) -> str:
    return "–" if age is None else f"{age / 1e6:.5g}"
