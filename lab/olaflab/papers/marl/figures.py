"""MARL's figures and table (MARL §III, §VI), measured on this machine and trained."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from olaflab import pictures
from olaflab.papers.curves import draw_ends
from olaflab.papers.figure import Cost, Effort, Figure, Points, Row, Section, Table, measured, tabulate
from olaflab.papers.marl import figure8, figure14, misses, profiles, rewards, trainings
from olaflab.papers.runs import Runs
from olaflab.papers.summary import estimate

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
_REWARDS: Mapping[str, tuple[str, rewards.Case, Sequence[str], int]] = {
    "fig10": (_NAVIGATION, rewards.Case("spread", 3, 1_000), rewards.IN_RUNS, 5),
    "fig10-whole": (_NAVIGATION, rewards.Case("spread", 3, rewards.PAPER), (*_DRAWN, "PER"), 5),
    "fig10-6": (_NAVIGATION, rewards.Case("spread", 6, 4_000), _DRAWN, 5),
    "fig10-12": (_NAVIGATION, rewards.Case("spread", 12, 1_000), _DRAWN, 5),
    "fig10-hunt": (_HUNT, rewards.Case("hunt", 3, 15_000), (*_DRAWN, "PER"), 5),
    "fig10-prey": (_LEARNING, rewards.Case("tag", 3, 1_000), rewards.IN_RUNS, 5),
    "fig11": (_NAVIGATION, rewards.Case("spread", 3, 1_000), rewards.BY_PRIORITY, 5),
    "fig11-prey": (_LEARNING, rewards.Case("tag", 3, 1_000), rewards.BY_PRIORITY, 5),
}
"""Title, game and usual length, ways to draw, and usual seeds."""
_PICTURED = ("fig10-whole", "fig10-hunt")


def _agents(row: Row) -> str:
    return f"{row['predators']}+{row['agents'] - row['predators']}"


def _share(part: str, row: Row) -> str:
    return f"{100 * row['parts'][part] / row['whole']:.1f} %"


def figures() -> Iterator[Figure]:
    """Return all of MARL's figures."""
    yield measured("fig2", "Figures 2 and 6: a round of MADDPG", lambda effort: profiles.profiles(
        _ALL, effort.number(_ROUNDS), _ROWS, effort.progress), {
        "agents": _agents, "rows kept as": "{stack}",
        "ms": lambda row: f"{1e3 * row['whole'] / row['rounds']:.1f}",
        **{part: partial(_share, part) for part in _PARTS},
    })  # fmt: skip
    yield measured("fig8", "Figure 8: a mini-batch of 1024 rows for one trainer",
                   lambda effort: figure8.costs(_ALL, effort.number(_DRAWS), 1.0, effort.progress), {
        "agents": _agents, "layout": "{layout}", "way": "{way}", "rows kept": "{rows}",
        "ms": lambda row: f"{1e3 * row['seconds']:.3f}",
    })  # fmt: skip
    yield measured("misses", "Last-level cache misses of ten mini-batches, 3+1 agents",
                   lambda effort: misses.misses(3, 1_000_000, 10, effort.progress), {
        "layout": "{layout}", "way": "{way}", "misses": "{misses}",
        "times the values": lambda row: f"{row['misses'] / row['compulsory']:.2f}",
    })  # fmt: skip
    yield measured("fig9", "Figure 9 and table 1: trainings from end to end", _trainings, {
        "workload": "{workload}", "agents": _agents, "rows kept as": "{stack}", "way": "{way}",
        "ms a round": lambda row: f"{1e3 * row['seconds'] / row['rounds']:.1f}",
        "playing": lambda row: f"{row['playing'] / row['seconds']:.1%}",
        "sampling": lambda row: f"{row['sampling'] / row['seconds']:.1%}",
    })  # fmt: skip
    yield measured("fig14", "Figure 14: a batch from one value a step", lambda effort: figure14.reorganised(
        _ALL[:4], effort.number(_DRAWS), _ROWS, effort.progress), {
        "agents": _agents, "rows": "{rows}", "lists, ms": lambda row: f"{1e3 * row['lists']:.2f}",
        "one array, times as fast": lambda row: f"{row['lists'] / row['looked_up']:.1f}",
        "reshaped": lambda row: f"{row['lists'] / (row['looked_up'] + row['reshaped']):.1f}",
        "turning, µs a step": lambda row: f"{1e6 * row['turned']:.0f}",
        "joint rows": lambda row: f"{row['lists'] / row['joint']:.1f}",
    })  # fmt: skip
    for name, (title, case, ways, seeds) in _REWARDS.items():
        title = title.format(case.agents)
        yield Figure(
            name, f"Figure {name[3:5]}: {title}", partial(_rewards, case, ways, seeds),
            partial(_of_rewards, title), _drawn if name in _PICTURED else None, Cost.TRAINING, (7, 3.6),
        )  # fmt: skip


def _trainings(effort: Effort) -> Iterator[Any]:
    loads = [trainings.Workload(*each) for each in product(_PREDATORS, _BOTH, _BOTH)]
    return trainings.trainings(loads, effort.number(_ROUNDS), _ROWS, effort.progress)


def _drawn(points: Points, drawing: "Drawing") -> None:
    made = [rewards.Reward(**row) for row in points["rows"]]
    if made[0].episodes == rewards.PAPER:
        _learnt(made, drawing)
        return
    found = {way: np.array([each.last for each in made if each.way == way]) for way in rewards.WAYS}
    made_ways = {way: found[way] for way in found if len(found[way])}
    draw_ends(drawing, made_ways, "n=16, ref=64", "mean return, last quarter")


def _learnt(made: Sequence[rewards.Reward], drawing: "Drawing") -> None:
    """Draw each way's curve with its 95 % interval, without the first parts, which would hide the others."""
    axes = drawing.subplots(1, 1)
    ways = list(dict.fromkeys(each.way for each in made))
    looks = pictures.styles(ways, re.compile("^n=16"))
    for way in ways:
        curves = np.array([each.curve for each in made if each.way == way])
        along = np.linspace(0, made[0].episodes, curves.shape[1] + 1)[1:]
        found = [estimate(part) for part in curves.T]
        mean, half = (np.array([getattr(each, name) for each in found]) for name in ("mean", "interval"))
        axes.plot(along[2:], mean[2:], label=way, **looks[way])
        colour = looks[way]["color"]
        axes.fill_between(along[2:], (mean - half)[2:], (mean + half)[2:], color=colour, alpha=0.12, lw=0)
    axes.set(xlabel="episode", ylabel="mean return")
    axes.grid(alpha=0.3)
    axes.legend()


def _rewards(case: rewards.Case, ways: Sequence[str], seeds: int, effort: Effort) -> Points:
    """Train; each training is stored as it ends, so that an interrupted run continues."""
    if effort.length is not None:
        case = replace(case, episodes=round(rewards.PAPER * effort.length))
    runs = Runs(rewards.Reward, effort.folder / "marl", effort.progress)
    return {"rows": [asdict(each) for each in rewards.rewards(case, ways, effort.number(seeds), runs)]}


def _of_rewards(title: str, points: Points) -> Section:
    heads = ("way", "rows", "worth", "end return", "against uniform", "it is")
    made = [rewards.Reward(**row) for row in points["rows"]]
    episodes, seeds = made[0].episodes, len({each.seed for each in made})
    title += f": {episodes} episodes ({episodes / rewards.PAPER:.1%} of the paper's), {seeds} seeds"
    rows = [dict(zip(heads, line, strict=True)) for line in rewards.summary(made)]
    tables = {"rows": tabulate(title, {head: f"{{{head}}}" for head in heads}, rows)}
    if episodes == rewards.PAPER:
        others = [way for way in dict.fromkeys(each.way for each in made) if way != "uniform"]
        tables["lengths"] = Table("by episodes", ["episodes", "uniform", *others], [*rewards.by_length(made)])
        tables["reached"] = Table(
            "episodes to the same return",
            ["episodes of uniform", "its return", *others],
            [*rewards.reached(made)],
        )
    return Section(tables)
