"""OLAF table 1: FIFO and Olaf at 40 and 20 Gb/s, over how many clusters train at a time.

The paper does not say when a slot is free again. Ours is when its update begins to leave; one that is held
until the update is sent is a slot less for those that wait, since a free output has nothing waiting.
"""

from collections.abc import Sequence
from pathlib import Path

from olafctl import paths
from olafctl.wire.modes import Mode
from olaflab.papers import statistics
from olaflab.papers.figure import Points, Progress, Section, Table, modelled
from olaflab.papers.olaf import microbenchmark
from olaflab.papers.olaf.demo.experiment import AT_ONCE, TRACE
from olaflab.papers.olaf.demo.table1 import PAPER
from olaflab.papers.olaf.microbenchmark import CLUSTERS, SLOTS, G, load, planned, replay
from olaflab.papers.statistics import Figures, over
from olaflab.training.replay import schedule
from olaflab.training.replay.measure import reduction
from olaflab.training.replay.report import mode_text

RATES = (40, 20)
"""Gb/s."""
KS = (2, 3, 4, 5, 6, 7, 9)
"""Clusters that train at a time."""
CODE = (
    Path(__file__),
    *(Path(module.__file__ or "") for module in (microbenchmark, statistics, schedule)),
    paths.sources() / TRACE,
)


def measure(runs: int, progress: Progress) -> Points:
    """Every k; nine at a time have no order to choose, so one run."""
    found = {}
    for k in KS:
        progress(f"{k} clusters at a time")
        orders = range(1 if k == CLUSTERS else runs)
        found[str(k)] = over(_once(k, order) for order in orders).as_json()
    return {"runs": runs, "at_once": found}


def _once(k: int, order: int) -> dict[str, float]:
    wanted = load(None if k == CLUSTERS else k, order)
    plan = planned(wanted)
    figures: dict[str, float] = {}
    for rate in RATES:
        fifo, olaf = (replay(plan, wanted.frame_bytes, mode, rate * G) for mode in (Mode.FIFO, Mode.OLAF))
        for name, one in ((_name(Mode.FIFO, rate), fifo), (_name(Mode.OLAF, rate), olaf)):
            figures |= {
                f"{name} received": one.received,
                f"{name} merged": one.merged,
                f"{name} replaced": one.replaced,
                f"{name} lost": 100 * one.lost / one.sent,
                f"{name} age": one.age / 1000,
            }
        held = replay(plan, wanted.frame_bytes, Mode.OLAF, rate * G, SLOTS - 1)
        figures[f"{rate} held lost"] = 100 * held.lost / held.sent
        figures[f"{rate} less"] = 100 * (reduction(fifo.age, olaf.age) or 0.0)
    return figures


def section(data: Points) -> Section:
    """Table 1 at the demo's k and with all together, and the sweep over k."""
    found = {int(k): Figures.of_json(kept) for k, kept in data["at_once"].items()}
    tables = {
        "in_turn": _comparison(found[AT_ONCE], f"{AT_ONCE} clusters at a time; {data['runs']} runs"),
        "together": _comparison(found[CLUSTERS], "All nine clusters together; one run, which has no choice"),
        "sweep": _sweep(found, data["runs"]),
    }
    return Section(tables)


def _comparison(found: Figures, title: str) -> Table:
    heads = (
        "queue",
        "received (paper)",
        "ours",
        "aggregated (paper)",
        "ours",
        "replaced (ours)",
        "lost, % (paper)",
        "ours",
        "AoM, µs (ours)",
        "AoM less by, % (paper)",
        "ours",
    )
    rows = []
    for (mode, rate), paper in PAPER.items():
        name, olaf = _name(mode, rate), mode is Mode.OLAF
        rows.append(
            [
                name,
                str(paper.received),
                found.text(f"{name} received"),
                str(paper.aggregated) if olaf else "–",
                found.text(f"{name} merged") if olaf else "–",
                found.text(f"{name} replaced") if olaf else "–",
                f"{paper.lost:.1f}",
                found.text(f"{name} lost", 1),
                found.text(f"{name} age", 3),
                f"{paper.reduction:.0f}" if olaf and paper.reduction is not None else "",
                found.text(f"{rate} less", 1) if olaf else "",
            ]
        )
    return Table(title, heads, rows)


def _sweep(found: dict[int, Figures], runs: int) -> Table:
    heads = ["clusters at a time"]
    for rate in RATES:
        heads += [f"FIFO lost, % at {rate} Gb/s", "Olaf lost, %", "slots held until sent", "AoM less by, %"]
    rows = [[str(k), *_cells(one)] for k, one in found.items()]
    paper: list[str] = ["paper"]
    for rate in RATES:
        fifo, olaf = PAPER[Mode.FIFO, rate], PAPER[Mode.OLAF, rate]
        paper += [f"{fifo.lost:.1f}", f"{olaf.lost:.1f}", f"{olaf.lost:.1f}", f"{olaf.reduction:.0f}"]
    return Table(
        f"Means and standard deviations of {runs} runs, each with another order", heads, [*rows, paper]
    )


def _cells(found: Figures) -> Sequence[str]:
    cells = []
    for rate in RATES:
        cells += [
            found.text(f"{_name(Mode.FIFO, rate)} lost", 1),
            found.text(f"{_name(Mode.OLAF, rate)} lost", 1),
            found.text(f"{rate} held lost", 1),
            found.text(f"{rate} less", 1),
        ]
    return cells


def _name(mode: Mode, rate: int) -> str:
    return f"{mode_text(mode)} {rate} Gb/s"


FIGURE = modelled("table1", "Table 1: one engine, constrained output", measure, section, code=CODE)
