"""OLAF's tables and figures (OLAF §8, §2.1), in the order of this evaluation's page.

Modules that need torch are imported when a figure is run: a picture is drawn again without it.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

from olaflab.papers import trivial
from olaflab.papers.curves import draw_curves
from olaflab.papers.figure import Effort, Figure, FigureCost, make_measured
from olaflab.papers.olaf import sockets, speedup, table1, table2, terms
from olaflab.papers.summary import Summary, make_trained

_TRAININGS: Mapping[str, tuple[str, Callable[[], Callable[..., Summary]], int, int, str]] = {
    "fig2": ("training strategies", lambda: _load("strategies").compare_strategies,
             200, 5, "8 heterogeneous workers"),
    "fig2-equal": ("as large a step in all", lambda: _load("strategies").compare_equal_steps,
                   200, 5, "as far in all"),
    "fig2-rates": ("a rate for each", lambda: _load("strategies").compare_rates,
                   200, 5, "each strategy at each rate"),
    "fig3": ("number of workers", lambda: _load("strategies").compare_numbers, 200, 5, "more workers"),
    "fig8": ("reward under congestion", lambda: _load("congestion").compare_outputs,
             150, 10, "2 clusters of 3 workers"),
    "script": ("a script alone and attached", lambda: _load("script").figure,
               72, 5, "one iteration of any worker a step"),
}  # fmt: skip
"""Title, what trains it, updates of each worker, usual seeds, and the picture's title."""


def figures() -> Iterator[Figure]:
    """Return all of them."""
    yield from table1.figures()
    yield from table2.figures()
    for name, (title, trainer, length, seeds, drawing) in _TRAININGS.items():
        title = f"Figure {name[3]}: {title}" if name.startswith("fig") else title.capitalize()
        yield make_trained(name, title, _make_training(trainer, length, seeds), draw_curves(drawing))
    yield make_trained(
        "fig7-twin", "Figure 7 through the twin, with transmission control",
        _make_training(lambda: speedup.measure_speedups, 200, 5), speedup.draw_speedups, size=(7, 4.6),
    )  # fmt: skip
    yield Figure(
        "equal-terms", "FIFO, workers that add up, and Olaf, each at its best rate",
        terms.run_terms, terms.show_terms, terms.draw_terms, FigureCost.TRAINING, (6.4, 8.6),
    )  # fmt: skip
    yield trivial.make_figure("LunarLander", "CartPole")
    yield make_measured(
        "sockets", "Transmission control on kernel sockets (OLAF §5)",
        lambda effort: sockets.measure_sockets(sockets.LOAD, effort.progress), sockets.COLUMNS,
    )  # fmt: skip


def _load(module: str) -> Any:
    return import_module(f"olaflab.papers.olaf.{module}")


def _make_training(
    trainer: Callable[[], Callable[..., Summary]], length: int, seeds: int
) -> Callable[[Effort], Summary]:
    """Return a training, usually with ``seeds`` seeds, that keeps finished runs."""

    def train(effort: Effort) -> Summary:
        return trainer()(length, effort.seed_count(seeds), effort.folder, effort.progress)

    return train
