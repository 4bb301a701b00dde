"""``olaflab bench players``: a training whose players are apart, by deltas, full broadcast and in step."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olafswitch.console.output import json_option, log_progress, print_json, table

if TYPE_CHECKING:
    from olaflab.papers.summary import Estimate


@click.command()
@click.option("--seeds", type=click.IntRange(1), default=5, show_default=True, help="From 1 on.")
@click.option("--steps", type=click.IntRange(40), default=300, show_default=True, help="Of the optimiser.")
@click.option("--players", type=click.IntRange(1, 32), default=3, show_default=True, help="Processes.")
@click.option("--max-lag", type=click.IntRange(0), default=4, show_default=True,
              help="Versions that a batch's weights may be behind.")  # fmt: skip
@click.option("--rate", type=click.FloatRange(0, min_open=True), default=0.002, show_default=True,
              help="Learning rate.")  # fmt: skip
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True,
              help="Folder of finished trainings; they are not repeated.")  # fmt: skip
@json_option("Print the summary as JSON.")
def command(
    seeds: int, steps: int, players: int, max_lag: int, rate: float, out: Path, as_json: bool
) -> None:
    """Train a small transformer by GRPO with players apart.

    Deltas, full broadcast, and players that wait for each version: reward, bytes, seconds of play lost, and
    how old the weights were. An interrupted comparison continues from --out. Means over seeds
    with 95 % intervals.
    """
    from olafswitch.errors import importing

    with importing("the comparison"):
        from olaflab.weights.players import summary, train
    settings = {"steps": steps, "players": players, "max-lag": max_lag, "rate": rate}
    rows = summary(train(out, range(1, seeds + 1), settings, log_progress))
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    heads = ("way", "reward", "rise", "deltas minus it", "MB", "s of play lost", "refused", "versions behind")
    table(
        f"{seeds} seeds of {steps} steps, {players} players",
        heads,
        [
            (
                row.way, _shown(row.reward, 3), _shown(row.gain, 3), _shown(row.beside, 3),
                _shown(row.megabytes, 0), _shown(row.lost, 1), _shown(row.refused, 0),
                " ".join(f"{age}:{count}" for age, count in row.staleness.items()),
            )
            for row in rows
        ],
    )  # fmt: skip


def _shown(found: "Estimate", digits: int) -> str:
    return f"{found.mean:.{digits}f} ± {found.interval:.{digits}f}"
