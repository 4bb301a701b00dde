"""OLAF's table 1 and its figures 6 and 7 beside what was measured of them."""

import re
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from olafctl.wire.modes import Mode
from olaflab import pictures
from olaflab.papers.figure import Figure, FigureTable, Points, Section, decide_statements, make_modelled
from olaflab.papers.olaf import one_engine
from olaflab.papers.olaf.demo.experiment import AT_ONCE
from olaflab.papers.olaf.demo.table1 import PAPER
from olaflab.papers.olaf.one_engine import CLUSTERS, CODE, FEW, GOAL, RATES_1, name_setting
from olaflab.papers.spreads import Spreads

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_SHOWN = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)


def figures() -> Iterator[Figure]:
    """Return table 1, figure 6 and figure 7."""
    title = "Table 1: one engine, constrained output"
    yield make_modelled("table1", title, one_engine.measure_table1, show_table1, code=CODE)
    yield make_modelled("fig6", "Figure 6: aggregations per outgoing update", one_engine.measure_figure6,
                   show_figure6, draw_figure6, (7, 6), CODE)  # fmt: skip
    yield make_modelled("fig7", "Figure 7: time until 200 updates of each worker", one_engine.measure_figure7,
                   show_figure7, draw_figure7, (6, 4), CODE)  # fmt: skip


def show_table1(data: Points) -> Section:
    """Show table 1 at the demo's clusters at a time and with all together, and the sweep over them."""
    found = {int(k): Spreads.of_json(kept) for k, kept in data["at_once"].items()}
    tables = {
        "in_turn": _compare_with_paper(found[AT_ONCE], f"{AT_ONCE} clusters at a time; {data['runs']} runs"),
        "together": _compare_with_paper(
            found[CLUSTERS], "All nine clusters together; one run, which has no choice"
        ),
        "sweep": _show_sweep(found, data["runs"]),
    }
    return Section(tables)


def _compare_with_paper(found: Spreads, title: str) -> FigureTable:
    heads = ("queue", "received (paper)", "ours", "aggregated (paper)", "ours", "replaced (ours)",
             "lost, % (paper)", "ours", "AoM, µs (ours)", "AoM less by, % (paper)", "ours")  # fmt: skip
    rows = []
    for (mode, rate), paper in PAPER.items():
        name, olaf = name_setting(mode, rate), mode is Mode.OLAF
        counts = [
            str(paper.aggregated),
            found.format_value(f"{name} merged"),
            found.format_value(f"{name} replaced"),
        ]
        less = f"{paper.reduction:.0f}" if olaf and paper.reduction is not None else ""
        rows.append(
            [
                name,
                str(paper.received),
                found.format_value(f"{name} received"),
                *(counts if olaf else ["–"] * 3),
                f"{paper.lost:.1f}",
                found.format_value(f"{name} lost", 1),
                found.format_value(f"{name} age", 3),
                less,
                found.format_value(f"{rate} less", 1) if olaf else "",
            ]
        )
    return FigureTable(title, heads, rows)


def _show_sweep(found: dict[int, Spreads], runs: int) -> FigureTable:
    heads, paper = ["clusters at a time"], ["paper"]
    for rate in RATES_1:
        heads += [f"FIFO lost, % at {rate} Gb/s", "Olaf lost, %", "slots held until sent", "AoM less by, %"]
        fifo, olaf = PAPER[Mode.FIFO, rate], PAPER[Mode.OLAF, rate]
        paper += [f"{fifo.lost:.1f}", f"{olaf.lost:.1f}", f"{olaf.lost:.1f}", f"{olaf.reduction:.0f}"]
    names = [
        name
        for rate in RATES_1
        for name in (
            *(f"{name_setting(mode, rate)} lost" for mode in (Mode.FIFO, Mode.OLAF)),
            f"{rate} held lost",
            f"{rate} less",
        )
    ]
    rows = [[str(k), *(one.format_value(name, 1) for name in names)] for k, one in found.items()]
    title = f"Means and standard deviations of {runs} runs, each with another order"
    return FigureTable(title, heads, [*rows, paper])


def show_figure6(data: Points) -> Section:
    """Show the CDF at some counts, and where it moves to the right as the rate falls."""
    titles = {
        "in turn": f"{AT_ONCE} clusters at a time, {data['runs']} runs",
        "together": f"all {CLUSTERS} together",
    }
    rows, holds = list[list[str]](), dict[str, bool]()
    for name, by_rate in data["frames"].items():
        for rate, frames in by_rate.items():
            curve = to_cdf(frames)
            rows.append([titles[name], rate, *(f"{100 * _share_at_most(*curve, n):.1f}" for n in _SHOWN)])
        holds |= dict(_compare_curves(titles[name], by_rate))
    heads = ("clusters", "output, Gb/s", *(f"≤ {n}" for n in _SHOWN))
    title = "Percent of outgoing frames that hold at most so many worker updates"
    return Section({"cdf": FigureTable(title, heads, rows)}, decide_statements(holds))


def _compare_curves(title: str, by_rate: dict[str, dict[str, int]]) -> Iterator[tuple[str, bool]]:
    """Ask for each pair of rates whether at the lower one no greater share holds at most n, for every n."""
    for (above, more), (below, fewer) in pairwise(by_rate.items()):
        curves = [to_cdf(frames) for frames in (more, fewer)]
        wrong = [str(n) for n in _SHOWN if _share_at_most(*curves[1], n) > _share_at_most(*curves[0], n)]
        but = f"; not at most {', '.join(wrong)} updates" if wrong else ""
        yield f"{title}: further right at {below} Gb/s than at {above} Gb/s{but}", not wrong


def to_cdf(frames: dict[str, int]) -> tuple[list[int], list[float]]:
    """Return counts in rising order, and the share of frames with at most as many."""
    counts = sorted(int(count) for count in frames)
    total = sum(frames.values())
    return counts, [seen / total for seen in accumulate(frames[str(count)] for count in counts)]


def _share_at_most(counts: list[int], shares: list[float], most: int) -> float:
    return max((share for count, share in zip(counts, shares, strict=True) if count <= most), default=0.0)


def draw_figure6(data: Points, figure: "Drawing") -> None:
    """Draw the CDFs of both kinds of traffic."""
    panels = figure.subplots(2, 1, sharex=True)
    for axes, (name, by_rate) in zip(panels, data["frames"].items(), strict=True):
        styles = pictures.assign_styles(by_rate, re.compile("^5$"))
        for rate, frames in by_rate.items():
            counts, shares = to_cdf(frames)
            axes.step(counts, shares, where="post", label=f"Olaf, {rate} Gb/s", **styles[rate])
        axes.set(title=f"clusters {name}", ylabel="share of frames with\nat most as many")
        axes.set(xlim=(1, 32), ylim=(0, 1))
        axes.grid(alpha=0.3)
    panels[1].set_xlabel("worker updates in an outgoing frame")
    pictures.add_legend(figure, panels[0])


def show_figure7(data: Points) -> Section:
    """Show times, losses and the speedup."""
    heads = ("output, Gb/s", "FIFO, ms", "lost, %", "Olaf, ms", "lost, %", "speedup")
    title = f"Time until {GOAL} updates of each worker; means and standard deviations of {data['runs']} runs"
    rows = [[rate, *_format_times(kept)] for rate, kept in data["rates"].items()]
    others = [
        [str(place["clusters"]), str(place["slots"]), rate, *_format_times(kept)]
        for place in data["sweep"]
        for rate, kept in place["rates"].items()
    ]
    runs = min(data["runs"], FEW)
    sweep = FigureTable(
        f"Other numbers of clusters and slots; {runs} runs", ("clusters", "slots", *heads), others
    )
    return Section({"speedup": FigureTable(title, heads, rows), "sweep": sweep})


def _format_times(kept: Points) -> list[str]:
    found = Spreads.of_json(kept)
    columns = (("FIFO", 1), ("FIFO lost", 1), ("Olaf", 1), ("Olaf lost", 1), ("speedup", 2))
    return [found.format_value(name, digits) for name, digits in columns]


def draw_figure7(data: Points, figure: "Drawing") -> None:
    """Draw the speedup over the output's rate."""
    found = [Spreads.of_json(kept) for kept in data["rates"].values()]
    means, spreads = zip(*(one.values["speedup"] for one in found), strict=True)
    axes = figure.subplots()
    axes.bar(list(data["rates"]), means, yerr=spreads, color=pictures.SUBJECT)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set(xlabel="output, Gb/s", ylabel="T(FIFO) / T(Olaf)")
