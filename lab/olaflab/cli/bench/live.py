"""``olafctl bench live``: transmission control on kernel sockets."""

from dataclasses import asdict

import click

from olafctl.cli.output import json_option, log_progress, print_json, table


@click.command()
@click.option("--interval", type=click.FloatRange(0.02, 10), default=0.25, show_default=True,
              help="Seconds between two updates of a worker.")  # fmt: skip
@click.option("--excess", type=click.FloatRange(0.1, 100), default=1.8, show_default=True,
              help="What the workers offer, in multiples of what the output carries.")  # fmt: skip
@click.option("--v", type=click.FloatRange(0), help="1/s.  [default: 2 an interval]")
@click.option("--delta-t", type=click.FloatRange(0, min_open=True), help="s.  [default: half an interval]")
@click.option("--seconds", type=click.FloatRange(1), default=60.0, show_default=True, help="Of each run.")
@json_option("Print JSON; ages in s.")
def command(
    interval: float, excess: float, v: float | None, delta_t: float | None, seconds: float, as_json: bool
) -> None:
    """Measure transmission control with kernel sockets, as root.

    24 workers in 8 clusters send through 4 slots, without transmission control and with it. Each is a host in
    a network namespace of its own; the twin between them has a limited output. P_s is what OLAF §5 says as
    each update is offered.
    """
    from olafctl.errors import importing

    with importing("the bench"):
        from olaflab.training.figures.live import CLUSTERS, SLOTS, Load, measure
    wanted = Load(
        interval,
        excess,
        2 / interval if v is None else v,
        interval / 2 if delta_t is None else delta_t,
        seconds,
    )
    runs = measure(wanted, log_progress)
    if as_json:
        print_json([{**asdict(run), "share": run.share, "loss": run.loss} for run in runs])
        return
    heads = ["transmission control", "offered", "sent", "share sent", "mean P_s", "mean N", "lost", "AoM ms"]
    rows = [
        (
            "yes" if run.control else "no",
            run.offered,
            run.sent,
            f"{run.share:.3f}",
            f"{run.probability:.3f}",
            f"{run.active:.2f}",
            f"{run.loss:.1%}",
            f"{run.age * 1e3:.1f}",
        )
        for run in runs
    ]
    table(f"{CLUSTERS} clusters, {SLOTS} slots, {excess:g} times the output offered", heads, rows)
