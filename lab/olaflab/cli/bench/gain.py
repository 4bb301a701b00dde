"""``olafctl bench gain``: what olafctl gain predicts, next to the twin."""

from dataclasses import asdict

import click

from olafctl.cli.output import json_option, log_progress, print_json, table
from olafctl.errors import OlafError, Problem


@click.command()
@json_option("Print JSON; ages in ns.")
def command(as_json: bool) -> None:
    """Compare the predictions of `olafctl gain` with the twin.

    Ten jobs, with FIFO and with Olaf: the same arrivals through P4 and Verilog. Exit code 1 when a loss
    differs by more than 0.1 % of the updates, or an age by more than 0.1 %.
    """
    from olaflab.model.agreement.gain import CASES, compare

    compared = list(compare(CASES, log_progress))
    if as_json:
        print_json([{**asdict(each), "agrees": each.agrees} for each in compared])
    else:
        heads = ["values", "interval ms", "workers", "clusters", "Mb/s", "slots", "queue"]
        heads += ["lost: predicted", "twin", "AoM ms: predicted", "twin"]
        rows = []
        for each in compared:
            job = each.job
            rows.append(
                (
                    job.values,
                    job.interval / 1e6,
                    job.workers,
                    job.clusters,
                    job.rate / 1e6,
                    job.slots,
                    each.way,
                    f"{each.predicted_loss:.2%}",
                    f"{each.measured_loss:.2%}",
                    _ms(each.predicted_age),
                    _ms(each.measured_age),
                )
            )
        table("predicted and measured", heads, rows)
    if any(not each.agrees for each in compared):
        raise OlafError(Problem("the predictions and the twin differ", "bench gain"))


def _ms(age: float | None) -> str:
    return "–" if age is None else f"{age / 1e6:.5g}"
