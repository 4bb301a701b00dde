"""``olaflab bench players``: a training whose players are apart, by deltas, full broadcast and in step."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from olaflab.verb import FOLDER, TextTable, VerbReport, option, verb
from olafswitch.console.output import log_progress
from olafswitch.errors import importing

if TYPE_CHECKING:
    from olaflab.papers.summary import Estimate


@verb("Print the summary as JSON.")
def command(
    seeds: int = option(5, "Number of seeds, from 1 on.", least=1),
    steps: int = option(300, "Steps of the optimiser.", least=40),
    players: int = option(3, "Number of player processes.", least=1, most=32),
    max_lag: int = option(4, "Versions that a batch's weights may be behind.", least=0),
    rate: float = option(0.001, "Learning rate.", least=0, above=True),
    out: Path = option(..., "Folder of finished trainings; they are not repeated.", type=FOLDER),
) -> VerbReport:
    """Train a small transformer by GRPO with players apart.

    Deltas, full broadcast, and players that wait for each version: reward, bytes, seconds of play lost, and
    how old the weights were. An interrupted comparison continues from --out. Means over seeds
    with 95 % intervals.
    """
    with importing("the comparison"):
        from olaflab.weights.players import summarise_ways, train_ways
    settings = {"steps": steps, "players": players, "max-lag": max_lag, "rate": rate}
    found = summarise_ways(train_ways(out, range(1, seeds + 1), settings, log_progress))
    heads = ("way", "reward", "above trivial", "rise", "deltas minus it", "MB", "s of play lost", "refused",
             "versions behind")  # fmt: skip
    rows = [
        (
            row.way,
            _format_interval(row.reward, 3),
            _format_interval(row.above, 3),
            _format_interval(row.gain, 3),
            _format_interval(row.beside, 3),
            _format_interval(row.megabytes, 0),
            _format_interval(row.lost, 1),
            _format_interval(row.refused, 0),
            " ".join(f"{age}:{count}" for age, count in row.staleness.items()),
        )
        for row in found
    ]
    trivial = max(row.trivial for row in found)
    title = f"{seeds} seeds of {steps} steps, {players} players; trivial answers score {trivial:.2f}"
    return VerbReport([asdict(row) for row in found], [TextTable(title, heads, rows)])


def _format_interval(found: "Estimate", digits: int) -> str:
    return f"{found.mean:.{digits}f} ± {found.interval:.{digits}f}"
