"""``olafctl bench stellaris``: Stellaris' experiments, rules against staleness compared."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olafctl.cli.output import json_option, log_progress, print_json
from olafctl.errors import importing

if TYPE_CHECKING:
    from olaflab.training.figures.report import Figure

_PARTS = ("fig2", "fig3", "fig6", "fig8", "fig11", "fig13", "fig14")


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(_PARTS))
@click.option("--environment", default="Hopper-v5", show_default=True, help="Of Gymnasium; continuous.")
@click.option("--learners", type=click.IntRange(1), default=8, show_default=True, help="Side by side.")
@click.option("--rounds", type=click.IntRange(1), default=20, show_default=True,
              help="Of 4096 steps and 40 gradients.")  # fmt: skip
@click.option("--seeds", type=click.IntRange(1), default=10, show_default=True, help="Of each rule.")
@click.option("--rule", "only", multiple=True, help="Of fig11 only this one; may be given again.")
@click.option("--runs", "given", multiple=True, metavar="FILE",
              type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Runs that --json printed elsewhere are not made again; may be given again.")  # fmt: skip
@click.option("-o", "--out", type=click.Path(file_okay=False, path_type=Path),
              help="Folder for each figure as CSV, JSON, PNG and SVG.")  # fmt: skip
@json_option("Print JSON: each figure, and every run of fig6, fig11 and fig13.")
def command(
    parts: tuple[str, ...],
    environment: str,
    learners: int,
    rounds: int,
    seeds: int,
    only: tuple[str, ...],
    given: tuple[Path, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """Make Stellaris' experiments; fig11 if no PART is named.

    fig11: Stellaris against async, SSP, SoftSync and synchrony on PPO, with and without truncation, after as
    many rounds, optimiser steps and seconds. fig6: against PPO. fig13: its d, v and ρ. fig3: learning time,
    staleness, and how far policies move. fig2, fig8: time and three costs, without training. fig14: what a
    round's time goes to, on this machine.

    Learners, their times and costs are virtual, so a seed gives the same run again. A finished run is kept:
    an interrupted command goes on where it was. Intervals are of 95 % over seeds (Student's t), differences
    are taken seed by seed, and where an interval holds 0 no difference is shown. What is
    contradicted has its opposite shown.
    All but fig2 and fig8 need PyTorch and MuJoCo: pip install ./sdk './lab[train]'.

    \b
      olafctl bench stellaris
      olafctl bench stellaris fig6 --environment Walker2d-v5 --seeds 3
    """
    found: list[Figure] = []
    with importing("the bench", "pip install ./sdk './lab[train]'"):
        from olaflab.training.figures import report
        from olaflab.training.staleness.parts import Bench

        bench = Bench(environment, learners, rounds, seeds, only, given, log_progress)
        bench.rules()  # a wrong one is told before anything is made
        for part in parts or ("fig11",):
            log_progress(f"stellaris {part}")
            found.append(bench.figure(part))
            if out is not None:
                report.write(found[-1], out)
    if as_json:
        runs = [asdict(run) for run in bench.made]
        print_json({"figures": [report.as_json(figure) for figure in found], "runs": runs})
        return
    for figure in found:
        report.show(figure)
