"""iSwitch figures 13 and 14: rewards over time, and the iterations to the same reward."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from olaflab import pictures
from olaflab.papers.curves import thin_places
from olaflab.papers.figure import HOLDS, NOT_SHOWN, Effort, FigureTable, Points, Section, tabulate_pairs
from olaflab.papers.iswitch import learning, predicted
from olaflab.papers.iswitch.predicted import ASYNCHRONOUS, SYNCHRONOUS
from olaflab.papers.iswitch.published import WORKLOADS
from olaflab.papers.iswitch.synchronous import fit
from olaflab.papers.summary import compare_seeds

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

SEEDS = 4
"""On MuJoCo; three times as many of the others."""
_ENOUGH = 5
"""Seeds for a statement."""


def run_learning(effort: Effort) -> Points:
    """Train in every way, and the time of an iteration of the same workload."""
    fitted, _ = fit()
    found = learning.measure_learning(fitted, effort.seed_count(SEEDS), effort.folder, effort.progress)
    effort.progress("times of iterations")
    return {
        "learnt": found,
        "ms": {
            name: {
                way: predicted.predict_period(approach, _find_workload(name), fitted).whole
                for approach, way in (SYNCHRONOUS | ASYNCHRONOUS).items()
            }
            for name in found["learners"]
        },
    }


def _find_workload(name: str) -> Any:
    return next(each for each in WORKLOADS if each.name == name)


def show_learning(data: Points) -> Section:
    """Show the iterations of every way."""
    found = data["learnt"]["learners"]

    def list_cells(name: str, way: str, each: dict[str, Any]) -> Iterator[tuple[str, str]]:
        counts = each["iterations"]
        yield from (("algorithm", name), ("goal", f"{found[name]['goal']:g}"), ("training", way))
        yield "gradients an iteration", str(each["each"])
        yield "mean staleness", f"{each['staleness']:.2f}"
        yield "iterations", _format_estimate(counts)
        yield "gradients", _format_estimate([count and count * each["each"] for count in counts])
        yield "reached", f"{sum(count is not None for count in counts)} of {found[name]['seeds']}"

    ways = ((name, *pair) for name, learner in found.items() for pair in learner["ways"].items())
    table = tabulate_pairs(
        "Iterations until the mean return is the goal: means ± 95 %", (list_cells(*each) for each in ways)
    )
    return Section({"iterations": table, "ends": _show_ends(data)}, dict(_judge_differences(found)))


def _show_ends(data: Points) -> FigureTable:
    """Show iterations, and the time that they take at the workload's own pace."""
    rows = []
    for name, ms in data["ms"].items():
        ways = data["learnt"]["learners"][name]["ways"]
        for approach, each in ms.items():
            way = approach if approach in ASYNCHRONOUS.values() else "synchronous"
            known = learning.mean_with_interval(ways[way]["iterations"])
            time = "–" if known is None else f"{known[0] * each / 1000:.1f} ± {known[1] * each / 1000:.1f}"
            rows.append([name, approach, f"{each:.2f}", time])
    heads = ("algorithm", "approach", "ms an iteration (a)", "s to the goal")
    return FigureTable("The same trainings, each iteration at the time of the paper's workload", heads, rows)


def _format_estimate(counts: list[int | None]) -> str:
    known = learning.mean_with_interval(counts)
    return "–" if known is None else f"{known[0]:.0f} ± {known[1]:.0f}"


def _judge_differences(learners: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Judge the differences in iterations, seed by seed, of learners with seeds enough."""
    for name, learner in learners.items():
        every = [learner["ways"][way]["iterations"] for way in ("Async PS", "Async iSW", "synchronous")]
        if learner["seeds"] < _ENOUGH or any(None in each for each in every):
            continue
        server, switch, same = np.array(every, float)
        less = f"{100 * (1 - switch.mean() / server.mean()):.0f} % (paper 44–78 %)"
        claim = f"{name}: Async iSW needs {less} fewer iterations than Async PS"
        yield compare_seeds(claim, server, switch, digits=0)
        claim = f"{name}: Async iSW needs other iterations than synchronous training"
        text, verdict = compare_seeds(claim, switch, same, digits=0)
        yield text, verdict if verdict == NOT_SHOWN else HOLDS


def draw_learning(data: Points, figure: "Drawing") -> None:
    """Draw mean rewards over time, synchronous and asynchronous."""
    found = data["learnt"]
    rows: Any = figure.subplots(len(found["learners"]), 2, sharex="row", sharey="row", squeeze=False)
    for number, (name, learner) in enumerate(found["learners"].items()):
        for axes, approaches in zip(rows[number], (SYNCHRONOUS, ASYNCHRONOUS), strict=True):
            looks = pictures.assign_styles(approaches.values())
            for approach in approaches.values():
                way = approach if approach in ASYNCHRONOUS.values() else "synchronous"
                curve = _mean_curve(learner["ways"][way]["curves"])
                times = learner["every"] * np.arange(1, len(curve) + 1) * data["ms"][name][approach] / 1000
                kept = thin_places(len(curve))
                axes.plot(times[kept], curve[kept], label=approach, **looks[approach])
            axes.axhline(learner["goal"], color="grey", lw=0.8)
            axes.grid(alpha=0.3)
        rows[number, 0].set_ylabel(f"{name}, mean return")
    for axes, title in zip(rows[0], ("figure 13: synchronous", "figure 14: asynchronous"), strict=True):
        axes.set_title(title)
        axes.legend(loc="lower right")
    for axes in rows[-1]:
        axes.set_xlabel("s at the paper's pace")


def _mean_curve(curves: list[list[float]]) -> Any:
    """Average curves over seeds, from where each has a return; ended trainings stay where they were."""
    longest = max(map(len, curves))
    known = np.array([curve + curve[-1:] * (longest - len(curve)) for curve in curves])
    known[np.cumsum(known != 0, axis=1) == 0] = np.nan  # 0 before the first mean
    return known.mean(0)
