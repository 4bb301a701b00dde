"""Learning curves: every point of each run, and the pictures that are drawn of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olaflab import pictures
from olaflab.papers.figure import Draw, Points
from olaflab.papers.summary import estimate_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from olaflab.papers.runs import Trained

COLUMNS = ("curve", "seed", "update", "mean_reward", "seconds")
_SMOOTH = 10
"""Updates over which the drawn curves are averaged; the points are not."""
_DRAWN = 100
"""Points of a drawn curve, at most: more cannot be seen."""


def list_points(curves: "Mapping[str, Sequence[Trained]]") -> Iterator[tuple[Any, ...]]:
    """Yield every update of every run, in COLUMNS."""
    for curve, runs in curves.items():
        for seed, run in enumerate(runs, 1):
            for update, (reward, time) in enumerate(zip(run.rewards, run.seconds, strict=True), 1):
                yield curve, seed, update, f"{reward:.3f}", f"{time:.4f}"


def draw_curves(
    title: str,
    by: str = "curve",
    only: Mapping[str, str] | None = None,
    unit: str = "update of each worker",
) -> Draw:
    """Return what draws means over seeds with a standard deviation, over updates and virtual time.

    ``by`` is the column that tells curves apart; ``only`` is the value that others must have.
    """

    def draw(points: Points, drawing: "Drawing") -> None:
        by_update, by_time = drawing.subplots(2, 1, sharey=True)
        found = list(_iterate_curves(points["columns"], by, only or {}))
        looks = pictures.assign_styles(curve for curve, _, _ in found)
        for curve, rewards, seconds in found:
            table, times = smooth_table(rewards), smooth_table(seconds).mean(axis=0)
            shown = thin_places(table.shape[1])
            for axes, along in ((by_update, np.arange(1, table.shape[1] + 1)), (by_time, times)):
                plot_mean(axes, along[shown], table[:, shown], curve, looks[curve], table.std(axis=0)[shown])
        by_update.set(xlabel=unit, title=title)
        by_time.set(xlabel="virtual time, s")
        pictures.add_legend(drawing, by_update, columns=2)
        for axes in (by_update, by_time):
            axes.set_ylabel("mean episode reward")
            axes.grid(alpha=0.3)

    return draw


def plot_mean(
    axes: Any,
    along: Any,
    table: NDArray[np.float64],
    name: str,
    look: Mapping[str, Any],
    half: NDArray[np.float64] | None = None,
) -> None:
    """Plot the mean of (seeds, points), in a band of ``half`` on either side."""
    mean = table.mean(axis=0)
    axes.plot(along, mean, label=name, **look)
    if half is not None:
        axes.fill_between(along, mean - half, mean + half, color=look["color"], alpha=0.13, linewidth=0)


def half_intervals(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return half of each point's 95 % interval of (seeds, points); 0 for one seed."""
    return np.nan_to_num([estimate_mean(column).interval for column in table.T])


def draw_ends(drawing: "Drawing", found: Mapping[str, NDArray[np.float64]], ours: str, label: str) -> None:
    """Draw each way's mean over seeds with its 95 % interval, and every seed; ``ours`` strong."""
    axes = drawing.subplots(1, 1)
    for place, (name, values) in enumerate(found.items()):
        mean, colour = estimate_mean(values), pictures.SUBJECT if name == ours else pictures.GREYS[0]
        axes.errorbar([mean.mean], [place], xerr=[mean.interval], fmt="o", color=colour, capsize=4)
        axes.plot(values, [place] * len(values), "x", color="black", ms=4)
    axes.set_yticks(range(len(found)), list(found))
    axes.invert_yaxis()
    axes.set(xlabel=label)
    axes.grid(alpha=0.3, axis="x")


def thin_places(count: int, most: int = _DRAWN) -> NDArray[np.int64]:
    """Return the places of at most ``most`` of ``count`` points, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def _iterate_curves(
    columns: Mapping[str, Any], by: str, only: Mapping[str, str]
) -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    """Yield each curve with its rewards and seconds, (seeds, updates) both."""
    kept = np.all([columns[name] == value for name, value in only.items()], axis=0) if only else slice(None)
    for curve in dict.fromkeys(columns[by][kept].tolist()):
        its = {**only, by: curve}
        yield curve, read_table(columns, "mean_reward", its), read_table(columns, "seconds", its)


def read_table(columns: Mapping[str, Any], name: str, only: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return (seeds, points) a column's values where others have these."""
    its = np.all([columns[other] == value for other, value in only.items()], axis=0)
    seeds = len(np.unique(columns["seed"][its]))
    return np.asarray(columns[name][its], np.float64).reshape(seeds, -1)


def smooth_table(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average each point with those before it, ten at most; the shape stays."""
    total = np.cumsum(np.pad(table, ((0, 0), (1, 0))), axis=1)
    ends = np.arange(1, table.shape[1] + 1)
    begins = np.maximum(ends - _SMOOTH, 0)
    return np.asarray((total[:, ends] - total[:, begins]) / (ends - begins))
