"""OLAF's tables 2 and 3 and its figure 10 beside what was measured of them."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from olaflab import pictures
from olaflab.papers.figure import Figure, FigureTable, Points, Section, judge_interval, make_modelled
from olaflab.papers.olaf import multi_hop
from olaflab.papers.olaf.multi_hop import ALPHAS, APART, CODE, DEEP_FIFO, SAME, SWEEP_RUNS, Queue
from olaflab.papers.olaf.multi_hop import ns3_scenarios as scenarios
from olaflab.papers.spreads import Spreads

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

__all__ = ["figures", "scenarios"]

Paper = Mapping[str, tuple[str, str, str, str]]
"""Printed values by queue: loss in %, ages of S1 and S2 in ms, fairness."""
TABLE_2: Paper = {
    "FIFO": ("88", "1714", "1710", "0.88"),
    DEEP_FIFO: ("88", "1714", "1710", "0.88"),
    "Olaf": ("4.5", "245", "244", "0.98"),
    "Olaf_TC": ("as Olaf", "as Olaf", "as Olaf", "as Olaf"),
}
TABLE_3: Paper = {
    "FIFO": ("86", "1381", "5382", "0.86"),
    DEEP_FIFO: ("86", "1381", "5382", "0.86"),
    "Olaf": ("5.6", "243", "291", "0.91"),
    "Olaf_TC": ("4.7", "263", "270", "0.99"),
}
_COLUMNS = {
    "loss, %": ("loss", 1), "held back, %": ("held", 1), "AoM S1, ms": ("age_s1", 0),
    "AoM S2, ms": ("age_s2", 0), "fairness": ("fairness", 3), "workers' AoM S1, ms": ("worker_s1", 0),
    "workers' AoM S2, ms": ("worker_s2", 0), "workers' fairness": ("worker_fairness", 3),
}  # fmt: skip
_SWEEPS = {
    "core": "Rate of SW3, with SW1 and SW2 at 0.7 of it if nothing else is said",
    "delay": "Delay of every link",
    "edge": "Rate of SW1 and SW2, and jitter",
    "together": "All workers send at the same instants, all switches at one rate",
}
FLAT = 0.1
"""The greatest relative difference between two ages of what counts as flat."""


def figures() -> Iterator[Figure]:
    """Return tables 2 and 3 and figure 10."""
    for name, title, periods, paper in (
        ("table2", "Table 2: multi-hop, equal workers", SAME, TABLE_2),
        ("table3", "Table 3: multi-hop, unequal workers", APART, TABLE_3),
    ):
        controls = periods is APART
        measure = partial(_measure_table, periods, controls)
        yield make_modelled(name, title, measure, partial(show_table, paper, periods, controls), code=CODE)
    yield make_modelled(
        "fig10",
        "Figure 10: a bottleneck at SW1",
        multi_hop.measure_bottleneck,
        show_bottleneck,
        draw_bottleneck,
        (7, 6.5),
        CODE,
    )


def _measure_table(
    periods: tuple[int, int], controls: bool, runs: int, progress: Callable[[str], None]
) -> Points:
    return multi_hop.measure_sweeps(periods, runs, controls, progress)


def show_table(paper: Paper, periods: tuple[int, int], controls: bool, data: Points) -> Section:
    """Compare a table with the paper's, and count the setups in which the paper's statements hold."""
    tables = {"comparison": _compare_with_paper(data, paper, periods), **_show_sweeps(data)}
    if not controls:
        return Section(tables)
    runs = min(data["runs"], SWEEP_RUNS)
    title = f"What transmission control leaves open; {runs} runs of each"
    tables["control"] = _show_sweep(title, data, "control")
    mean, half = data["fairer"]
    claim = f"Olaf_TC is fairer than Olaf, by {mean:.4f} ± {half:.4f} in {data['runs']} pairs of runs"
    return Section(tables, {claim: judge_interval(mean - half, mean + half)})


def _compare_with_paper(data: Points, paper: Paper, periods: tuple[int, int]) -> FigureTable:
    rows = []
    for queue, published in paper.items():
        found = Spreads.of_json(data["base"][queue])
        ours = (
            found.format_value("loss", 1),
            found.format_value("age_s1"),
            found.format_value("age_s2"),
            found.format_value("fairness", 3),
        )
        pairs = [cell for pair in zip(published, ours, strict=True) for cell in pair]
        both = f"{found.format_value('worker_s1')}; {found.format_value('worker_s2')}"
        rows.append([queue, *pairs, both, found.format_value("worker_fairness", 3)])
    columns = ("loss, %", "AoM S1, ms", "AoM S2, ms", "fairness")
    heads = ["queue", *(head for column in columns for head in (f"{column} (paper)", "ours"))]
    first, second = (f"{period // multi_hop.MS} ms" for period in periods)
    title = f"Workers of S1 and S2 send every {first} and {second}: means and standard deviations of"
    heads += ["workers' AoM S1; S2, ms", "workers' fairness"]
    return FigureTable(f"{title} {data['runs']} runs", heads, rows)


def _show_sweeps(data: Points) -> dict[str, FigureTable]:
    runs = min(data["runs"], SWEEP_RUNS)
    parts = [list(_count_setups(data, name)) for name in ("edge", "behind", "together")]
    held = []
    for edge, behind, together in zip(*parts, strict=True):
        counts = (f"{count} of {total}" for _, count, total, _ in (edge, behind, together))
        held.append([edge[0], *counts, _shorten_labels(edge[3])])
    heads = ("statement", "setups of rates and jitter", "more frames behind FIFO's slots",
             "all workers at once", "of the rates and jitter, not at")  # fmt: skip
    behind = f"Frames that wait behind FIFO's slots in each switch; {runs} runs of each"
    return {
        "behind": _show_sweep(behind, data, "behind", [Queue.FIFO]),
        "statements": FigureTable(
            f"In how many setups the statements hold; {runs} runs of each", heads, held
        ),
        **{name: _show_sweep(f"{title}; {runs} runs of each", data, name) for name, title in _SWEEPS.items()},
    }


def _show_sweep(title: str, data: Points, sweep: str, queues: Collection[str] = tuple(Queue)) -> FigureTable:
    """Show all setups of one sweep, a row for each queue."""
    rows = []
    for point in (point for point in data["sweep"] if point["sweep"] == sweep):
        for queue, kept in point["queues"].items():
            if queue in queues:
                found = Spreads.of_json(kept)
                rows.append(
                    [point["label"], queue, *(found.format_value(*each) for each in _COLUMNS.values())]
                )
    return FigureTable(title, ("setup", "queue", *_COLUMNS), rows)


def _count_setups(data: Points, sweep: str) -> Iterator[tuple[str, int, int, list[str]]]:
    """Count for each statement the setups of a sweep in which it holds, of how many, and name the others."""
    setups = {
        point["label"]: {queue: Spreads.of_json(kept) for queue, kept in point["queues"].items()}
        for point in data["sweep"]
        if point["sweep"] == sweep
    }
    for text, holds in _STATEMENTS.items():
        wrong = [label for label, queues in setups.items() if not holds(queues)]
        yield text, len(setups) - len(wrong), len(setups), wrong


def _freshness_ratio(queues: Mapping[str, Spreads], kind: str) -> float:
    """Return how many times less Olaf's age is than FIFO's: the lesser of the two groups' ratios."""
    names = (f"{kind}_s1", f"{kind}_s2")
    return min(queues["FIFO"].mean_of(name) / queues["Olaf"].mean_of(name) for name in names)


_STATEMENTS: Mapping[str, Callable[[Mapping[str, Spreads]], bool]] = {
    "FIFO loses at least 80 %": lambda queues: queues["FIFO"].mean_of("loss") >= 80,
    "Olaf loses at most 6 %": lambda queues: queues["Olaf"].mean_of("loss") <= 6,
    "Olaf_TC loses at most 6 %": lambda queues: queues["Olaf_TC"].mean_of("loss") <= 6,
    "Olaf's Age-of-Model is lower than FIFO's": lambda queues: _freshness_ratio(queues, "age") > 1,
    "Olaf's Age-of-Model is at least 4 times lower, by cluster": lambda queues: (
        _freshness_ratio(queues, "age") >= 4
    ),
    "Olaf's Age-of-Model is at least 4 times lower, by worker": (
        lambda queues: _freshness_ratio(queues, "worker") >= 4
    ),
    "Olaf's fairness is above FIFO's": (
        lambda queues: queues["Olaf"].mean_of("fairness") > queues["FIFO"].mean_of("fairness")
    ),
    "Olaf_TC's fairness is at least 0.98": lambda queues: queues["Olaf_TC"].mean_of("fairness") >= 0.98,
    "Olaf_TC's fairness is above Olaf's": (
        lambda queues: queues["Olaf_TC"].mean_of("fairness") > queues["Olaf"].mean_of("fairness")
    ),
}


def _shorten_labels(labels: Sequence[str]) -> str:
    """Gather setups by rate: ``0.6 Mb/s: jitter 0, 1 %``."""
    by_rate: dict[str, list[str]] = {}
    for label in labels:
        rate, jitter = label.split(", jitter ")
        by_rate.setdefault(rate, []).append(jitter.removesuffix("%"))
    return "; ".join(f"{rate}: {', '.join(jitters)} %" for rate, jitters in by_rate.items()) or "–"


def show_bottleneck(data: Points) -> Section:
    """Show the base's curves of figure 10, and the shape of every other place's."""
    rows = [
        [f"{place['x2']:g}; {place['x3']:g}", queue, *_describe_shape(curve)]
        for place in data["places"]
        for queue, curve in place["curves"].items()
    ]
    title = (
        "S1 falls: its age at each α is at most that at the one before, within 2 %."
        " S2 is flat: its ages differ by at most 10 %"
    )
    heads = ("x₂; x₃, Mb/s", "queue", "S1 at α = 0.1, ms", "S1 at α = 1, ms", "S1 falls", "S2, ms",
             "S2 is flat")  # fmt: skip
    return Section({"curves": _show_curves(data["places"][0]), "shapes": FigureTable(title, heads, rows)})


def _show_curves(place: dict[str, Any]) -> FigureTable:
    names = {"age_s1": "S1", "age_s2": "S2", "worker_s1": "workers of S1", "worker_s2": "workers of S2"}
    curves = {queue: [Spreads.of_json(kept) for kept in curve] for queue, curve in place["curves"].items()}
    heads = ["α", *(f"{queue}: {text}" for queue in curves for text in names.values())]
    rows = [
        [f"{alpha:.1f}", *(curves[queue][number].format_value(name) for queue in curves for name in names)]
        for number, alpha in enumerate(ALPHAS)
    ]
    return FigureTable(
        f"Age-of-Model in ms; means and standard deviations of {place['runs']} runs", heads, rows
    )


def _describe_shape(curve: list[dict[str, Any]]) -> list[str]:
    found = [Spreads.of_json(kept) for kept in curve]
    first, second = ([one.mean_of(name) for one in found] for name in ("age_s1", "age_s2"))
    falling, flat = ("yes" if met else "no" for met in (ages_fall(first), is_flat(second)))
    return [f"{first[0]:.0f}", f"{first[-1]:.0f}", falling, f"{min(second):.0f} … {max(second):.0f}", flat]


def ages_fall(ages: list[float]) -> bool:
    """Return whether each age is at most the one before, within 2 %."""
    return all(later <= 1.02 * earlier for earlier, later in pairwise(ages))


def is_flat(ages: list[float]) -> bool:
    """Return whether the ages differ by at most FLAT of the least."""
    return max(ages) <= (1 + FLAT) * min(ages)


def draw_bottleneck(data: Points, figure: "Drawing") -> None:
    """Draw both groups' ages over α, by cluster and by worker."""
    panels = figure.subplots(2, 1, sharex=True)
    for axes, kind, title in zip(panels, ("age", "worker"), ("by cluster", "by worker"), strict=True):
        for queue, curve in data["places"][0]["curves"].items():
            found = [Spreads.of_json(kept) for kept in curve]
            for group, line in (("s1", "-"), ("s2", "--")):
                means, spreads = zip(*(one.values[f"{kind}_{group}"] for one in found), strict=True)
                style = pictures.style_of(queue) | {"linestyle": line}
                axes.errorbar(ALPHAS, means, spreads, label=f"{queue}, {group.upper()}", **style)
        axes.set(title=title, yscale="log", ylabel="average Age-of-Model, ms")
        axes.grid(alpha=0.3)
    panels[1].set_xlabel("α = x₁/x₂")
    pictures.add_legend(figure, panels[0], columns=3)
