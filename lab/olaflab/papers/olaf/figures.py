"""OLAF's tables and figures (OLAF §8, §2.1), in the order of this evaluation's page.

What trains is imported when it is run: a picture is drawn again without torch.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from olaflab.papers.curves import drawn
from olaflab.papers.figure import Cost, Effort, Figure, Points, Section, Table
from olaflab.papers.olaf import fig6, fig7, fig10, table1, table2, table3
from olaflab.papers.summary import Summary, trained

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from olaflab.papers.olaf.sockets import Run

_SHOWN = "Olaf, 55 % less output"
"""The queue of figure 8 that its other settings are drawn for."""


def figures() -> Iterator[Figure]:
    """All of them."""
    yield from (table1.FIGURE, fig6.FIGURE, fig7.FIGURE, table2.FIGURE, table3.FIGURE, fig10.FIGURE)
    yield trained(
        "fig2", "Figure 2: training strategies", _training("learning", lambda of: of.figure2, 200, 5),
        drawn("8 heterogeneous workers"),
    )  # fmt: skip
    yield trained(
        "fig2-equal", "Figure 2 with as large a step in all", _training("rates", lambda of: of.equal, 200, 5),
        drawn("as far in all"),
    )  # fmt: skip
    yield trained(
        "fig2-rates", "Figure 2 with a rate for each strategy",
        _training("rates", lambda of: of.grid, 200, 5),
        drawn("each strategy at each rate"),
    )  # fmt: skip
    yield trained(
        "fig3",
        "Figure 3: number of workers",
        _training("learning", lambda of: of.figure3, 200, 5),
        drawn("more workers"),
    )
    yield trained(
        "fig7-twin", "Figure 7 through the twin, with transmission control",
        _training("speedup", lambda of: of.figure7, 200, 5), _drawn_by("speedup", lambda of: of.draw),
    )  # fmt: skip
    yield trained(
        "fig7-control", "Figure 7 with other Δ_T and v", _training("speedup", lambda of: of.control, 200, 1),
        _drawn_by("speedup", lambda of: of.draw_sweep),
    )  # fmt: skip
    yield trained(
        "fig8", "Figure 8: reward under congestion", _training("congestion", lambda of: of.figure8, 150, 10),
        drawn("2 clusters of 3 workers"),
    )  # fmt: skip
    yield trained(
        "fig8-control", "Figure 8 with transmission control in all",
        _training("congestion", lambda of: of.control, 150, 5), drawn("all with transmission control"),
    )  # fmt: skip
    yield trained(
        "fig8-settings", "Figure 8 with other settings",
        _training("congestion", lambda of: of.settings, 150, 3),
        drawn(_SHOWN, "setting", {"curve": _SHOWN}),
    )  # fmt: skip
    yield trained(
        "equal-terms", "FIFO, workers that add up, and Olaf, each at its best rate",
        _training("terms", lambda of: of.equal_terms, 6, 10), _drawn_by("terms", lambda of: of.draw),
    )  # fmt: skip
    yield trained(
        "script", "A script alone and attached", _training("script", lambda of: of.figure, 72, 5),
        drawn("one iteration of any worker a step"),
    )  # fmt: skip
    yield Figure(
        "sockets", "Transmission control on kernel sockets (OLAF §5)", _sockets, _of_sockets,
        cost=Cost.MACHINE,
    )  # fmt: skip


def _training(
    module: str, make: Callable[[Any], Any], length: int, seeds: int
) -> Callable[[Effort], Summary]:
    """A training, usually with ``seeds`` seeds; ``length`` is updates of each worker, or virtual seconds."""

    def trained_with(effort: Effort) -> Summary:
        function = make(import_module(f"olaflab.papers.olaf.{module}"))
        found: Summary = function(length, effort.number(seeds), effort.folder, effort.progress)
        return found

    return trained_with


def _drawn_by(module: str, by: Callable[[Any], Any]) -> "Callable[[Points, Drawing], None]":
    def draw(points: Points, drawing: "Drawing") -> None:
        by(import_module(f"olaflab.papers.olaf.{module}"))(points, drawing)

    return draw


def _sockets(effort: Effort) -> Points:
    from olaflab.papers.olaf.sockets import LOAD, measure

    return {"runs": [_plain(run) for run in measure(LOAD, effort.progress)]}


def _plain(run: "Run") -> dict[str, Any]:
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
