"""iSwitch figures 13 and 14: rewards over time, and the iterations to the same reward."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from olafctl import plotting
from olaflab.papers.curves import thinned
from olaflab.papers.figure import Effort, Points, Section, Table, verdicts
from olaflab.papers.iswitch import learning, predicted
from olaflab.papers.iswitch.predicted import ASYNCHRONOUS, SYNCHRONOUS
from olaflab.papers.iswitch.published import WORKLOADS
from olaflab.papers.iswitch.synchronous import fit

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

SEEDS = 4
"""On MuJoCo; three times as many of the others."""
_ENOUGH = 5
"""Seeds for a statement."""


def run(effort: Effort) -> Points:
    """Train in every way, and the time of an iteration of the same workload."""
    fitted, _ = fit()
    found = learning.measure(fitted, effort.number(SEEDS), effort.folder, effort.progress)
    effort.progress("times of iterations")
    return {
        "learnt": found,
        "ms": {
            name: {
                way: predicted.period(approach, _workload(name), fitted).whole
                for approach, way in (SYNCHRONOUS | ASYNCHRONOUS).items()
            }
            for name in found["learners"]
        },
    }


def _workload(name: str) -> Any:
    return next(each for each in WORKLOADS if each.name == name)


def section(data: Points) -> Section:
    """Iterations of every way."""
    found = data["learnt"]
    rows = [
        [
            name,
            f"{learner['goal']:g}",
            way,
            str(each["each"]),
            f"{each['staleness']:.2f}",
            _estimate(each["iterations"]),
            _estimate([None if count is None else count * each["each"] for count in each["iterations"]]),
            f"{sum(count is not None for count in each['iterations'])} of {learner['seeds']}",
        ]
        for name, learner in found["learners"].items()
        for way, each in learner["ways"].items()
    ]
    heads = (
        "algorithm",
        "goal",
        "training",
        "gradients an iteration",
        "mean staleness",
        "iterations",
        "gradients",
        "reached",
    )
    title = "Iterations until the mean return is the goal: means ± 95 %"
    return Section(
        {"iterations": Table(title, heads, rows), "ends": _ends(data)},
        verdicts(dict(_statements(found["learners"]))),
    )


def _ends(data: Points) -> Table:
    """Iterations, and the time that they take at the workload's own pace."""
    rows = []
    for name, ms in data["ms"].items():
        ways = data["learnt"]["learners"][name]["ways"]
        for approach, each in ms.items():
            way = approach if approach in ASYNCHRONOUS.values() else "synchronous"
            known = learning.mean(ways[way]["iterations"])
            time = "–" if known is None else f"{known[0] * each / 1000:.1f} ± {known[1] * each / 1000:.1f}"
            rows.append([name, approach, f"{each:.2f}", time])
    heads = ("algorithm", "approach", "ms an iteration (a)", "s to the goal")
    return Table("The same trainings, each iteration at the time of the paper's workload", heads, rows)


def _estimate(counts: list[int | None]) -> str:
    known = learning.mean(counts)
    return "–" if known is None else f"{known[0]:.0f} ± {known[1]:.0f}"


def _statements(learners: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Of learners with seeds enough for one."""
    for name, learner in learners.items():
        if learner["seeds"] < _ENOUGH:
            continue
        ways = {way: each["iterations"] for way, each in learner["ways"].items()}
        server, switch, same = (learning.mean(ways[way]) for way in ("Async PS", "Async iSW", "synchronous"))
        fewer = sum(
            one is not None and (other is None or one < other)
            for one, other in zip(ways["Async iSW"], ways["Async PS"], strict=True)
        )
        less = ""
        if server is not None and switch is not None:
            less = f" by {100 * (1 - switch[0] / server[0]):.0f} % (paper 44–78 %),"
        yield (
            f"{name}: Async iSW needs fewer iterations than Async PS,{less} "
            f"in {fewer} of {learner['seeds']} seeds",
            fewer == learner["seeds"],
        )
        if same is not None and switch is not None:
            yield (
                f"{name}: Async iSW's iterations and synchronous ones cannot be told apart",
                abs(switch[0] - same[0]) < switch[1] + same[1],
            )


def draw(data: Points, figure: "Drawing") -> None:
    """Mean rewards over time, synchronous and asynchronous."""
    found = data["learnt"]
    rows: Any = figure.subplots(2, len(found["learners"]), sharex="col", sharey="col", squeeze=False)
    for column, (name, learner) in enumerate(found["learners"].items()):
        for axes, approaches in zip(rows[:, column], (SYNCHRONOUS, ASYNCHRONOUS), strict=True):
            for number, approach in enumerate(approaches.values()):
                way = approach if approach in ASYNCHRONOUS.values() else "synchronous"
                curve = _mean_curve(learner["ways"][way]["curves"])
                times = learner["every"] * np.arange(1, len(curve) + 1) * data["ms"][name][approach] / 1000
                kept = thinned(len(curve))
                axes.plot(
                    times[kept],
                    curve[kept],
                    plotting.LINES[number],
                    color=plotting.COLOURS[number],
                    label=approach,
                )
            axes.axhline(learner["goal"], color="grey", lw=0.8)
            axes.grid(alpha=0.3)
        rows[0, column].set(title=f"{name}, goal {learner['goal']:g}")
        rows[1, column].set(xlabel="s at the paper's pace")
    rows[0, 0].legend(loc="lower right")
    rows[1, 0].legend(loc="lower right")
    rows[0, 0].set_ylabel("figure 13: synchronous, mean return")
    rows[1, 0].set_ylabel("figure 14: asynchronous, mean return")


def _mean_curve(curves: list[list[float]]) -> Any:
    """Mean over seeds, from where each has a return; a training that has ended stays where it was."""
    longest = max(map(len, curves))
    known = np.array([curve + curve[-1:] * (longest - len(curve)) for curve in curves])
    known[np.cumsum(known != 0, axis=1) == 0] = np.nan  # 0 before the first mean
    return known.mean(0)
