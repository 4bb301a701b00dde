"""Figures 6, 11 and 13: rewards of trainings with intervals, and differences seed by seed."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olafctl import plotting
from olaflab import pictures
from olaflab.papers.curves import ends
from olaflab.papers.figure import Points, Table
from olaflab.papers.stellaris.compare import (
    SHARED,
    Curve,
    Curves,
    contradicted,
    differences,
    shown,
    verdict,
)
from olaflab.papers.stellaris.rules import EQUAL, PPO, STELLARIS
from olaflab.papers.stellaris.timeline import Timed
from olaflab.papers.summary import Summary, estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

HEADS = ("rule", "reward", "spread", "steps", "staleness", "weights < 0.1", "seconds",
         "$ reserved", "$ invoked", "$ with cold and keep-alive")  # fmt: skip
_COLUMNS = ("rule", "seed", "round", "reward", "steps", "seconds")
_WAYS = {
    "rounds": "as many rounds: all rules have learnt from the same number of rows",
    "half": "half of the rounds: while they still learn fast",
    "steps": "as many optimiser steps: rounds until both have made them",
    "seconds": "as long: rounds that end within the same virtual time",
}


def of_rules(title: str, made: Curves, settings: dict[str, Any]) -> Summary:
    """Rules against each other; with Stellaris among them also the differences to it."""
    rows = [_row(rule, curves) for rule, curves in made.items() if rule not in SHARED.values()]
    known = STELLARIS in made
    tables = [_table(made, by, about) for by, about in _WAYS.items()] if known else []
    verdicts = {
        f"{STELLARIS} reaches more reward than {each.other}, by {each.difference}": each.verdict
        for each in (differences(made, STELLARIS, "rounds") if known else ())
    }
    return Summary(title, settings, HEADS, rows, shown(verdicts), _COLUMNS, _points(made),
                  tables, contradicted(verdicts))  # fmt: skip


def of_settings(made: Curves, settings: dict[str, Any]) -> Summary:
    """Stellaris' d, v and ρ: each setting's reward and cost, and the difference to the paper's choice."""
    base = {curve.run.seed: curve for curve in made[STELLARIS]}
    rows: list[Sequence[Any]] = []
    statements: dict[str, str] = {}
    for name, curves in made.items():
        pairs = [(curve, base[curve.run.seed]) for curve in curves if curve.run.seed in base]
        away = estimate(np.array([base.run.reward() - own.run.reward() for own, base in pairs]))
        reward = estimate(np.array([curve.run.reward() for curve in curves]))
        word = "" if name == STELLARIS else verdict(away)
        rows.append(
            (name, reward, away if word else "", word, _mean(curves, lambda t: sum(t.steps)),
             _mean(curves, lambda t: t.ends[-1]), _mean(curves, lambda t: t.report.invoked))
        )  # fmt: skip
        if word:
            statements[f"the paper's setting reaches more reward than {name}, by {away}"] = word
    heads = ("setting", "reward", "the paper's minus it", "it is", "steps", "seconds", "$ invoked")
    title = "Figure 13: d, v and ρ; means ± 95 %"
    return Summary(title, settings, heads, rows, shown(statements), _COLUMNS,
                  _points(made), (), contradicted(statements))  # fmt: skip


def _points(made: Curves) -> list[Sequence[Any]]:
    return [
        (name, curve.run.seed, number, round(reward, 2), sum(curve.times.steps[:number]), round(end, 4))
        for name, curves in made.items()
        for curve in curves
        for number, (reward, end) in enumerate(zip(curve.run.rewards, curve.times.ends, strict=True), 1)
    ]


def _row(rule: str, curves: Sequence[Curve]) -> Sequence[Any]:
    rewards = np.array([curve.run.reward() for curve in curves])
    spread = float(rewards.std(ddof=1)) if len(rewards) > 1 else float("nan")
    return (
        rule, estimate(rewards), round(spread, 1), _mean(curves, lambda t: sum(t.steps)),
        round(float(np.mean([curve.run.staleness for curve in curves])), 2),
        f"{np.mean([curve.run.small for curve in curves]):.1%}",
        _mean(curves, lambda t: t.ends[-1]), _mean(curves, lambda t: t.report.reserved),
        _mean(curves, lambda t: t.report.invoked), _mean(curves, lambda t: t.report.whole),
    )  # fmt: skip


def _mean(curves: Sequence[Curve], of: Callable[[Timed], float]) -> float:
    return float(f"{np.mean([of(curve.times) for curve in curves]):.4g}")


def _table(made: Curves, by: str, about: str) -> Table:
    rows = [
        [each.other, f"{each.rounds:.1f}", f"{each.others:.1f}", f"{each.reward:.1f}", str(each.difference),
         each.verdict]
        for each in differences(made, STELLARIS, by)
    ]  # fmt: skip
    heads = (
        "against",
        "Stellaris' rounds",
        "its rounds",
        "its reward",
        "Stellaris minus it",
        "Stellaris has",
    )
    return Table(f"After {about}", heads, rows)


def draw(points: Points, drawing: "Drawing") -> None:
    """Rewards by round, and by virtual time."""
    left, right = drawing.subplots(1, 2, sharey=True)
    columns = points["columns"]
    for number, rule in enumerate(dict.fromkeys(columns["rule"].tolist())):
        colour, line = plotting.COLOURS[number % 7], plotting.LINES[number % 4]
        rewards, ends = (_by_seed(columns, rule, name) for name in ("reward", "seconds"))
        mean, rounds = rewards.mean(0), np.arange(1, rewards.shape[1] + 1)
        right.plot(ends.mean(0), mean, line, color=colour, label=rule)
        if rule in SHARED.values():
            continue
        left.plot(rounds, mean, line, color=colour, label=rule)
        if rule in (STELLARIS, EQUAL, PPO) and len(rewards) > 1:
            half = [estimate(column).interval for column in rewards.T]
            left.fill_between(rounds, mean - half, mean + half, color=colour, alpha=0.15, lw=0)
    left.set(xlabel="round", ylabel="mean return")
    right.set(xlabel="virtual seconds")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    pictures.legend(drawing, right)


def draw_settings(points: Points, drawing: "Drawing") -> None:
    """Each setting's reward beside the paper's choice."""
    columns, ours = points["columns"], "the paper's"
    found = {
        name.replace(STELLARIS, ours): _by_seed(columns, name, "reward")[:, -3:].mean(1)
        for name in dict.fromkeys(columns["rule"].tolist())
    }
    ends(drawing, found, ours, "mean return of the last three rounds, 95 %")


def _by_seed(columns: dict[str, Any], rule: str, name: str) -> NDArray[np.float64]:
    """(seeds, rounds)"""
    its = columns["rule"] == rule
    seeds = len(np.unique(columns["seed"][its]))
    return np.asarray(columns[name][its], np.float64).reshape(seeds, -1)
