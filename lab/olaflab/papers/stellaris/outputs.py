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
from olaflab.papers.congested import SYSTEMS, Deployed, OutputRun, Setting
from olaflab.papers.figure import FigureTable, Points
from olaflab.papers.runs import Runs
from olaflab.papers.summary import Summary, compare_seeds, estimate_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

OUTPUTS = (1.0, 0.5, 0.25)
FOLLOWED = ("Olaf + Stellaris at the server", "Olaf + plain")
"""Rules whose number of learners follows the network, too."""
LEAST = 0.25
"""The output at which it does."""
Found = dict[Setting, list[OutputRun]]
"""A run a seed."""
_COLUMNS = ("system", "learners", "auto", "output", "seed", "final", "mean", *OutputRun.__dataclass_fields__)


def compare_outputs(
    learners: Sequence[int], followed: int, seconds: float, seeds: int, more: int, folder: Path,
    progress: Progress,
) -> Summary:  # fmt: skip
    """Compare ``learners`` side by side in every system, ``seeds`` times; of ``followed``, fixed against
    followed, ``more`` times.

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
    found = _train_settings(wanted, Runs(OutputRun, folder, progress), progress)
    return Summary(
        f"CartPole, learners behind one output, {seconds:g} s of virtual time",
        {
            "seconds": seconds,
            "seeds": seeds,
            "followed_seeds": more,
            "rate": congested.RATE,
            "gradient_seconds": congested.GRADIENT,
            "values": congested.VALUES,
            "slots": congested.SLOTS,
        },
        (
            "learners",
            "output",
            "system",
            "return",
            "all the time",
            "staleness",
            "AoM ms",
            "count",
            "lost",
            "learner s",
            "$ reserved",
            "$ invoked",
            "$ with starts",
        ),
        [_make_row(each, found[each][:seeds]) for each in grid],
        dict(
            statement
            for system in FOLLOWED
            for statement in _judge_statements(*_pair_runs(found, both, system))
        ),
        _COLUMNS,
        list(_list_points(found)),
        [_compare_fixed(found, both)],
    )


def _train_settings(wanted: dict[Setting, int], runs: Runs[OutputRun], progress: Progress) -> Found:
    """Seed by seed, so that what is interrupted has all systems alike."""
    found: Found = {each: [] for each in wanted}
    for number in sorted({each.learners for each in wanted}):
        with closing(Deployed(congested.make_testbed(number), progress)) as engine:
            for seed in range(1, max(wanted.values()) + 1):
                for each in [one for one, many in wanted.items() if one.learners == number and seed <= many]:
                    settings = {**asdict(each), "rate": each.rate, "step": congested.RATE}
                    make = partial(engine.train_deployed, SYSTEMS[each.system], each, seed)
                    run = runs.run_of(_curve_name(each), seed, settings, make)
                    found[each].append(run)
    return found


def _curve_name(setting: Setting) -> str:
    system = list(SYSTEMS).index(setting.system)
    number = f"auto{setting.learners}" if setting.auto else f"{setting.learners}"
    return f"learners-{number}-{setting.output * 100:.0f}-system{system}"


def _make_column(runs: Sequence[OutputRun], of: Callable[[OutputRun], float]) -> Any:
    return np.array([of(run) for run in runs])


def _mean_of(runs: Sequence[OutputRun], of: Callable[[OutputRun], float]) -> float:
    return float(_make_column(runs, of).mean())


def _make_row(setting: Setting, runs: Sequence[OutputRun]) -> tuple[Any, ...]:
    return (
        setting.learners,
        f"{setting.output:.0%}",
        setting.system,
        estimate_mean(_make_column(runs, lambda run: run.final_return)),
        estimate_mean(_make_column(runs, lambda run: run.mean_return)),
        *_list_costs(runs),
    )


def _list_costs(runs: Sequence[OutputRun]) -> tuple[Any, ...]:
    return (
        round(_mean_of(runs, lambda run: run.staleness), 2),
        round(1000 * _mean_of(runs, lambda run: run.age), 1),
        round(_mean_of(runs, lambda run: run.updates / run.frames), 2),
        f"{_mean_of(runs, lambda run: run.lost / run.gradients):.1%}",
        round(_mean_of(runs, lambda run: run.busy), 1),
        *(round(_mean_of(runs, attrgetter(cost)), 4) for cost in ("reserved", "invoked", "whole")),
    )


def _pair_runs(
    found: Found, both: Sequence[Setting], system: str
) -> tuple[str, list[OutputRun], list[OutputRun]]:
    fixed, auto = (found[each] for each in both if each.system == system)
    many = min(len(fixed), len(auto))
    return system, fixed[:many], auto[:many]


def _judge_statements(
    system: str, fixed: list[OutputRun], auto: list[OutputRun]
) -> Iterator[tuple[str, str]]:
    for what, of in (
        ("takes fewer learner-seconds", lambda run: run.busy),
        ("has less return at the end", lambda run: run.final_return),
        ("has less return over all of the time", lambda run: run.mean_return),
    ):
        yield compare_seeds(f"{system}: auto {what}", _make_column(fixed, of), _make_column(auto, of))


def _compare_fixed(found: Found, both: Sequence[Setting]) -> FigureTable:
    rows = []
    for system in FOLLOWED:
        _, fixed, auto = _pair_runs(found, both, system)
        for name, runs in (("fixed", fixed), ("auto", auto)):
            ends = (
                estimate_mean(_make_column(runs, of))
                for of in (lambda run: run.final_return, lambda run: run.mean_return)
            )
            admitted = f"{_mean_of(runs, lambda run: run.admitted):.2f}"
            rows.append([system, name, admitted, *map(str, (*ends, *_list_costs(runs)))])
        gains = (
            estimate_mean(_make_column(auto, of) - _make_column(fixed, of))
            for of in (lambda run: run.final_return, lambda run: run.mean_return)
        )
        rows.append([system, "difference", "", *map(str, gains), *[""] * 8])
    heads = ("system", "learners", "that may run", "return", "all the time", "staleness", "AoM ms", "count",
             "lost", "learner s", "$ reserved", "$ invoked", "$ with starts")  # fmt: skip
    title = f"A fixed number of {both[0].learners} learners, and as many as the output carries, at 25 %"
    return FigureTable(title, heads, rows)


def _list_points(found: Found) -> Iterator[tuple[Any, ...]]:
    for setting, runs in found.items():
        for seed, run in enumerate(runs, 1):
            returns = " ".join(f"{each:.1f}" for each in run.returns)
            yield (
                setting.system,
                setting.learners,
                setting.auto,
                setting.output,
                seed,
                f"{run.final_return:.2f}",
                f"{run.mean_return:.2f}",
                returns,
                *list(vars(run).values())[1:],
            )


def draw_outputs(points: Points, drawing: Drawing) -> None:
    """Draw each system's return over the output's rate, a panel for each number of learners."""
    rows = points["rows"]
    numbers = list(dict.fromkeys(row[0] for row in rows))
    panels = drawing.subplots(len(numbers), 1, sharex=True, squeeze=False)[:, 0]
    looks = pictures.assign_styles(SYSTEMS, re.compile("engine"))
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
    pictures.add_legend(drawing, panels[0], columns=2)
