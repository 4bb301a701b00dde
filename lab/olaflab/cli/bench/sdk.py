"""``olaflab bench sdk``: what an update costs a worker and a parameter server, next to gRPC and gloo."""

from dataclasses import asdict

import click

from olafswitch.console.output import json_option, log_progress, print_json, table


@click.command()
@click.option("--updates", type=click.IntRange(4), default=2000, show_default=True,
              help="Of the small model in a round; a tenth of the large one.")  # fmt: skip
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True,
              help="Of each, in turn; the median is shown.")  # fmt: skip
@json_option("Print JSON; CPU seconds for an update.")
def command(updates: int, rounds: int, as_json: bool) -> None:
    """Measure the CPU time of an update: the SDK, gRPC and gloo.

    Updates of 2,205 and of 137,477 values: with Olaf's SDK, with a parameter server over gRPC that is sent
    the same arrays, and with a round of gloo's all-reduce where torch is installed. Over loopback, the
    kernel's part included; other load on the machine disturbs CPU time little, and the ratios less. Needs the
    SDK (pip install ./sdk).
    """
    from olafswitch.errors import importing

    with importing("the bench"):
        from olaflab.training.update_cost import costs
    measured = list(costs(updates, rounds, log_progress))
    if as_json:
        print_json([asdict(cost) for cost in measured])
        return
    base = {cost.values: cost for cost in measured if cost.name == "olaf"}
    rows = []
    for cost in measured:
        ours = base[cost.values]
        served = ratio = "–"
        if cost.server is not None and ours.server is not None:
            served, ratio = f"{1 / cost.server:.0f}", f"{cost.server / ours.server:.2f}"
        row = (cost.values, cost.name, f"{cost.worker * 1e6:.0f}", f"{cost.worker / ours.worker:.2f}")
        rows.append((*row, served, ratio))
    heads = [
        "values",
        "with",
        "worker: CPU µs",
        "times Olaf's",
        "server: updates/s of CPU",
        "times Olaf's CPU",
    ]
    table("one update over loopback", heads, rows)
