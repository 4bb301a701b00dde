"""``olafctl bench sampling``: what a mini-batch of several agents costs to draw, in three layouts."""

from dataclasses import asdict

import click

from olafctl.cli.output import json_option, log_progress, print_json, table

_PREDATORS = ("3", "6", "12", "24")


@click.command()
@click.option("--predators", type=click.Choice(_PREDATORS), multiple=True, default=_PREDATORS,
              show_default=True, help="Of the game; may be given several times.")  # fmt: skip
@click.option("--draws", type=click.IntRange(1), default=25, show_default=True,
              help="Of each way, in turn; the median is shown.")  # fmt: skip
@click.option("--rows", "share", type=click.FloatRange(0, 1, min_open=True), default=1.0, show_default=True,
              help="Share of the usual number of rows, for a quick look.")  # fmt: skip
@click.option("--misses", "with_misses", is_flag=True,
              help="Also count last-level cache misses, with valgrind; about a minute.")  # fmt: skip
@json_option("Print JSON; CPU seconds of a mini-batch.")
def command(predators: tuple[str, ...], draws: int, share: float, with_misses: bool, as_json: bool) -> None:
    """Measure drawing a mini-batch: MARL's figure 8.

    1024 rows of predator and prey for one trainer, of all agents: uniformly and in runs of neighbours; from
    lists of tuples as the paper's baseline keeps them, from an array for each agent and key, and from joint
    rows, one for each step. CPU time; ratios are of one run. About 3 GB of memory and three minutes. Needs
    the SDK (pip install ./sdk).
    """
    from olafctl.errors import importing

    with importing("the bench"):
        from olaflab.experience.figure8 import costs
        from olaflab.experience.misses import misses
    measured = list(costs(tuple(map(int, predators)), draws, share, log_progress))
    counted = list(misses(3, 1_000_000, 10, log_progress)) if with_misses else []
    if as_json:
        print_json(
            {"costs": [asdict(each) for each in measured], "misses": [asdict(each) for each in counted]}
        )
        return
    by_way = {(cost.predators, cost.layout, cost.way): cost.seconds for cost in measured}
    rows = []
    for cost in measured:
        less = cost.seconds / by_way[cost.predators, cost.layout, "uniform"] - 1
        faster = by_way[cost.predators, "arrays", "uniform"] / cost.seconds
        who = f"{cost.predators}+{cost.agents - cost.predators}"
        row = (who, cost.layout, cost.way, cost.rows, f"{cost.seconds * 1e3:.3f}", f"{100 * less:+.0f} %")
        rows.append((*row, f"{faster:.1f}"))
    heads = [
        "agents",
        "layout",
        "way",
        "rows kept",
        "ms",
        "against uniform",
        "times faster than uniform arrays",
    ]
    table("a mini-batch of 1024 rows for one trainer, of all agents", heads, rows)
    if counted:
        lines = [
            (each.layout, each.way, each.misses, f"{each.misses / each.compulsory:.2f}") for each in counted
        ]
        heads = ["layout", "way", "misses", "times the values"]
        table("last-level misses of ten mini-batches, 3+1 agents", heads, lines)
