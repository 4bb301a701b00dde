"""The equal-terms comparison: what Olaf adds to FIFO, to a better learning rate, and to workers that add up.

Learners of one small model share an output that carries less than they offer. Every contender trains at the
learning rate that is best for it, found on seeds of their own, and is compared seed by seed: by its curve, by
the mean return over all of the time, which is the area below the curve, and by its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from olaf.policies import Asynchronous

from olafctl import plotting
from olafctl.targets.interface import Progress
from olafctl.wire.modes import Mode
from olaflab import pictures
from olaflab.papers.figure import Points, Table
from olaflab.papers.runs import Runs
from olaflab.papers.stellaris import congested
from olaflab.papers.stellaris.compare import contradicted, shown, verdict
from olaflab.papers.stellaris.congested import Run, Setting, System
from olaflab.papers.stellaris.outputs import Deployed
from olaflab.papers.summary import Estimate, Summary, estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

OLAF, CONTROLLED = "Olaf", "Olaf with transmission control"


class Case(NamedTuple):
    """Learners, and the share of what they offer that their output carries."""

    learners: int
    output: float

    def __str__(self) -> str:
        return f"{self.learners} learners, {self.output:.0%} output"


CASES = (Case(8, 0.25), Case(8, 0.5), Case(2, 0.25))
_FIFO = System("FIFO", Mode.FIFO, Asynchronous, control=False)
_ADDING = System("FIFO, workers add up", Mode.FIFO, Asynchronous, control=False, adding=True)
_OLAF = System(OLAF, Mode.OLAF, Asynchronous, control=False)
_CONTROLLED = System(CONTROLLED, Mode.OLAF, Asynchronous)
_STEPS = (0.5, 1.0, 2.0, 4.0)
_LEAST, _MOST = 0.125, 16.0
"""Learning rates that are tried, in units of RATE; beyond either end while that end is the best."""
_PACES = (1.0, 0.9)
"""What workers that add up may use of their share: with less, fewer updates wait for each other."""
_TUNED_ON = range(101, 104)
"""Seeds on which the rate is chosen; none of them is reported."""
_PARTS = 20
"""Points of a curve."""
_HEADS = ("case", "contender", "rate", "all the time", "at the end", "Olaf minus it, all the time",
          "Olaf minus it, at the end", "arrived", "staleness", "AoM ms")  # fmt: skip
COLUMNS = ("learners", "output", "contender", "rate", "seed", "seconds", "return")


@dataclass(frozen=True)
class Line:
    """A contender at its rate, a run a seed."""

    setting: Setting
    runs: list[Run]

    def all_the_time(self) -> Any:
        """(seeds,) mean return over the training: the area below the curve."""
        return np.array([run.mean for run in self.runs])

    def end(self) -> Any:
        """(seeds,) mean return over the last fifth."""
        return np.array([run.final for run in self.runs])


def equal_terms(
    seconds: float, seeds: int, folder: Path, progress: Progress,
    cases: Sequence[Case] = CASES, target: str = "software",
) -> Summary:  # fmt: skip
    """Every contender in each case, ``seeds`` times; finished runs are kept in ``folder``. Raises OlafError.

    ``target`` is the engine's: ``twin`` or, several times as fast, ``software``.
    """
    runs, lines, tried = Runs(Run, folder, progress), dict[Case, dict[str, Line]](), list[Sequence[str]]()
    for case in cases:
        with closing(Deployed(congested.testbed(case.learners, target), progress)) as engine:
            bench = _Bench(engine, runs, case, seconds)
            lines[case] = bench.lines(seeds)
            tried += bench.tried()
    said = dict(statement for case, its in lines.items() for statement in _statements(case, its))
    points = [point for case, its in lines.items() for point in _points(case, its)]
    return Summary(
        f"CartPole, learners of one model behind one output, {seconds:g} s of virtual time",
        {"seconds": seconds, "seeds": seeds, "unit of rate": congested.RATE,
         "rate chosen on seeds": list(_TUNED_ON), "values": congested.VALUES, "slots": congested.SLOTS,
         "clusters": 1},
        _HEADS,
        [row for case, its in lines.items() for row in _rows(case, its)],
        shown(said),
        COLUMNS,
        points,
        [Table(f"Rates tried, on {len(_TUNED_ON)} other seeds", ("case", "contender", "rate", "all the time"),
               tried)],
        contradicted(said),
    )  # fmt: skip


class _Bench:
    """Trains in one case, and finds the rate of each contender."""

    def __init__(self, engine: Deployed, runs: Runs[Run], case: Case, seconds: float) -> None:
        self._engine, self._runs, self._case, self._seconds = engine, runs, case, seconds
        self._areas: dict[Setting, float] = {}

    def lines(self, seeds: int) -> dict[str, Line]:
        """Seed by seed, so that what is interrupted has all contenders alike."""
        best = {each.name: self._best(each) for each in (_FIFO, _ADDING, _OLAF)}
        # One cluster never has more active indices than slots: P_s is 1, and the runs are those of Olaf.
        best[CONTROLLED] = replace(best[OLAF], system=CONTROLLED)
        entries = {
            "FIFO": (_FIFO, self._setting(_FIFO, 1.0)),
            **{f"{each.name}, best rate": (each, best[each.name]) for each in (_FIFO, _ADDING)},
            **{each.name: (each, best[each.name]) for each in (_OLAF, _CONTROLLED)},
        }
        lines = {name: Line(setting, []) for name, (_, setting) in entries.items()}
        for seed in range(1, seeds + 1):
            for name, (system, setting) in entries.items():
                lines[name].runs.append(self._run(system, setting, seed))
        return lines

    def tried(self) -> Iterator[Sequence[str]]:
        """The search for the rates."""
        for setting, area in self._areas.items():
            yield str(self._case), setting.system, _rate(setting), f"{area:.1f}"

    def _best(self, system: System) -> Setting:
        areas: dict[Setting, float] = {}
        for pace in _PACES if system.adding else (1.0,):
            areas |= self._at(system, pace)
        self._areas |= areas
        return max(areas, key=areas.__getitem__)

    def _at(self, system: System, pace: float) -> dict[Setting, float]:
        areas = {step: self._area(system, step, pace) for step in _STEPS}
        while (best := max(areas, key=areas.__getitem__)) in (min(areas), max(areas)):
            step = best / 2 if best == min(areas) else best * 2
            if not _LEAST <= step <= _MOST:
                break
            areas[step] = self._area(system, step, pace)
        return {self._setting(system, step, pace): area for step, area in sorted(areas.items())}

    def _area(self, system: System, step: float, pace: float) -> float:
        setting = self._setting(system, step, pace)
        return float(np.mean([self._run(system, setting, seed).mean for seed in _TUNED_ON]))

    def _setting(self, system: System, step: float, pace: float = 1.0) -> Setting:
        return Setting(system.name, *self._case, self._seconds, step=step, pace=pace, parts=_PARTS)

    def _run(self, system: System, setting: Setting, seed: int) -> Run:
        kept = {**asdict(setting), "rate": setting.rate, "unit": congested.RATE}
        case, place = self._case, (_FIFO, _ADDING, _OLAF, _CONTROLLED).index(system)
        name = f"terms-{case.learners}-{case.output * 100:.0f}-{place}-{setting.step:g}-{setting.pace:g}"
        return self._runs.of(name, seed, kept, partial(self._engine.train, system, setting, seed))


def _differences(lines: Mapping[str, Line]) -> Iterator[tuple[str, Estimate, Estimate]]:
    """Differences of Olaf from each other contender, seed by seed: all the time, at the end."""
    ours = lines[OLAF]
    for name, line in lines.items():
        if name != OLAF:
            yield name, estimate(ours.all_the_time() - line.all_the_time()), estimate(ours.end() - line.end())


def _rows(case: Case, lines: Mapping[str, Line]) -> Iterator[tuple[Any, ...]]:
    away = {name: each for name, *each in _differences(lines)}
    for name, line in lines.items():
        runs = line.runs
        yield (
            str(case), name, _rate(line.setting),
            estimate(line.all_the_time()), estimate(line.end()), *away.get(name, ("", "")),
            f"{np.mean([1 - run.lost / run.gradients for run in runs]):.0%}",
            round(float(np.mean([run.staleness for run in runs])), 1),
            round(1e3 * float(np.mean([run.age for run in runs])), 1),
        )  # fmt: skip


def _rate(setting: Setting) -> str:
    pace = "" if setting.pace == 1 else f", {setting.pace:.0%} of the share"
    return f"× {setting.step:g}{pace}"


def _statements(case: Case, lines: Mapping[str, Line]) -> Iterator[tuple[str, str]]:
    for name, area, end in _differences(lines):
        if name != CONTROLLED:
            yield f"{case}: over all the time Olaf has more return than {name}, by {area}", verdict(area)
            yield f"{case}: at the end Olaf has more return than {name}, by {end}", verdict(end)


def _points(case: Case, lines: Mapping[str, Line]) -> Iterator[tuple[Any, ...]]:
    for name, line in lines.items():
        part = line.setting.seconds / line.setting.parts
        for seed, run in enumerate(line.runs, 1):
            for number, value in enumerate(run.returns, 1):
                yield *case, name, line.setting.step, seed, f"{number * part:g}", f"{value:.2f}"


def draw(points: Points, drawing: Drawing) -> None:
    """The curves of ``points["columns"]``, a panel for each case: means and 95 % intervals."""
    columns = points["columns"]
    cases = [
        Case(int(each[0]), float(each[1]))
        for each in zip(columns["learners"], columns["output"], strict=True)
    ]
    known = list(dict.fromkeys(cases))
    names = [name for name in dict.fromkeys(columns["contender"].tolist()) if name != CONTROLLED]
    panels = drawing.subplots(1, len(known), sharey=True, squeeze=False)[0]
    for axes, case in zip(panels, known, strict=True):
        here = np.array([each == case for each in cases])
        for name, colour, style in zip(names, plotting.COLOURS, plotting.LINES, strict=False):
            its = here & (columns["contender"] == name)
            along = np.unique(columns["seconds"][its].astype(float))
            curve = columns["return"][its].astype(float).reshape(-1, len(along))
            mean = curve.mean(axis=0)
            half = np.nan_to_num([estimate(column).interval for column in curve.T])
            axes.plot(along, mean, style, color=colour, label=name)
            axes.fill_between(along, mean - half, mean + half, color=colour, alpha=0.12, linewidth=0)
        axes.set(xlabel="virtual seconds", title=str(case))
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("mean return of an episode")
    pictures.legend(drawing, panels[0], columns=4)
