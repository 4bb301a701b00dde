"""The experiment of learners that share an output: every system at every load, and fixed numbers of learners
against those that follow the network."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from olafctl.targets.interface import Progress
from olaflab import pictures
from olaflab.papers import congested
from olaflab.papers.congested import SYSTEMS, Deployed, Run, Setting
from olaflab.papers.figure import Points, Table
from olaflab.papers.runs import Runs
from olaflab.papers.summary import Summary, compare, estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

OUTPUTS = (1.0, 0.5, 0.25)
FOLLOWED = ("Olaf + Stellaris at the server", "Olaf + plain")
"""Rules whose number of learners follows the network, too."""
LEAST = 0.25
"""The output at which it does."""
Found = dict[Setting, list[Run]]
"""A run a seed."""
_COLUMNS = ("system", "learners", "auto", "output", "seed", "final", "mean", *Run.__dataclass_fields__)


def figure(
    learners: Sequence[int], followed: int, seconds: float, seeds: int, more: int, folder: Path,
    progress: Progress,
) -> Summary:  # fmt: skip
    """``learners`` side by side in every system, ``seeds`` times; of ``followed``, fixed against followed,
    ``more`` times.

    Raises OlafError.
    """
    both = [Setting(system, followed, LEAST, seconds, auto) for system in FOLLOWED for auto in (False, True)]
    grid = [
        Setting(system, number, output, seconds)
        for number in learners
        for output in OUTPUTS
        for system in SYSTEMS
    ]
    wanted = dict.fromkeys(grid, seeds) | {each: max(more, seeds * (each in grid)) for each in both}
    found = _run(wanted, Runs(Run, folder, progress), progress)
    return Summary(
        f"CartPole, learners behind one output, {seconds:g} s of virtual time",
        {"seconds": seconds, "seeds": seeds, "followed_seeds": more, "rate": congested.RATE,
         "gradient_seconds": congested.GRADIENT, "values": congested.VALUES, "slots": congested.SLOTS},
        ("learners", "output", "system", "return", "all the time", "staleness", "AoM ms", "count", "lost",
         "learner s", "$ reserved", "$ invoked", "$ with starts"),
        [_row(each, found[each][:seeds]) for each in grid],
        dict(statement for system in FOLLOWED for statement in _statements(*_two(found, both, system))),
        _COLUMNS,
        list(_points(found)),
        [_compared(found, both)],
    )  # fmt: skip


def _run(wanted: dict[Setting, int], runs: Runs[Run], progress: Progress) -> Found:
    """Seed by seed, so that what is interrupted has all systems alike."""
    found: Found = {each: [] for each in wanted}
    for number in sorted({each.learners for each in wanted}):
        with closing(Deployed(congested.testbed(number), progress)) as engine:
            for seed in range(1, max(wanted.values()) + 1):
                for each in [one for one, many in wanted.items() if one.learners == number and seed <= many]:
                    settings = {**asdict(each), "rate": each.rate, "step": congested.RATE}
                    make = partial(engine.train, SYSTEMS[each.system], each, seed)
                    run = runs.of(_name(each), seed, settings, make)
                    found[each].append(run)
    return found


def _name(setting: Setting) -> str:
    system = list(SYSTEMS).index(setting.system)
    number = f"auto{setting.learners}" if setting.auto else f"{setting.learners}"
    return f"learners-{number}-{setting.output * 100:.0f}-system{system}"


def _column(runs: Sequence[Run], of: Callable[[Run], float]) -> Any:
    return np.array([of(run) for run in runs])


def _mean(runs: Sequence[Run], of: Callable[[Run], float]) -> float:
    return float(_column(runs, of).mean())


def _row(setting: Setting, runs: Sequence[Run]) -> tuple[Any, ...]:
    return (
        setting.learners,
        f"{setting.output:.0%}",
        setting.system,
        estimate(_column(runs, lambda run: run.final)),
        estimate(_column(runs, lambda run: run.mean)),
        *_costs(runs),
    )


def _costs(runs: Sequence[Run]) -> tuple[Any, ...]:
    return (
        round(_mean(runs, lambda run: run.staleness), 2),
        round(1000 * _mean(runs, lambda run: run.age), 1),
        round(_mean(runs, lambda run: run.updates / run.frames), 2),
        f"{_mean(runs, lambda run: run.lost / run.gradients):.1%}",
        round(_mean(runs, lambda run: run.busy), 1),
        *(round(_mean(runs, attrgetter(cost)), 4) for cost in ("reserved", "invoked", "whole")),
    )


def _two(found: Found, both: Sequence[Setting], system: str) -> tuple[str, list[Run], list[Run]]:
    fixed, auto = (found[each] for each in both if each.system == system)
    many = min(len(fixed), len(auto))
    return system, fixed[:many], auto[:many]


def _statements(system: str, fixed: list[Run], auto: list[Run]) -> Iterator[tuple[str, str]]:
    for what, of in (
        ("takes fewer learner-seconds", lambda run: run.busy),
        ("has less return at the end", lambda run: run.final),
        ("has less return over all of the time", lambda run: run.mean),
    ):
        yield compare(f"{system}: auto {what}", _column(fixed, of), _column(auto, of))


def _compared(found: Found, both: Sequence[Setting]) -> Table:
    rows = []
    for system in FOLLOWED:
        _, fixed, auto = _two(found, both, system)
        for name, runs in (("fixed", fixed), ("auto", auto)):
            ends = (estimate(_column(runs, of)) for of in (lambda run: run.final, lambda run: run.mean))
            admitted = f"{_mean(runs, lambda run: run.admitted):.2f}"
            rows.append([system, name, admitted, *map(str, (*ends, *_costs(runs)))])
        gains = (
            estimate(_column(auto, of) - _column(fixed, of))
            for of in (lambda run: run.final, lambda run: run.mean)
        )
        rows.append([system, "difference", "", *map(str, gains), *[""] * 8])
    heads = ("system", "learners", "that may run", "return", "all the time", "staleness", "AoM ms", "count",
             "lost", "learner s", "$ reserved", "$ invoked", "$ with starts")  # fmt: skip
    title = f"A fixed number of {both[0].learners} learners, and as many as the output carries, at 25 %"
    return Table(title, heads, rows)


def _points(found: Found) -> Iterator[tuple[Any, ...]]:
    for setting, runs in found.items():
        for seed, run in enumerate(runs, 1):
            returns = " ".join(f"{each:.1f}" for each in run.returns)
            yield (setting.system, setting.learners, setting.auto, setting.output, seed, f"{run.final:.2f}",
                   f"{run.mean:.2f}", returns, *list(vars(run).values())[1:])  # fmt: skip


def draw(points: Points, drawing: Drawing) -> None:
    """Draw each system's return over the output's rate, a panel for each number of learners."""
    rows = points["rows"]
    numbers = list(dict.fromkeys(row[0] for row in rows))
    panels = drawing.subplots(len(numbers), 1, sharex=True, squeeze=False)[:, 0]
    looks = pictures.styles(SYSTEMS, re.compile("engine"))
    for axes, number in zip(panels, numbers, strict=True):
        for place, system in enumerate(SYSTEMS):
            ends = [row[4] for row in rows if (row[0], row[2]) == (number, system)]
            along = np.arange(len(OUTPUTS)) + 0.08 * (place - 1.5)
            half = [np.nan_to_num(end["interval"]) for end in ends]
            axes.errorbar(
                along, [end["mean"] for end in ends], half, capsize=3, label=system, **looks[system]
            )
        axes.set(title=f"{number} learners", ylabel="mean return over\nall of the time")
        axes.set_xticks(range(len(OUTPUTS)), [f"{output:.0%}" for output in OUTPUTS])
        axes.grid(alpha=0.3)
    panels[-1].set_xlabel("output, of the load")
    pictures.legend(drawing, panels[0], columns=2)
