"""Figures 6, 11 and 13: rewards of trainings with intervals, and differences seed by seed."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import ttest_rel

from olaflab import pictures
from olaflab.papers.curves import draw_ends, half_intervals, plot_mean, read_table
from olaflab.papers.figure import FigureTable, Points, Section
from olaflab.papers.stellaris.compare import SHARED, Curve, Curves, find_differences
from olaflab.papers.stellaris.rules import EQUAL, PPO, STELLARIS
from olaflab.papers.stellaris.timeline import Timed
from olaflab.papers.summary import Summary, estimate_mean, unpack_section

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
    """Compare rules with each other; with Stellaris among them also by the differences to it."""
    rows = [_make_row(rule, curves) for rule, curves in made.items() if rule not in SHARED.values()]
    known = STELLARIS in made
    tables = [_make_table(made, by, about) for by, about in _WAYS.items()] if known else []
    verdicts = {
        f"{STELLARIS} reaches more reward than {each.other}, by {each.difference}": each.difference.verdict
        for each in (find_differences(made, STELLARIS, "rounds") if known else ())
    }
    return Summary(title, settings, HEADS, rows, verdicts, _COLUMNS, _list_points(made), tables)


def of_settings(made: Curves, settings: dict[str, Any]) -> Summary:
    """Compare Stellaris' d, v and ρ: each setting's reward and cost, and the difference to the paper's
    choice."""
    base = {curve.run.seed: curve for curve in made[STELLARIS]}
    rows: list[Sequence[Any]] = []
    statements: dict[str, str] = {}
    for name, curves in made.items():
        pairs = [(curve, base[curve.run.seed]) for curve in curves if curve.run.seed in base]
        away = estimate_mean(
            np.array([base.run.final_reward() - own.run.final_reward() for own, base in pairs])
        )
        reward = estimate_mean(np.array([curve.run.final_reward() for curve in curves]))
        word = "" if name == STELLARIS else away.word
        rows.append(
            (name, reward, away if word else "", word, _mean_time(curves, lambda t: sum(t.steps)),
             _mean_time(curves, lambda t: t.ends[-1]), _mean_time(curves, lambda t: t.report.invoked))
        )  # fmt: skip
        if word:
            statements[f"the paper's setting reaches more reward than {name}, by {away}"] = away.verdict
    heads = ("setting", "reward", "the paper's minus it", "it is", "steps", "seconds", "$ invoked")
    title = "Figure 13: d, v and ρ; means ± 95 %"
    return Summary(title, settings, heads, rows, statements, _COLUMNS, _list_points(made))


def _list_points(made: Curves) -> list[Sequence[Any]]:
    return [
        (name, curve.run.seed, number, round(reward, 2), sum(curve.times.steps[:number]), round(end, 4))
        for name, curves in made.items()
        for curve in curves
        for number, (reward, end) in enumerate(zip(curve.run.rewards, curve.times.ends, strict=True), 1)
    ]


def _make_row(rule: str, curves: Sequence[Curve]) -> Sequence[Any]:
    rewards = np.array([curve.run.final_reward() for curve in curves])
    spread = float(rewards.std(ddof=1)) if len(rewards) > 1 else float("nan")
    return (
        rule, estimate_mean(rewards), round(spread, 1), _mean_time(curves, lambda t: sum(t.steps)),
        round(float(np.mean([curve.run.staleness for curve in curves])), 2),
        f"{np.mean([curve.run.small for curve in curves]):.1%}",
        _mean_time(curves, lambda t: t.ends[-1]), _mean_time(curves, lambda t: t.report.reserved),
        _mean_time(curves, lambda t: t.report.invoked), _mean_time(curves, lambda t: t.report.whole),
    )  # fmt: skip


def _mean_time(curves: Sequence[Curve], of: Callable[[Timed], float]) -> float:
    return float(f"{np.mean([of(curve.times) for curve in curves]):.4g}")


def _make_table(made: Curves, by: str, about: str) -> FigureTable:
    rows = [
        [each.other, f"{each.rounds:.1f}", f"{each.others:.1f}", f"{each.reward:.1f}", str(each.difference),
         each.difference.word]
        for each in find_differences(made, STELLARIS, by)
    ]  # fmt: skip
    heads = (
        "against",
        "Stellaris' rounds",
        "its rounds",
        "its reward",
        "Stellaris minus it",
        "Stellaris has",
    )
    return FigureTable(f"After {about}", heads, rows)


def correct_for_number(points: Points) -> Section:
    """Return the packed section with the p of each difference from Stellaris, corrected after Holm.

    A final reward is the mean of the last three rounds, and differences are taken seed by seed.
    """
    found, columns = unpack_section(points), points["columns"]
    names = [name for name in dict.fromkeys(columns["rule"].tolist()) if name not in SHARED.values()]
    ends = {name: read_table(columns, "reward", {"rule": name})[:, -3:].mean(axis=1) for name in names}
    ours = ends.pop(STELLARIS)
    each = {name: float(ttest_rel(ours, other).pvalue) for name, other in ends.items()}
    least, rows = 0.0, []
    for number, (name, p) in enumerate(sorted(each.items(), key=lambda pair: pair[1])):
        least = max(least, min(1.0, (len(each) - number) * p))
        rows.append([name, str(estimate_mean(ours - ends[name])), f"{p:.3f}", f"{least:.3f}"])
    title = f"p of {len(each)} differences from {STELLARIS} (paired t-test), and after Holm's correction"
    holm = FigureTable(title, ("against", f"{STELLARIS} minus it", "p", "after Holm"), rows)
    return Section({**found.tables, "holm": holm}, found.verdicts)


def draw_rewards(points: Points, drawing: "Drawing") -> None:
    """Draw rewards by round, and by virtual time."""
    by_round, by_time = drawing.subplots(2, 1, sharey=True)
    columns = points["columns"]
    names = list(dict.fromkeys(columns["rule"].tolist()))
    looks = pictures.assign_styles(names)
    for rule in names:
        rewards, ends = (read_table(columns, name, {"rule": rule}) for name in ("reward", "seconds"))
        plot_mean(by_time, ends.mean(axis=0), rewards, rule, looks[rule])
        if rule not in SHARED.values():
            half = half_intervals(rewards) if rule in (STELLARIS, EQUAL, PPO) else None
            plot_mean(by_round, np.arange(1, rewards.shape[1] + 1), rewards, rule, looks[rule], half)
    by_round.set(xlabel="round")
    by_time.set(xlabel="virtual seconds")
    for axes in (by_round, by_time):
        axes.set_ylabel("mean return")
        axes.grid(alpha=0.3)
    pictures.add_legend(drawing, by_time, columns=2)


def draw_settings(points: Points, drawing: "Drawing") -> None:
    """Draw each setting's reward beside the paper's choice."""
    columns, ours = points["columns"], "the paper's"
    found = {
        name.replace(STELLARIS, ours): read_table(columns, "reward", {"rule": name})[:, -3:].mean(1)
        for name in dict.fromkeys(columns["rule"].tolist())
    }
    draw_ends(drawing, found, ours, "mean return of the last three rounds, 95 %")
