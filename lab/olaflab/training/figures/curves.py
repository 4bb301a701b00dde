"""Learning curves: every point for a CSV, and the picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olafctl import plotting
from olaflab import pictures
from olaflab.training.figures.lab import Run
from olaflab.training.figures.runs import rewards

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

COLUMNS = ("curve", "seed", "update", "mean_reward", "seconds")
_SMOOTH = 10
"""Updates over which the drawn curves are averaged; the points are not."""

Curves = Mapping[str, list[Run]]
"""By name; a run a seed."""


def points(curves: Curves) -> Iterator[tuple[Any, ...]]:
    """Every update of every run, as COLUMNS says."""
    for curve, runs in curves.items():
        for seed, run in enumerate(runs, 1):
            for update, (reward, time) in enumerate(zip(run.rewards, run.seconds, strict=True), 1):
                yield curve, seed, update, f"{reward:.3f}", f"{time:.4f}"


def drawn(curves: Curves, title: str) -> Callable[[Drawing], None]:
    """Draws the mean over seeds, one standard deviation to each side, over updates and virtual time."""

    def draw(drawing: Drawing) -> None:
        by_update, by_time = drawing.subplots(1, 2, sharey=True)
        for number, (curve, runs) in enumerate(curves.items()):
            table = _smooth(rewards(runs))
            mean, spread = table.mean(axis=0), table.std(axis=0)
            times = _smooth(np.array([run.seconds for run in runs])).mean(axis=0)
            colour = plotting.COLOURS[number % len(plotting.COLOURS)]
            style = plotting.LINES[number % len(plotting.LINES)]
            for axes, along in ((by_update, np.arange(1, len(mean) + 1)), (by_time, times)):
                axes.plot(along, mean, style, color=colour, label=curve)
                axes.fill_between(along, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
        by_update.set(xlabel="update of each worker", ylabel="mean episode reward", title=title)
        by_time.set(xlabel="virtual time, s")
        pictures.legend(drawing, by_update, columns=3)
        for axes in (by_update, by_time):
            axes.grid(alpha=0.3)

    return draw


def _smooth(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of each point and those before it, at most ``_SMOOTH``; shape kept."""
    total = np.cumsum(np.pad(table, ((0, 0), (1, 0))), axis=1)
    ends = np.arange(1, table.shape[1] + 1)
    begins = np.maximum(ends - _SMOOTH, 0)
    return np.asarray((total[:, ends] - total[:, begins]) / (ends - begins))
