"""``olafctl bench marl``: what a round of MADDPG spends its time on, and what ways to draw do to rewards."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olafctl.cli.output import json_option, log_progress, print_json, table

if TYPE_CHECKING:
    from olaflab.experience.rewards import Reward
    from olaflab.experience.round import Profile


@click.command()
@click.option("--predators", type=click.Choice(("3", "6", "12", "24")), multiple=True, default=("3", "6"),
              show_default=True, help="Of the profile; may be given several times.")  # fmt: skip
@click.option("--rounds", type=click.IntRange(1), default=20, show_default=True, help="Of each profile.")
@click.option("--rows", type=click.IntRange(2048), default=50_000, show_default=True, help="Kept meanwhile.")
@click.option("--rewards", "seeds", type=click.IntRange(0), default=0, show_default=True,
              help="Train so many seeds of each way to draw instead.")  # fmt: skip
@click.option("--game", "games", type=click.Choice(("tag", "spread")), multiple=True,
              default=("tag", "spread"), show_default=True,
              help="Of the rewards: predator and prey, cooperative navigation; may be given twice.")  # fmt: skip
@click.option(
    "--episodes", type=click.IntRange(80), default=1000, show_default=True, help="Of each training."
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), 
              help="A CSV file that gets a line for each training; what it has is not trained again.")  # fmt: skip
@json_option("Print JSON; CPU seconds.")
def command(
    predators: tuple[str, ...],
    rounds: int,
    rows: int,
    seeds: int,
    games: tuple[str, ...],
    episodes: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Measure MADDPG's rounds, or its rewards by way to draw.

    MARL's figures 2, 6, 10 and 11. The profile is CPU time of sampling, target Q, and losses with their
    steps: with the baseline's lists, with joint rows, and with one batch for all trainers. Rewards are those
    of three agents, with what a batch is worth in independent rows and two controls. Needs torch (pip install
    ./sdk './lab[train]').
    """
    from olafctl.errors import MissingTool, Problem

    try:
        if seeds:
            _rewards(games, episodes, seeds, out, as_json)
        else:
            _profiles(tuple(map(int, predators)), rounds, rows, as_json)
    except ImportError as error:
        what = f"the bench needs {error.name}"
        raise MissingTool(Problem(what, remedy="pip install ./sdk './lab[train]'")) from error


def _profiles(predators: tuple[int, ...], rounds: int, rows: int, as_json: bool) -> None:
    from olaflab.experience.round import PARTS, profiles

    measured: list[Profile] = list(profiles(predators, rounds, rows, log_progress))
    if as_json:
        print_json({"profiles": [{**asdict(each), "apart": each.apart} for each in measured]})
        return
    lines = []
    for each in measured:
        who = f"{each.predators}+{each.agents - each.predators}"
        shares = [f"{100 * each.parts[part] / each.whole:.1f} %" for part in PARTS]
        lines.append(
            (who, each.stack, f"{each.whole / each.rounds * 1e3:.1f}", *shares, f"{100 * each.apart:.2f} %")
        )
    table("a round of MADDPG", ["agents", "rows kept as", "ms", *PARTS, "parts miss the whole by"], lines)


def _rewards(games: tuple[str, ...], episodes: int, seeds: int, out: Path | None, as_json: bool) -> None:
    from olaflab.experience.rewards import WAYS, append, read, rewards, summary

    made: list[Reward] = [] if out is None else read(out)
    for each in rewards(games, 3, episodes, seeds, tuple(WAYS), log_progress, made):
        made.append(each)
        if out is not None:
            append(out, each)
    asked = [each for each in made if each.episodes == episodes and each.seed <= seeds and each.game in games]
    if as_json:
        print_json({"rewards": [asdict(each) for each in asked]})
        return
    heads = ["way", "rows", "worth", "end return", "against uniform", "within its interval"]
    for game in games:
        lines = summary([each for each in asked if each.game == game])
        table(f"{game}: {episodes} episodes, {seeds} seeds", heads, lines)
