"""``olafctl bench marl``: what a round of MADDPG spends its time on, and what ways to draw do to rewards."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olafctl.cli.output import json_option, log_progress, print_json, table

if TYPE_CHECKING:
    from olaflab.experience.rewards import Reward
    from olaflab.experience.round import Profile
    from olaflab.experience.trainings import Training


@click.command()
@click.option("--predators", type=click.Choice(("3", "6", "12", "24")), multiple=True, default=("3", "6"),
              show_default=True, help="Of the profile; may be given several times.")  # fmt: skip
@click.option("--rounds", type=click.IntRange(1), default=20, show_default=True, help="Of each profile.")
@click.option("--rows", type=click.IntRange(2048), default=50_000, show_default=True, help="Kept meanwhile.")
@click.option("--trainings", "end_to_end", is_flag=True,
              help="Measure trainings from end to end, and MARL's other layout, instead.")  # fmt: skip
@click.option("--rewards", "seeds", type=click.IntRange(0), default=0, show_default=True,
              help="Train so many seeds of each way to draw instead.")  # fmt: skip
@click.option("--game", "games", type=click.Choice(("tag", "spread")), multiple=True,
              default=("tag", "spread"), show_default=True,
              help="Of the rewards: predator and prey, cooperative navigation; both.")  # fmt: skip
@click.option(
    "--episodes", type=click.IntRange(80), default=1000, show_default=True, help="Of each training."
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path),
              help="A CSV file of the rewards; what it has is not trained again.")  # fmt: skip
@json_option("Print JSON; CPU seconds.")
def command(
    predators: tuple[str, ...],
    rounds: int,
    rows: int,
    end_to_end: bool,
    seeds: int,
    games: tuple[str, ...],
    episodes: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Measure MADDPG's rounds, or its rewards by way to draw.

    MARL's figures 2, 6, 9, 10, 11 and 14, and table 1. The profile is CPU time of sampling, target Q, and
    losses with their steps: with the baseline's lists, with joint rows, and with one batch for all trainers.
    Trainings from end to end also play; beside them is what it costs to turn lists into one value a step.
    Rewards are those of three agents, with what a batch is worth in independent rows and two controls. Needs
    torch (pip install ./sdk './lab[train]').
    """
    from olafctl.errors import importing

    with importing("the bench", "pip install ./sdk './lab[train]'"):
        if seeds and end_to_end:
            raise click.UsageError("--rewards and --trainings: one at a time")
        if end_to_end:
            _trainings(tuple(map(int, predators)), rounds, rows, as_json)
        elif seeds:
            _rewards(games, episodes, seeds, out, as_json)
        else:
            _profiles(tuple(map(int, predators)), rounds, rows, as_json)


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


def _trainings(predators: tuple[int, ...], rounds: int, rows: int, as_json: bool) -> None:
    from olaflab.experience.figure14 import reorganised
    from olaflab.experience.trainings import trainings

    measured: list[Training] = list(trainings(predators, rounds, rows, log_progress))
    layouts = list(reorganised(predators, 25, rows, log_progress))
    if as_json:
        print_json({"trainings": [asdict(each) for each in measured],
                    "layouts": [asdict(each) for each in layouts]})  # fmt: skip
        return
    cost = {(each.predators, each.stack, each.way): each.seconds / each.rounds for each in measured}
    lines, before = [], dict(zip(predators[1:], predators, strict=False))
    for each in measured:
        own = cost[each.predators, each.stack, each.way]
        smaller = cost.get((before.get(each.predators, 0), each.stack, each.way))
        lines.append(
            (f"{each.predators}+{each.agents - each.predators}", each.stack, each.way, f"{own * 1e3:.1f}",
             f"{100 * each.playing / each.seconds:.1f} %", f"{100 * each.sampling / each.seconds:.1f} %",
             f"{100 * (own / cost[each.predators, each.stack, 'uniform'] - 1):+.1f} %",
             f"{cost[each.predators, 'lists', 'uniform'] / own:.2f}", f"{each.hours:.1f}",
             "" if smaller is None else f"{own / smaller:.2f}")
        )  # fmt: skip
    heads = ["agents", "rows kept as", "way", "ms a round", "playing", "sampling", "against uniform",
             "times as fast as lists", "hours for 60,000 episodes", "growth"]  # fmt: skip
    table("trainings of MADDPG from end to end (figure 9, table 1)", heads, lines)
    heads = ["agents", "rows", "lists, ms", "look-ups alone", "one array", "reshaped", "turning, µs a step",
             "all in all", "even at steps a round", "joint rows"]  # fmt: skip
    table("a batch from one value a step, times as fast as from lists (figure 14)", heads, [
        (f"{each.predators}+{each.agents - each.predators}", each.rows, f"{each.lists * 1e3:.2f}",
         f"{each.fetched_lists / each.fetched:.2f}", f"{each.lists / each.looked_up:.1f}",
         f"{each.lists / (each.looked_up + each.reshaped):.1f}", f"{each.turned * 1e6:.0f}",
         f"{each.net:.1f}", f"{each.even:.0f}", f"{each.lists / each.joint:.1f}")
        for each in layouts
    ])  # fmt: skip


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
    heads = ["way", "rows", "worth", "end return", "against uniform", "its interval"]
    for game in games:
        lines = summary([each for each in asked if each.game == game])
        table(f"{game}: {episodes} episodes, seeds 1 to {seeds}", heads, lines)
