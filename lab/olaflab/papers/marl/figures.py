"""MARL's figures and table (MARL §III, §VI), measured on this machine and trained.

What measures is imported when it is run.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

from olaflab.papers.figure import Cost, Effort, Figure, Points, Section
from olaflab.papers.measured import Row, measured, table

_PARTS = ("sampling", "target Q", "losses and steps")
_PREDATORS, _ALL = (3, 6), (3, 6, 12, 24)
_ROUNDS, _ROWS, _DRAWS = 20, 50_000, 25
_GAMES, _EPISODES, _SEEDS = ("tag", "spread"), 1000, 5


def _agents(row: Row) -> str:
    return f"{row['predators']}+{row['agents'] - row['predators']}"


def _share(part: str, row: Row) -> str:
    return f"{100 * row['parts'][part] / row['whole']:.1f} %"


def figures() -> Iterator[Figure]:
    """All of them."""
    yield measured("fig2", "Figures 2 and 6: a round of MADDPG", _profiles, {
        "agents": _agents, "rows kept as": "{stack}",
        "ms": lambda row: f"{1e3 * row['whole'] / row['rounds']:.1f}",
        **{part: partial(_share, part) for part in _PARTS},
    })  # fmt: skip
    yield measured("fig8", "Figure 8: a mini-batch of 1024 rows for one trainer", _sampling, {
        "agents": _agents, "layout": "{layout}", "way": "{way}", "rows kept": "{rows}",
        "ms": lambda row: f"{1e3 * row['seconds']:.3f}",
    })  # fmt: skip
    yield measured("misses", "Last-level cache misses of ten mini-batches, 3+1 agents", _misses, {
        "layout": "{layout}", "way": "{way}", "misses": "{misses}",
        "times the values": lambda row: f"{row['misses'] / row['compulsory']:.2f}",
    })  # fmt: skip
    yield measured("fig9", "Figure 9 and table 1: trainings from end to end", _trainings, {
        "agents": _agents, "rows kept as": "{stack}", "way": "{way}",
        "ms a round": lambda row: f"{1e3 * row['seconds'] / row['rounds']:.1f}",
        "playing": lambda row: f"{row['playing'] / row['seconds']:.1%}",
        "sampling": lambda row: f"{row['sampling'] / row['seconds']:.1%}",
    })  # fmt: skip
    yield measured("fig14", "Figure 14: a batch from one value a step", _reorganised, {
        "agents": _agents, "rows": "{rows}", "lists, ms": lambda row: f"{1e3 * row['lists']:.2f}",
        "one array, times as fast": lambda row: f"{row['lists'] / row['looked_up']:.1f}",
        "reshaped": lambda row: f"{row['lists'] / (row['looked_up'] + row['reshaped']):.1f}",
        "turning, µs a step": lambda row: f"{1e6 * row['turned']:.0f}",
        "joint rows": lambda row: f"{row['lists'] / row['joint']:.1f}",
    })  # fmt: skip
    title = "Figures 10 and 11: rewards by way to draw"
    yield Figure("fig10", title, _rewards, _of_rewards, cost=Cost.TRAINING)


def _profiles(effort: Effort) -> Iterable[Any]:
    from olaflab.papers.marl import round

    return round.profiles(_PREDATORS, effort.number(_ROUNDS), _ROWS, effort.progress)


def _sampling(effort: Effort) -> Iterable[Any]:
    from olaflab.papers.marl import figure8

    return figure8.costs(_ALL, effort.number(_DRAWS), 1.0, effort.progress)


def _misses(effort: Effort) -> Iterable[Any]:
    from olaflab.papers.marl import misses

    return misses.misses(3, 1_000_000, 10, effort.progress)


def _trainings(effort: Effort) -> Iterable[Any]:
    from olaflab.papers.marl import trainings

    return trainings.trainings(_PREDATORS, effort.number(_ROUNDS), _ROWS, effort.progress)


def _reorganised(effort: Effort) -> Iterable[Any]:
    from olaflab.papers.marl import figure14

    return figure14.reorganised(_PREDATORS, effort.number(_DRAWS), _ROWS, effort.progress)


def _rewards(effort: Effort) -> Points:
    """Each training is added to a file as it ends, so that an interrupted run goes on."""
    from olaflab.papers.marl import rewards

    effort.folder.mkdir(parents=True, exist_ok=True)
    path, seeds = effort.folder / "marl-rewards.csv", effort.number(_SEEDS)
    made = rewards.read(path)
    for each in rewards.rewards(
        _GAMES, 3, _EPISODES, seeds, tuple(rewards.WAYS), effort.progress, list(made)
    ):
        rewards.append(path, each)
        made.append(each)
    return {"rows": [asdict(each) for each in made if each.episodes == _EPISODES and each.seed <= seeds]}


def _of_rewards(points: Points) -> Section:
    from olaflab.papers.marl import rewards

    heads = ("way", "rows", "worth", "end return", "against uniform", "its interval")
    tables = {}
    for game in _GAMES:
        own = [rewards.Reward(**row) for row in points["rows"] if row["game"] == game]
        rows = [dict(zip(heads, line, strict=True)) for line in rewards.summary(own)]
        seeds = len({each.seed for each in own})
        columns = {head: f"{{{head}}}" for head in heads}
        tables[game] = table(f"{game}: {_EPISODES} episodes, {seeds} seeds", columns, rows)
    return Section(tables)
