"""Figure 8 of OLAF: what congestion costs in reward."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from olaf.policies import Plain

from olafctl.targets.interface import Progress
from olafctl.wire.modes import Mode
from olaflab.papers.curves import COLUMNS, points
from olaflab.papers.olaf.ends import IDEAL, ORIGINS, TENTH, Ends, Rewards, by_end
from olaflab.papers.olaf.lab import Queue, Run, lab
from olaflab.papers.runs import Runs, rewards
from olaflab.papers.summary import Summary, estimate
from olaflab.training.plan import Pace, Plan

UPDATE = 0.15
"""Seconds of virtual time for an update: the load is the same from beginning to end."""
JITTER = 0.3
FRAME_BITS = 8 * 8884
CLUSTERS, WORKERS, SLOTS = 2, 3, 2
"""Clusters, workers of each, slots of the queue."""
LOCAL_RATE = 1e-3
"""Rate of a worker's optimiser, twice the usual: three workers learn in as many updates as six would."""


@dataclass(frozen=True)
class _Output:
    """A queue, and how much less its output carries than is offered; None is no limit."""

    mode: Mode
    less: float | None


OUTPUTS = {
    IDEAL: _Output(Mode.FIFO, None),
    "FIFO, 55 % lost": _Output(Mode.FIFO, 0.55),
    "FIFO, 74 % lost": _Output(Mode.FIFO, 0.74),
    "Olaf, 55 % less output": _Output(Mode.OLAF, 0.55),
    "Olaf, 74 % less output": _Output(Mode.OLAF, 0.74),
}
Curves = dict[str, list[Run]]
"""By the queue's name; a run a seed."""


def figure8(updates: int, seeds: int, folder: Path, progress: Progress) -> Summary:
    """Two clusters behind no queue, FIFO and Olaf's, at the output rates where FIFO loses 55 and 74 %."""
    settings = {
        "clusters": CLUSTERS,
        "workers": WORKERS,
        "slots": SLOTS,
        "updates": updates,
        "update_seconds": UPDATE,
        "jitter": JITTER,
        "policy": "plain",
        "local_rate": LOCAL_RATE,
    }
    curves = _curves(settings, seeds, Runs(Run, folder, progress), progress)
    found = _rewards(curves)
    holds = {text: met for origin in ORIGINS for text, met in Ends(found, origin).targets()}
    return Summary(
        f"{CLUSTERS} clusters of {WORKERS} workers",
        {**settings, "seeds": seeds},
        (
            "queue",
            "end reward",
            "learnt, R0 untrained",
            "learnt, R0 first tenth",
            "ideal after as many updates",
            "lost",
            "updates a frame",
            "AoM s",
        ),
        list(_rows(curves)),
        holds | dict(Ends(found).literal_targets()),
        COLUMNS,
        list(points(curves)),
        [by_end(found, origin) for origin in ORIGINS],
    )


def _curves(settings: dict[str, Any], seeds: int, runs: Runs[Run], progress: Progress) -> Curves:
    """The runs of every queue by its name. Raises OlafError."""
    offered, curves = CLUSTERS * WORKERS * FRAME_BITS / UPDATE, {name: list[Run]() for name in OUTPUTS}
    with lab("figure8", CLUSTERS, WORKERS, SLOTS, progress) as twin:
        for seed, (number, (name, output)) in product(range(1, seeds + 1), enumerate(OUTPUTS.items())):
            rate = None if output.less is None else round(offered * (1 - output.less))
            control = output.mode is Mode.OLAF  # OLAF §5
            pace = Pace(update=UPDATE, jitter=JITTER)
            plan = Plan(settings["updates"], 1, pace, seed, Plain, control=control, local_rate=LOCAL_RATE)
            made_with = {**settings, "mode": output.mode.name, "rate": rate}
            make = partial(twin.train, Queue(output.mode, rate), plan)
            curves[name].append(runs.of(f"queue{number}", seed, made_with, make))
    return curves


def _rewards(curves: Curves) -> dict[str, Rewards]:
    return {name: rewards(found) for name, found in curves.items()}


def _rows(curves: Curves) -> Iterator[tuple[Any, ...]]:
    """What came of the trainings behind each queue."""
    found = _rewards(curves)
    ends, tenth = Ends(found), Ends(found, TENTH)
    for name, runs in curves.items():
        sent, contained = sum(run.sent for run in runs), sum(run.contained for run in runs)
        yield (
            name,
            estimate(ends.of(name)),
            str(ends.learnt(name)),
            str(tenth.learnt(name)),
            round(ends.ideal_after(contained / sent), 2),
            *_delivered(runs),
        )


def _delivered(runs: list[Run]) -> tuple[str, float, float]:
    """The share that the engine dropped, workers' updates in a frame, and the clusters' mean age in s."""
    return (
        f"{sum(run.lost for run in runs) / sum(run.sent for run in runs):.1%}",
        round(sum(run.contained for run in runs) / sum(run.received for run in runs), 2),
        round(float(np.mean([run.age_of_model for run in runs])), 3),
    )
