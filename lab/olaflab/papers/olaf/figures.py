"""OLAF's tables and figures (OLAF §8, §2.1), in the order of this evaluation's page.

Modules that need torch are imported when a figure is run: a picture is drawn again without it.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from olaflab.papers.curves import draw_curves
from olaflab.papers.figure import Effort, Figure, FigureCost, FigureTable, Points, Progress, Section
from olaflab.papers.olaf import sockets, speedup, table1, table2, terms
from olaflab.papers.summary import Summary, make_trained

Trainer = Callable[[int, int, Path, Progress], Summary]
"""Trains with a length and a number of seeds, and keeps finished runs in a folder."""


def figures() -> Iterator[Figure]:
    """Return all of them."""
    yield from table1.figures()
    yield from table2.figures()
    for name, title, trainer, length, seeds, drawing in (
        (
            "fig2",
            "Figure 2: training strategies",
            lambda: _import_trainer("strategies").compare_strategies,
            200,
            5,
            "8 heterogeneous workers",
        ),
        (
            "fig2-equal",
            "Figure 2 with as large a step in all",
            lambda: _import_trainer("strategies").compare_equal_steps,
            200,
            5,
            "as far in all",
        ),
        (
            "fig2-rates",
            "Figure 2 with a rate for each strategy",
            lambda: _import_trainer("strategies").compare_rates,
            200,
            5,
            "each strategy at each rate",
        ),
        (
            "fig3",
            "Figure 3: number of workers",
            lambda: _import_trainer("strategies").compare_numbers,
            200,
            5,
            "more workers",
        ),
        (
            "fig8",
            "Figure 8: reward under congestion",
            lambda: _import_trainer("congestion").compare_outputs,
            150,
            10,
            "2 clusters of 3 workers",
        ),
        (
            "script",
            "A script alone and attached",
            lambda: _import_trainer("script").figure,
            72,
            5,
            "one iteration of any worker a step",
        ),
    ):
        yield make_trained(name, title, _make_training(trainer, length, seeds), draw_curves(drawing))
    yield make_trained(
        "fig7-twin",
        "Figure 7 through the twin, with transmission control",
        _make_training(lambda: speedup.measure_speedups, 200, 5),
        speedup.draw_speedups,
        size=(7, 4.6),
    )
    yield Figure(
        "equal-terms",
        "FIFO, workers that add up, and Olaf, each at its best rate",
        terms.run_terms,
        terms.show_terms,
        terms.draw_terms,
        FigureCost.TRAINING,
        (6.4, 8.6),
    )
    yield Figure("sockets", "Transmission control on kernel sockets (OLAF §5)", _run_sockets, _show_sockets,
                 cost=FigureCost.MACHINE)  # fmt: skip


def _import_trainer(name: str) -> ModuleType:
    return import_module(f"olaflab.papers.olaf.{name}")


def _make_training(trainer: Callable[[], Trainer], length: int, seeds: int) -> Callable[[Effort], Summary]:
    """Return a training, usually with ``seeds`` seeds; ``length`` is updates of each worker."""

    def train(effort: Effort) -> Summary:
        return trainer()(length, effort.seed_count(seeds), effort.folder, effort.progress)

    return train


def _run_sockets(effort: Effort) -> Points:
    def plain(run: sockets.SocketRun) -> dict[str, Any]:
        return {**vars(run), "share": run.sent_share, "loss": run.lost_share}

    return {"runs": [plain(run) for run in sockets.measure_sockets(sockets.LOAD, effort.progress)]}


def _show_sockets(points: Points) -> Section:
    heads = ("transmission control", "offered", "sent", "share sent", "mean P_s", "mean N", "lost", "AoM ms")
    rows = [
        [
            "yes" if run["control"] else "no", str(run["offered"]), str(run["sent"]), f"{run['share']:.3f}",
            f"{run['probability']:.3f}", f"{run['active']:.2f}", f"{run['loss']:.1%}",
            f"{1e3 * run['age']:.1f}",
        ]
        for run in points["runs"]
    ]  # fmt: skip
    return Section({"sockets": FigureTable("24 workers in 8 clusters through 4 slots", heads, rows)})
