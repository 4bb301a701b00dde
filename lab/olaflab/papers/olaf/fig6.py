"""OLAF figure 6: how many worker updates an outgoing frame holds, by the output's rate."""

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from olafctl import plotting
from olafctl.wire.modes import Mode
from olaflab import pictures
from olaflab.papers.figure import Points, Progress, Section, Table, modelled, verdicts
from olaflab.papers.olaf import table1
from olaflab.papers.olaf.demo.experiment import AT_ONCE
from olaflab.papers.olaf.microbenchmark import CLUSTERS, G, load, planned, replay

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

RATES = (40, 20, 5)
_SHOWN = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)


def measure(runs: int, progress: Progress) -> Points:
    """Frames by the updates in them, all runs together: in turn as in table 1, and all clusters together."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for name, at_once, number in (("in turn", AT_ONCE, runs), ("together", None, 1)):
        progress(name)
        totals = {rate: Counter[int]() for rate in RATES}
        for order in range(number):
            wanted = load(at_once, order)
            plan = planned(wanted)
            for rate in RATES:
                totals[rate] += replay(plan, wanted.frame_bytes, Mode.OLAF, rate * G).counts
        found[name] = {
            str(rate): {str(n): f for n, f in sorted(total.items())} for rate, total in totals.items()
        }
    return {"runs": runs, "frames": found}


def section(data: Points) -> Section:
    """The CDF at some counts, and where it moves to the right as the rate falls."""
    titles = {
        "in turn": f"{AT_ONCE} clusters at a time, {data['runs']} runs",
        "together": f"all {CLUSTERS} together",
    }
    rows = []
    for name, by_rate in data["frames"].items():
        for rate, frames in by_rate.items():
            counts, shares = cdf(frames)
            rows.append([titles[name], rate, *(f"{100 * _at(counts, shares, n):.1f}" for n in _SHOWN)])
    heads = ("clusters", "output, Gb/s", *(f"≤ {n}" for n in _SHOWN))
    return Section(
        {"cdf": Table("Percent of outgoing frames that hold at most so many worker updates", heads, rows)},
        verdicts(
            dict(
                statement
                for name, by_rate in data["frames"].items()
                for statement in _moves(titles[name], by_rate)
            )
        ),
    )


def _moves(title: str, by_rate: dict[str, dict[str, int]]) -> Iterator[tuple[str, bool]]:
    """For each pair of rates: at the lower one no greater share holds at most n updates, for every n."""
    for (above, more), (below, fewer) in pairwise(by_rate.items()):
        curves = [cdf(frames) for frames in (more, fewer)]
        wrong = [str(n) for n in _SHOWN if _at(*curves[1], n) > _at(*curves[0], n)]
        but = f"; not at most {', '.join(wrong)} updates" if wrong else ""
        yield f"{title}: further right at {below} Gb/s than at {above} Gb/s{but}", not wrong


def cdf(frames: dict[str, int]) -> tuple[list[int], list[float]]:
    """Counts in rising order, and the share of frames with at most as many."""
    counts = sorted(int(count) for count in frames)
    total = sum(frames.values())
    return counts, [seen / total for seen in accumulate(frames[str(count)] for count in counts)]


def _at(counts: list[int], shares: list[float], most: int) -> float:
    return max((share for count, share in zip(counts, shares, strict=True) if count <= most), default=0.0)


def draw(data: Points, figure: "Drawing") -> None:
    """The CDFs of both kinds of traffic."""
    both = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes, (name, by_rate) in zip(both, data["frames"].items(), strict=True):
        for number, (rate, frames) in enumerate(by_rate.items()):
            counts, shares = cdf(frames)
            axes.step(
                counts,
                shares,
                plotting.LINES[number],
                where="post",
                color=plotting.COLOURS[number],
                label=f"{rate} Gb/s",
            )
        axes.set(xlabel="worker updates in an outgoing frame", title=f"clusters {name}")
        axes.set(xlim=(1, 32), ylim=(0, 1))
        axes.grid(alpha=0.3)
    both[0].set_ylabel("share of frames with at most as many")
    pictures.legend(figure, both[0])


FIGURE = modelled(
    "fig6",
    "Figure 6: aggregations per outgoing update",
    measure,
    section,
    draw,
    (10, 4.3),
    (Path(__file__), *table1.CODE),
)
