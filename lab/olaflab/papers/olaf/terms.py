"""The equal-terms comparison: what Olaf adds to FIFO, to a better learning rate, and to workers that add up.

Learners of one small model, or of several, share an output that carries less than they offer. Every
contender trains at the learning rate that is best for it, found on seeds of their own, and is compared seed
by seed: by its curve, by the mean return over all of the time, which is the area below the curve, and by its
end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from olaf.policies import Asynchronous

from olafctl.wire.modes import Mode
from olaflab import pictures
from olaflab.papers import congested
from olaflab.papers.congested import Deployed, OutputRun, Setting, System
from olaflab.papers.curves import half_intervals, plot_mean, read_table
from olaflab.papers.figure import Effort, FigureTable, Points, Section, tabulate_pairs
from olaflab.papers.runs import Runs
from olaflab.papers.summary import Estimate, compare_seeds, estimate_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

OLAF, FREE = "Olaf", "no bottleneck"


class TermsCase(NamedTuple):
    """Learners, the share of what they offer that their output carries, and the clusters that they are in."""

    learners: int
    output: float
    clusters: int = 1

    @property
    def slots(self) -> int:
        """The queue's: too few for several clusters."""
        return congested.SLOTS if self.clusters == 1 else self.clusters // 2

    def __str__(self) -> str:
        where = f" in {self.clusters} clusters, {self.slots} slots" if self.clusters > 1 else ""
        return f"{self.learners} learners{where}, {self.output:.0%} output"


CASES = (
    TermsCase(8, 0.25), TermsCase(8, 0.5), TermsCase(2, 0.25), TermsCase(8, 1.0),
    TermsCase(8, 0.25, clusters=4),
)  # fmt: skip
SYSTEMS = (
    System("FIFO", Mode.FIFO, Asynchronous, control=False),
    System("FIFO, workers add up", Mode.FIFO, Asynchronous, control=False, adding=True),
    System(OLAF, Mode.OLAF, Asynchronous, control=False),
    System(FREE, Mode.FIFO, Asynchronous, control=False),
    System("Olaf, transmission control", Mode.OLAF, Asynchronous),
)
"""FREE is the upper limit: an output without a limit, where nothing waits and nothing is lost.

One cluster never has more active indices than slots: P_s is 1, and transmission control's runs are those of
Olaf, to the byte. So it trains with several alone.
"""
_STEPS = (0.5, 1.0, 1.41, 2.0, 2.83, 4.0)
_LEAST, _MOST = 0.125, 16.0
"""Learning rates that are tried, in units of RATE; beyond either end while that end is the best."""
_PACES = (1.0, 0.9)
"""Shares of their part of the output that workers that add up use: with less, fewer updates wait."""
_TUNED_ON = range(101, 104)
"""Seeds on which the rate is chosen; none of them is reported."""
_SECONDS, _SEEDS = 6.0, 10
_PARTS = 20
"""Points of a curve."""
_LABELS = {
    "FIFO": "FIFO, rate ×1", "FIFO, best rate": "FIFO, best rate", OLAF: "Olaf, best rate",
    "FIFO, workers add up, best rate": "workers add up, best rate", FREE: "no bottleneck, best rate",
}  # fmt: skip
COLUMNS = ("learners", "output", "clusters", "contender", "rate", "seed", "seconds", "return")


def run_terms(
    effort: Effort, cases: tuple[TermsCase, ...] = CASES, seconds: float = _SECONDS, target: str = "software"
) -> Points:
    """Train every contender in each case; finished runs are kept. Raises OlafError.

    ``target`` is the engine's: ``twin`` or, several times as fast, ``software``.
    """
    runs, lines, tried, rows = Runs(OutputRun, effort.folder, effort.progress), [], [], []
    for case in cases:
        bed = congested.make_testbed(case.learners, target, case.clusters, case.slots)
        with closing(Deployed(bed, effort.progress)) as engine:
            bench = _Bench(engine, runs, case, seconds)
            for name, setting, made in bench.train_lines(effort.seed_count(_SEEDS)):
                lines.append(describe_line(case, name, setting, made))
                rows += list(_list_points(case, name, setting, made))
            tried += bench.tried
    return pack_points(lines, tried, rows, {"seconds": seconds, "seeds": effort.seed_count(_SEEDS)})


def pack_points(lines: list[Any], tried: list[Any], rows: list[Any], settings: Mapping[str, Any]) -> Points:
    """Return points: a line a contender and case, the search for the rates, and every return as columns."""
    columns = {name: np.array(column) for name, column in zip(COLUMNS, zip(*rows, strict=True), strict=True)}
    known = {"unit of rate": congested.RATE, "rate chosen on seeds": list(_TUNED_ON),
             "values": congested.VALUES}  # fmt: skip
    return {"settings": {**settings, **known}, "lines": lines, "tried": tried, "columns": columns}


def describe_line(case: TermsCase, name: str, setting: Setting, made: list[OutputRun]) -> dict[str, Any]:
    """Return what stands beside a contender's returns."""
    return {
        **case._asdict(), "slots": case.slots, "contender": name, "rate": _format_rate(setting),
        "arrived": float(np.mean([1 - each.lost / each.gradients for each in made])),
        "staleness": float(np.mean([each.staleness for each in made])),
        "age": 1e3 * float(np.mean([each.age for each in made])),
    }  # fmt: skip


class _Bench:
    """Trains in one case, and finds the rate of each contender."""

    def __init__(self, engine: Deployed, runs: Runs[OutputRun], case: TermsCase, seconds: float) -> None:
        self._engine, self._runs, self._case, self._seconds = engine, runs, case, seconds
        self.tried: list[list[str]] = []

    def train_lines(self, seeds: int) -> Iterator[tuple[str, Setting, list[OutputRun]]]:
        """Train each contender at its best rate, FIFO also at ×1."""
        fifo = self._make_setting(SYSTEMS[0], 1.0)
        entries = [("FIFO", SYSTEMS[0], fifo)]
        for system in SYSTEMS if self._case.clusters > 1 else SYSTEMS[:-1]:
            name = f"{system.name}, best rate" if system.name.startswith("FIFO") else system.name
            entries.append((name, system, self._find_best(system)))
        for name, system, setting in entries:
            yield name, setting, [self._train_once(system, setting, seed) for seed in range(1, seeds + 1)]

    def _find_best(self, system: System) -> Setting:
        areas: dict[Setting, float] = {}
        for pace in _PACES if system.adding else (1.0,):
            areas |= self._try_rates(system, pace)
        self.tried += [
            [str(self._case), system.name, _format_rate(each), f"{area:.1f}"] for each, area in areas.items()
        ]
        return max(areas, key=areas.__getitem__)

    def _try_rates(self, system: System, pace: float) -> dict[Setting, float]:
        areas = {step: self._mean_area(system, step, pace) for step in _STEPS}
        while (best := max(areas, key=areas.__getitem__)) in (min(areas), max(areas)):
            step = best / 2 if best == min(areas) else best * 2
            if not _LEAST <= step <= _MOST:
                break
            areas[step] = self._mean_area(system, step, pace)
        return {self._make_setting(system, step, pace): area for step, area in sorted(areas.items())}

    def _mean_area(self, system: System, step: float, pace: float) -> float:
        setting = self._make_setting(system, step, pace)
        return float(np.mean([self._train_once(system, setting, seed).mean_return for seed in _TUNED_ON]))

    def _make_setting(self, system: System, step: float, pace: float = 1.0) -> Setting:
        output = inf if system.name == FREE else self._case.output
        return Setting(
            system.name, self._case.learners, output, self._seconds, step=step, pace=pace, parts=_PARTS,
            clusters=self._case.clusters,
        )  # fmt: skip

    def _train_once(self, system: System, setting: Setting, seed: int) -> OutputRun:
        kept = {**asdict(setting), "rate": setting.rate, "unit": congested.RATE}
        place, share = SYSTEMS.index(system), f"{100 * setting.output:.0f}"
        where = f"{setting.learners}-{share}-{setting.clusters}-{place}"
        make = partial(self._engine.train_deployed, system, setting, seed)
        return self._runs.run_of(f"terms-{where}-{setting.step:g}-{setting.pace:g}", seed, kept, make)


def _format_rate(setting: Setting) -> str:
    pace = "" if setting.pace == 1 else f", {setting.pace:.0%} of the share"
    return f"× {setting.step:g}{pace}"


def _list_points(
    case: TermsCase, name: str, setting: Setting, made: list[OutputRun]
) -> Iterator[tuple[Any, ...]]:
    part = setting.seconds / setting.parts
    for seed, each in enumerate(made, 1):
        for number, value in enumerate(each.returns, 1):
            yield *case, name, setting.step, seed, round(number * part, 3), round(value, 2)


def read_curves(points: Points) -> dict[TermsCase, dict[str, Any]]:
    """Return (seeds, parts) returns by case and contender."""
    columns, found = points["columns"], dict[TermsCase, dict[str, Any]]()
    for line in points["lines"]:
        case, name = _read_case(line), line["contender"]
        its = {**case._asdict(), "contender": name}
        found.setdefault(case, {})[name] = read_table(columns, "return", its)
    return found


def _read_case(line: Mapping[str, Any]) -> TermsCase:
    return TermsCase(*(line[name] for name in TermsCase._fields))


def show_terms(points: Points) -> Section:
    """Compare Olaf with each other contender, seed by seed: over all the time, and at the end."""
    found, rows, verdicts = read_curves(points), [], {}
    settings = points["settings"]
    for line in points["lines"]:
        case, name = _read_case(line), line["contender"]
        both = [(part(found[case][OLAF]), part(found[case][name])) for part in (_all_the_time, _end_returns)]
        away: list[Estimate | str] = [estimate_mean(ours - its) for ours, its in both]
        if name == OLAF:
            away = ["", ""]
        else:
            for when, pair in zip(("over all the time", "at the end"), both, strict=True):
                text, word = compare_seeds(f"{case}: {when} Olaf has more return than {name}", *pair)
                verdicts[text] = word
        rows.append(
            [
                ("case", str(case)),
                ("contender", name),
                ("rate", line["rate"]),
                *zip(
                    ("all the time", "at the end"), (str(estimate_mean(its)) for _, its in both), strict=True
                ),
                ("Olaf minus it, all the time", str(away[0])),
                ("Olaf minus it, at the end", str(away[1])),
                ("arrived", f"{line['arrived']:.0%}"),
                ("staleness", f"{line['staleness']:.1f}"),
                ("AoM ms", f"{line['age']:.1f}"),
            ]
        )
    title = (f"CartPole, learners of one model behind one output, {settings['seconds']:g} s of virtual time;"
             f" {settings['seeds']} seeds")  # fmt: skip
    tried = FigureTable(f"Rates tried, on {len(settings['rate chosen on seeds'])} other seeds",
                  ("case", "contender", "rate", "all the time"), points["tried"])  # fmt: skip
    return Section({"summary": tabulate_pairs(title, rows), "more1": tried}, verdicts)


def _all_the_time(table: Any) -> Any:
    """Return the mean return over the training by seed: the area below the curve."""
    return table.mean(axis=1)


def _end_returns(table: Any) -> Any:
    """Return the mean return over the last fifth by seed."""
    return table[:, -(table.shape[1] // 5) :].mean(axis=1)


def draw_terms(points: Points, drawing: Drawing) -> None:
    """Draw the curves, a panel for each case of one cluster and a bottleneck: means and 95 % intervals."""
    curves = read_curves(points).items()
    found = {case: by_name for case, by_name in curves if case.output < 1 and case.clusters == 1}
    seconds = points["settings"]["seconds"]
    panels = drawing.subplots(len(found), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (case, by_name) in zip(panels, found.items(), strict=True):
        for name, table in by_name.items():
            along = seconds * np.arange(1, table.shape[1] + 1) / table.shape[1]
            half = None if name == FREE else half_intervals(table)
            plot_mean(axes, along, table, _LABELS[name], pictures.style_of(name), half)
        axes.set(title=f"{case.learners} learners send {1 / case.output:g} times what the link carries")
        axes.set_ylabel("mean return")
        axes.grid(alpha=0.3)
    panels[-1].set_xlabel("virtual seconds")
    pictures.add_legend(drawing, panels[0], columns=2)
