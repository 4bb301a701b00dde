"""MARL's figures and table (MARL §III, §VI), measured on this machine and trained."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from olaflab import pictures
from olaflab.papers import trivial
from olaflab.papers.curves import draw_ends, half_intervals, plot_mean
from olaflab.papers.figure import (
    Effort,
    Figure,
    FigureCost,
    FigureTable,
    Points,
    Row,
    Section,
    make_measured,
    tabulate_rows,
)
from olaflab.papers.marl import figure8, figure14, misses, profiles, rewards, trainings
from olaflab.papers.runs import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_PARTS = ("sampling", "target Q", "losses and steps")
_PREDATORS, _ALL = (3, 6), (3, 6, 12, 24, 48)
_BOTH = (False, True)
_ROUNDS, _ROWS, _DRAWS = 20, 50_000, 25
_NAVIGATION, _HUNT, _LEARNING = (
    "cooperative navigation, {} agents",
    "predator and prey, {} predators",
    "predator and prey that learns, {} predators",
)
_DRAWN = ("uniform", "n=16, ref=64", "n=64, ref=16")
_REWARDS: Mapping[str, tuple[str, rewards.RewardCase, Sequence[str], int]] = {
    "fig10": (_NAVIGATION, rewards.RewardCase("spread", 3, 1_000), rewards.IN_RUNS, 5),
    "fig10-whole": (_NAVIGATION, rewards.RewardCase("spread", 3, rewards.PAPER), (*_DRAWN, "PER"), 5),
    "fig10-6": (_NAVIGATION, rewards.RewardCase("spread", 6, 4_000), _DRAWN, 5),
    "fig10-12": (_NAVIGATION, rewards.RewardCase("spread", 12, 1_000), _DRAWN, 5),
    "fig10-hunt": (_HUNT, rewards.RewardCase("hunt", 3, 15_000), (*_DRAWN, "PER"), 5),
    "fig10-prey": (_LEARNING, rewards.RewardCase("tag", 3, 1_000), rewards.IN_RUNS, 5),
    "fig11": (_NAVIGATION, rewards.RewardCase("spread", 3, 1_000), rewards.BY_PRIORITY, 5),
    "fig11-prey": (_LEARNING, rewards.RewardCase("tag", 3, 1_000), rewards.BY_PRIORITY, 5),
}
"""Title, game and usual length, ways to draw, and usual seeds."""
_PICTURED = ("fig10-whole", "fig10-hunt")


def _format_agents(row: Row) -> str:
    return f"{row['predators']}+{row['agents'] - row['predators']}"


def _format_share(part: str, row: Row) -> str:
    return f"{100 * row['parts'][part] / row['whole']:.1f} %"


def figures() -> Iterator[Figure]:
    """Return all of MARL's figures."""
    yield make_measured("fig2", "Figures 2 and 6: a round of MADDPG", lambda effort: profiles.profile_rounds(
        _ALL, effort.seed_count(_ROUNDS), _ROWS, effort.progress), {
        "agents": _format_agents, "rows kept as": "{stack}",
        "ms": lambda row: f"{1e3 * row['whole'] / row['rounds']:.1f}",
        **{part: partial(_format_share, part) for part in _PARTS},
    })  # fmt: skip
    yield make_measured(
        "fig8",
        "Figure 8: a mini-batch of 1024 rows for one trainer",
        lambda effort: figure8.measure_costs(_ALL, effort.seed_count(_DRAWS), 1.0, effort.progress),
        {
            "agents": _format_agents,
            "layout": "{layout}",
            "way": "{way}",
            "rows kept": "{rows}",
            "ms": lambda row: f"{1e3 * row['seconds']:.3f}",
        },
    )
    yield make_measured("misses", "Last-level cache misses of ten mini-batches, 3+1 agents",
                   lambda effort: misses.count_misses(3, 1_000_000, 10, effort.progress), {
        "layout": "{layout}", "way": "{way}", "misses": "{misses}",
        "times the values": lambda row: f"{row['misses'] / row['compulsory']:.2f}",
    })  # fmt: skip
    yield make_measured("fig9", "Figure 9 and table 1: trainings from end to end", _run_trainings, {
        "workload": "{workload}", "agents": _format_agents, "rows kept as": "{stack}", "way": "{way}",
        "ms a round": lambda row: f"{1e3 * row['seconds'] / row['rounds']:.1f}",
        "playing": lambda row: f"{row['playing'] / row['seconds']:.1%}",
        "sampling": lambda row: f"{row['sampling'] / row['seconds']:.1%}",
    })  # fmt: skip
    yield make_measured(
        "fig14",
        "Figure 14: a batch from one value a step",
        lambda effort: figure14.measure_layouts(_ALL[:4], effort.seed_count(_DRAWS), _ROWS, effort.progress),
        {
            "agents": _format_agents,
            "rows": "{rows}",
            "lists, ms": lambda row: f"{1e3 * row['lists']:.2f}",
            "one array, times as fast": lambda row: f"{row['lists'] / row['looked_up']:.1f}",
            "reshaped": lambda row: f"{row['lists'] / (row['looked_up'] + row['reshaped']):.1f}",
            "turning, µs a step": lambda row: f"{1e6 * row['turned']:.0f}",
            "joint rows": lambda row: f"{row['lists'] / row['joint']:.1f}",
        },
    )
    yield trivial.make_figure(
        *(f"navigation, {each} agents" for each in (3, 6, 12)), "predators, prey of the environment"
    )
    for name, (title, case, ways, seeds) in _REWARDS.items():
        title = title.format(case.agents)
        yield Figure(
            name,
            f"Figure {name[3:5]}: {title}",
            partial(_run_rewards, case, ways, seeds),
            partial(_of_rewards, title),
            _draw_rewards if name in _PICTURED else None,
            FigureCost.TRAINING,
            (7, 3.6),
        )


def _run_trainings(effort: Effort) -> Iterator[Any]:
    loads = [trainings.Workload(*each) for each in product(_PREDATORS, _BOTH, _BOTH)]
    return trainings.measure_trainings(loads, effort.seed_count(_ROUNDS), _ROWS, effort.progress)


def _draw_rewards(points: Points, drawing: "Drawing") -> None:
    made = [rewards.Reward(**row) for row in points["rows"]]
    if made[0].episodes == rewards.PAPER:
        _draw_learning(made, drawing)
        return
    found = {way: np.array([each.last for each in made if each.way == way]) for way in rewards.WAYS}
    made_ways = {way: found[way] for way in found if len(found[way])}
    draw_ends(drawing, made_ways, "n=16, ref=64", "mean return, last quarter")


def _draw_learning(made: Sequence[rewards.Reward], drawing: "Drawing") -> None:
    """Draw each way's curve with its 95 % interval, without the first parts, which would hide the others."""
    axes = drawing.subplots(1, 1)
    ways = list(dict.fromkeys(each.way for each in made))
    looks = pictures.assign_styles(ways, re.compile("^n=16"))
    for way in ways:
        curves = np.array([each.curve for each in made if each.way == way])
        along = np.linspace(0, made[0].episodes, curves.shape[1] + 1)[1:]
        plot_mean(axes, along[2:], curves[:, 2:], way, looks[way], half_intervals(curves)[2:])
    axes.set(xlabel="episode", ylabel="mean return")
    axes.grid(alpha=0.3)
    axes.legend()


def _run_rewards(case: rewards.RewardCase, ways: Sequence[str], seeds: int, effort: Effort) -> Points:
    """Train; each training is stored as it ends, so that an interrupted run continues."""
    if effort.length is not None:
        case = replace(case, episodes=round(rewards.PAPER * effort.length))
    runs = Runs(rewards.Reward, effort.folder / "marl", effort.progress)
    return {"rows": [asdict(each) for each in rewards.train_ways(case, ways, effort.seed_count(seeds), runs)]}


def _of_rewards(title: str, points: Points) -> Section:
    heads = ("way", "rows", "worth", "end return", "against uniform", "it is")
    made = [rewards.Reward(**row) for row in points["rows"]]
    episodes, seeds = made[0].episodes, len({each.seed for each in made})
    title += f": {episodes} episodes ({episodes / rewards.PAPER:.1%} of the paper's), {seeds} seeds"
    rows = [dict(zip(heads, line, strict=True)) for line in rewards.summarise_ways(made)]
    tables = {"rows": tabulate_rows(title, {head: f"{{{head}}}" for head in heads}, rows)}
    if episodes == rewards.PAPER:
        others = [way for way in dict.fromkeys(each.way for each in made) if way != "uniform"]
        tables["lengths"] = FigureTable(
            "by episodes", ["episodes", "uniform", *others], [*rewards.by_length(made)]
        )
        tables["reached"] = FigureTable(
            "episodes to the same return",
            ["episodes of uniform", "its return", *others],
            [*rewards.episodes_to_return(made)],
        )
    return Section(tables)
