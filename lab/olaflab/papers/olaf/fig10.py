"""OLAF figure 10: the two groups' ages as SW1's output becomes a bottleneck."""

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olafctl import plotting
from olaflab import pictures
from olaflab.papers import statistics
from olaflab.papers.figure import Points, Progress, Section, Table, modelled
from olaflab.papers.olaf import multi_hop
from olaflab.papers.olaf.multi_hop import SAME, Queue, Setup
from olaflab.papers.olaf.multi_hop import measure as measure_setup
from olaflab.papers.statistics import Figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

ALPHAS = tuple(tenth / 10 for tenth in range(1, 11))
_X2 = 0.7
_BASE = (_X2, 2 * _X2)
_PLACES = (_BASE, (0.7, 1.0), (0.5, 1.0), (1.0, 1.0), (1.0, 2.0), (5.0, 10.0), (5.0, 1.0))
"""Outputs of SW2 and SW3 in Mb/s."""
_SWEEP_RUNS = 10
FLAT = 0.1
"""The greatest relative difference between two ages of what counts as flat."""


def measure(runs: int, progress: Progress) -> Points:
    """Every α under every queue, at the base's rates and at the sweep's."""
    places = []
    for x2, x3 in _PLACES:
        progress(f"x2 = {x2:g} Mb/s, x3 = {x3:g} Mb/s")
        number = runs if (x2, x3) == _BASE else min(runs, _SWEEP_RUNS)
        curves = {
            queue.value: [
                measure_setup(
                    Setup(queue, SAME, x1=alpha * x2 * 1e6, x2=x2 * 1e6, x3=x3 * 1e6), range(number)
                ).as_json()
                for alpha in ALPHAS
            ]
            for queue in Queue
        }
        places.append({"x2": x2, "x3": x3, "runs": number, "curves": curves})
    return {"places": places}


def section(data: Points) -> Section:
    """The base's curves, and the shape of every other place's."""
    rows = []
    for place in data["places"]:
        rows += [
            [f"{place['x2']:g}; {place['x3']:g}", queue, *_shape(curve)]
            for queue, curve in place["curves"].items()
        ]
    title = (
        "S1 falls: its age at each α is at most that at the one before, within 2 %."
        " S2 is flat: its ages differ by at most 10 %"
    )
    heads = (
        "x₂; x₃, Mb/s",
        "queue",
        "S1 at α = 0.1, ms",
        "S1 at α = 1, ms",
        "S1 falls",
        "S2, ms",
        "S2 is flat",
    )
    return Section({"curves": _curves(data["places"][0]), "shapes": Table(title, heads, rows)})


def _curves(place: dict[str, Any]) -> Table:
    names = (
        ("age_s1", "S1"),
        ("age_s2", "S2"),
        ("worker_s1", "workers of S1"),
        ("worker_s2", "workers of S2"),
    )
    curves = {queue: [Figures.of_json(kept) for kept in curve] for queue, curve in place["curves"].items()}
    heads = ["α", *(f"{queue}: {text}" for queue in curves for _, text in names)]
    rows = [
        [f"{alpha:.1f}", *(curves[queue][number].text(name) for queue in curves for name, _ in names)]
        for number, alpha in enumerate(ALPHAS)
    ]
    return Table(f"Age-of-Model in ms; means and standard deviations of {place['runs']} runs", heads, rows)


def _shape(curve: list[dict[str, Any]]) -> list[str]:
    found = [Figures.of_json(kept) for kept in curve]
    first, second = ([one.mean(name) for one in found] for name in ("age_s1", "age_s2"))
    return [
        f"{first[0]:.0f}",
        f"{first[-1]:.0f}",
        "yes" if falls(first) else "no",
        f"{min(second):.0f} … {max(second):.0f}",
        "yes" if flat(second) else "no",
    ]


def falls(ages: list[float]) -> bool:
    """Whether each is at most the one before, within 2 %."""
    return all(later <= 1.02 * earlier for earlier, later in pairwise(ages))


def flat(ages: list[float]) -> bool:
    """Whether they differ by at most FLAT of the least."""
    return max(ages) <= (1 + FLAT) * min(ages)


def draw(data: Points, figure: "Drawing") -> None:
    """Both groups' ages over α."""
    place = data["places"][0]
    both = figure.subplots(1, 2, sharey=True)
    for axes, names, title in zip(
        both,
        (("age_s1", "age_s2"), ("worker_s1", "worker_s2")),
        ("by cluster", "by worker"),
        strict=True,
    ):
        for number, (queue, curve) in enumerate(place["curves"].items()):
            found = [Figures.of_json(kept) for kept in curve]
            for name, style in zip(names, ("-", "--"), strict=True):
                means, spreads = zip(*(one.values[name] for one in found), strict=True)
                axes.errorbar(
                    ALPHAS,
                    means,
                    spreads,
                    linestyle=style,
                    color=plotting.COLOURS[number],
                    label=f"{queue}, {name[-2:].upper()}",
                )
        axes.set(xlabel="α = x₁/x₂", title=title, yscale="log")
        axes.grid(alpha=0.3)
    both[0].set_ylabel("average Age-of-Model, ms")
    pictures.legend(figure, both[0], columns=3)


FIGURE = modelled(
    "fig10",
    "Figure 10: a bottleneck at SW1",
    measure,
    section,
    draw,
    (10, 4.5),
    (Path(__file__), *(Path(module.__file__ or "") for module in (multi_hop, statistics))),
)
