"""ARTOS' figures 4, 6 and 15a from blocks that were carried over links."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from olaflab import pictures
from olaflab.papers.artos import ways
from olaflab.papers.artos.model import ModelCosts
from olaflab.papers.artos.over_link import Carried
from olaflab.papers.artos.tables import MEASURED, ModelLine
from olaflab.papers.figure import Points

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_ACTORS = 16
_PAPER = {
    (ways.OLAF, False): 1.2095,
    (ways.OLAF, True): 1.0763,
    (ways.STORE, False): 1.0763 * 4.7361,
}
"""Times Ray's; what the paper calls Lambda is given in times ARTOS."""


def compare_transfers(carried: Sequence[Carried]) -> Iterator[ModelLine]:
    """Compare transfers of 16 blocks with the paper's; yield nothing without them, or without Ray.

    Playing and learning are the cost model's.
    """
    found = {(each.way, each.beside): each.seconds for each in carried if each.blocks == _ACTORS}
    if (ways.RAY, False) not in found:
        return
    ray, store = found[ways.RAY, False], found[ways.STORE, False]
    apart, beside = found[ways.OLAF, False], found[ways.OLAF, True]
    rows = (
        ("figure 4", "Ray, transfer of 32 actors × 512 steps", 49.97, _transfer_share(ray, 32, 1)),
        ("figure 4b", "Ray, transfer of 16 actors × 1024 steps", 34.67, _transfer_share(ray, 16, 2)),
        ("figure 6", "Redis, transfer of 32 actors × 512 steps", 78.65, _transfer_share(store, 32, 1)),
        ("figure 6", "Redis, more than Ray", 382.09, 100 * (store / ray - 1)),
        ("figure 15a", "pipelining, of the transfer", -11.76, 100 * (beside / apart - 1)),
        ("figure 15a", "ARTOS without pipelining, behind Ray", 20.95, 100 * (apart / ray - 1)),
        ("figure 15a", "ARTOS, behind Ray", 7.63, 100 * (beside / ray - 1)),
        ("figure 15a", "Redis, more than without pipelining", 297.99, 100 * (store / apart - 1)),
        ("figure 15a", "Redis, more than ARTOS", 373.61, 100 * (store / beside - 1)),
    )
    for where, what, paper, here in rows:
        yield ModelLine(where, what, "%", paper, here, MEASURED)


def _transfer_share(seconds: float, actors: int, long: int) -> float:
    """Return the percentage of an iteration that blocks of ``long`` times 512 steps take to transfer."""
    costs = ModelCosts(transfer=seconds / _ACTORS)
    return 100 * actors * costs.transfer * long / (long * costs.ray_iteration(actors))


def draw_transfers(points: Points, drawing: "Drawing") -> None:
    """Draw times as ratios to Ray's of 16 blocks, with intervals, and the paper's."""
    rows = [row for row in points["rows"] if "way" in row and row["blocks"] == _ACTORS and row["to_ray"]]
    shown = rows[::-1]
    axes: Any = drawing.subplots()
    for place, each in enumerate(shown):
        colour = pictures.SUBJECT if each["way"] == ways.OLAF else pictures.GREYS[3]
        times = each["to_ray"]
        axes.barh(place, times["mean"], xerr=times["interval"], color=colour, height=0.6)
        axes.text(0.05, place, f"{times['mean']:.2f}", va="center", color="white")
        paper = _PAPER.get((each["way"], each["beside"]))
        if paper is not None:
            axes.plot(paper, place, "D", color="black", label="ARTOS' figure 15a" if each["beside"] else None)
    names = [each["way"] + (", learning beside" if each["beside"] else "") for each in shown]
    axes.set_yticks(range(len(shown)), names)
    axes.axvline(1, color="grey", linestyle=":", lw=0.8)
    axes.set(xlabel="transfer of 16 blocks of 14.45 MB over 130 MB/s, times Ray's")
    axes.grid(alpha=0.3, axis="x")
    pictures.add_legend(drawing, axes)
