"""Figure 7 of OLAF: how much sooner than with FIFO the server has 200 updates of each of 300 workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from olafctl import paths
from olafctl.targets import testbeds
from olafctl.targets.interface import Progress
from olafctl.wire.modes import Mode
from olaflab import pictures
from olaflab.papers.figure import Points
from olaflab.papers.olaf.delivery import (
    FRAME_BYTES,
    OFFERED,
    TRACE,
    Delivery,
    DeliveryCase,
    RecordedControl,
    run_trace_twin,
)
from olaflab.papers.runs import Runs
from olaflab.papers.summary import Summary, compare_seeds, estimate_mean
from olaflab.training.replay import trace as traces

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

TESTBED = "hundred-clusters"
RATES = (40, 20, 5)
"""Gb/s of the output."""
_COUNTED = ", frames counted"
CASES = (
    DeliveryCase("FIFO", Mode.FIFO),
    DeliveryCase("Olaf", Mode.OLAF),
    DeliveryCase("Olaf, transmission control", Mode.OLAF, RecordedControl()),
    DeliveryCase(f"Olaf, transmission control{_COUNTED}", Mode.OLAF, RecordedControl(), folded=False),
    DeliveryCase("FIFO, transmission control", Mode.FIFO, RecordedControl()),
)
FIFO = CASES[0]
_COLUMNS = ("gigabits", "queue", "seed", *Delivery.__dataclass_fields__)
Measured = dict[tuple[int, str], list[Delivery]]
"""Runs by Gb/s and the case's name; a run a seed."""
Speedups = dict[tuple[int, str], NDArray[np.float64]]
"""FIFO's time divided by the case's, with the same seed."""


def measure_speedups(updates: int, seeds: int, folder: Path, progress: Progress) -> Summary:
    """Measure the time of each case at each output rate, and FIFO's divided by it."""
    found, settings = _measure_cases(CASES, RATES, updates, seeds, folder, progress)
    speedups = _compute_speedups(found)
    return Summary(
        _make_title(updates),
        settings,
        (
            *("Gb/s", "queue", "ms", "± ms", "all ready ms", "speed-up", "±"),
            *("sent", "frames", "updates a frame", "lost"),
        ),
        [_make_row(key, runs, speedups[key]) for key, runs in found.items()],
        dict(_judge_statements(speedups)),
        _COLUMNS,
        _list_points(found),
    )


def _make_title(updates: int) -> str:
    return f"{updates} updates of each of 300 workers"


def _measure_cases(
    cases: Sequence[DeliveryCase],
    rates: Sequence[int],
    updates: int,
    seeds: int,
    folder: Path,
    progress: Progress,
) -> tuple[Measured, dict[str, object]]:
    """Return every run, and the settings that all share. Raises OlafError."""
    found: Measured = {}
    runs = Runs(Delivery, folder, progress)
    testbed, trace = (
        testbeds.load_testbed(testbeds.locate_testbed(TESTBED)),
        traces.load_trace(paths.sources() / TRACE),
    )
    with run_trace_twin(testbed, trace, progress) as twin:
        settings = {
            "updates": updates,
            "offered": OFFERED,
            "frame_bytes": FRAME_BYTES,
            "time_scale": round(twin.scale, 1),
            "recording": TRACE.name,
        }
        for gigabits, case in product(rates, cases):
            curve = f"delivery-{gigabits}-{_file_name(case)}"
            made_with = {**settings, **_made_with(case), "gigabits": gigabits}
            found[gigabits, case.name] = [
                runs.run_of(curve, seed, made_with, partial(twin.run_case, case, gigabits, updates, seed))
                for seed in range(1, seeds + 1)
            ]
    return found, {**settings, "seeds": seeds}


def _made_with(case: DeliveryCase) -> dict[str, object]:
    control = asdict(case.control) if case.control else None
    return {"mode": case.mode.name, "control": control, "folded": case.folded}


def _file_name(case: DeliveryCase) -> str:
    """Return the name of the files of a case's runs; cases that differ in name alone share them."""
    control = f"-{case.control.delta_t:g}-{case.control.v:g}" if case.control else ""
    return f"{case.mode.name.lower()}{control}{'' if case.folded else '-frames'}"


def _compute_speedups(found: Measured) -> Speedups:
    return {
        (gigabits, name): np.array(
            [fifo.seconds / run.seconds for fifo, run in zip(found[gigabits, FIFO.name], runs, strict=True)]
        )
        for (gigabits, name), runs in found.items()
    }


def _make_row(key: tuple[int, str], runs: list[Delivery], speedup: NDArray[np.float64]) -> tuple[object, ...]:
    time, faster = estimate_mean(np.array([run.seconds * 1e3 for run in runs])), estimate_mean(speedup)
    sent, frames = fmean(run.sent for run in runs), fmean(run.frames for run in runs)
    return (
        *key,
        round(time.mean, 3),
        round(time.interval, 3),
        round(fmean(run.ready for run in runs) * 1e3, 3),
        round(faster.mean, 2),
        round(faster.interval, 2),
        round(sent),
        round(frames),
        round(fmean(run.contained for run in runs) / frames, 2),
        f"{fmean(run.lost for run in runs) / sent:.1%}",
    )


def _list_points(found: Measured) -> list[tuple[object, ...]]:
    return [
        (*key, seed, *vars(run).values()) for key, runs in found.items() for seed, run in enumerate(runs, 1)
    ]


def _judge_statements(speedups: Speedups) -> Iterator[tuple[str, str]]:
    """Judge the paper's statements about its figure."""
    for case in (case for case in CASES if case.mode is Mode.OLAF):
        found = {gigabits: speedups[gigabits, case.name] for gigabits in RATES}
        for gigabits, speedup in found.items():
            claim = f"{case.name}, {gigabits} Gb/s: faster than FIFO"
            yield compare_seeds(claim, speedup, np.ones(len(speedup)), digits=2)
        for faster, slower in pairwise(RATES):
            claim = f"{case.name}: the speed-up grows from {faster} to {slower} Gb/s"
            yield compare_seeds(claim, found[slower], found[faster], digits=2)


def draw_speedups(points: Points, drawing: Drawing) -> None:
    """Draw the speed-up of each case at each rate, with its interval."""
    axes = drawing.subplots()
    found = [dict(zip(points["heads"], row, strict=True)) for row in points["rows"]]
    cases = [name for name in dict.fromkeys(row["queue"] for row in found) if name != FIFO.name]
    width = 0.8 / len(cases)
    for number, case in enumerate(cases):
        its = {int(row["Gb/s"]): row for row in found if row["queue"] == case}
        heights, spreads = ([float(its[rate][head]) for rate in RATES] for head in ("speed-up", "±"))
        places, hatch = np.arange(len(RATES)) + number * width, "//" if case.endswith(_COUNTED) else None
        colour = pictures.style_of(case)["color"]
        axes.bar(places, heights, width, yerr=spreads, label=case, color=colour, hatch=hatch)
    middle = width * (len(cases) - 1) / 2
    axes.set_xticks(np.arange(len(RATES)) + middle, [f"{gigabits} Gb/s" for gigabits in RATES])
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set(xlabel="output", ylabel="speed-up over FIFO")
    pictures.add_legend(drawing, axes, columns=2)
