"""OLAF's tables and figures (OLAF §8, §2.1), in the order of this evaluation's page.

What needs torch is imported when it is run: a picture is drawn again without it.
"""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from olaflab.papers.curves import drawn
from olaflab.papers.figure import Cost, Effort, Figure, Points, Progress, Section, Table
from olaflab.papers.olaf import fig6, fig7, fig10, sockets, speedup, table1, table2, table3, terms
from olaflab.papers.summary import Summary, trained

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Trainer = Callable[[int, int, Path, Progress], Summary]
"""Trains with a length and a number of seeds, and keeps finished runs in a folder."""
Draw = Callable[[Points, "Drawing"], None]


def figures() -> Iterator[Figure]:
    """All of them."""
    yield from (table1.FIGURE, fig6.FIGURE, fig7.FIGURE, table2.FIGURE, table3.FIGURE, fig10.FIGURE)
    trainings: Sequence[tuple[str, str, Callable[[], Trainer], int, int, Draw]] = (
        ("fig2", "Figure 2: training strategies", lambda: _module("learning").figure2, 200, 5,
         drawn("8 heterogeneous workers")),
        ("fig2-equal", "Figure 2 with as large a step in all", lambda: _module("rates").equal, 200, 5,
         drawn("as far in all")),
        ("fig2-rates", "Figure 2 with a rate for each strategy", lambda: _module("rates").grid, 200, 5,
         drawn("each strategy at each rate")),
        ("fig3", "Figure 3: number of workers", lambda: _module("learning").figure3, 200, 5,
         drawn("more workers")),
        ("fig7-twin", "Figure 7 through the twin, with transmission control", lambda: speedup.figure7, 200, 5,
         speedup.draw),
        ("fig8", "Figure 8: reward under congestion", lambda: _module("congestion").figure8, 150, 10,
         drawn("2 clusters of 3 workers")),
        ("equal-terms", "FIFO, workers that add up, and Olaf, each at its best rate",
         lambda: terms.equal_terms, 6, 10, terms.draw),
        ("script", "A script alone and attached", lambda: _module("script").figure, 72, 5,
         drawn("one iteration of any worker a step")),
    )  # fmt: skip
    for name, title, make, length, seeds, draw in trainings:
        yield trained(name, title, _training(make, length, seeds), draw)
    yield Figure(
        "sockets", "Transmission control on kernel sockets (OLAF §5)", _sockets, _of_sockets,
        cost=Cost.MACHINE,
    )  # fmt: skip


def _module(name: str) -> ModuleType:
    return import_module(f"olaflab.papers.olaf.{name}")


def _training(make: Callable[[], Trainer], length: int, seeds: int) -> Callable[[Effort], Summary]:
    """A training, usually with ``seeds`` seeds; ``length`` is updates of each worker, or virtual seconds."""

    def train(effort: Effort) -> Summary:
        return make()(length, effort.number(seeds), effort.folder, effort.progress)

    return train


def _sockets(effort: Effort) -> Points:
    return {"runs": [_plain(run) for run in sockets.measure(sockets.LOAD, effort.progress)]}


def _plain(run: sockets.Run) -> dict[str, Any]:
    return {**vars(run), "share": run.share, "loss": run.loss}


def _of_sockets(points: Points) -> Section:
    heads = ("transmission control", "offered", "sent", "share sent", "mean P_s", "mean N", "lost", "AoM ms")
    rows = [
        [
            "yes" if run["control"] else "no", str(run["offered"]), str(run["sent"]), f"{run['share']:.3f}",
            f"{run['probability']:.3f}", f"{run['active']:.2f}", f"{run['loss']:.1%}",
            f"{1e3 * run['age']:.1f}",
        ]
        for run in points["runs"]
    ]  # fmt: skip
    return Section({"sockets": Table("24 workers in 8 clusters through 4 slots", heads, rows)})
