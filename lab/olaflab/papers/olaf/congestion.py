"""Figure 8 of OLAF: what congestion costs in reward."""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from olaf.policies import Plain

from olafctl.targets.interface import Progress
from olafctl.wire.modes import Mode
from olaflab.papers.curves import COLUMNS, list_points
from olaflab.papers.olaf.ends import IDEAL, ORIGINS, TENTH, Ends, compare_earlier_ends
from olaflab.papers.olaf.lab import Queue, TwinRun, run_lab_twin
from olaflab.papers.runs import Runs, reward_table
from olaflab.papers.summary import Summary, estimate_mean
from olaflab.training.plan import Pace, TrainingPlan

UPDATE, JITTER = 0.15, 0.3
"""Seconds of virtual time for an update, and how much they vary: the load is the same throughout."""
FRAME_BITS = 8 * 8884
CLUSTERS, WORKERS, SLOTS = 2, 3, 2
LOCAL_RATE = 1e-3
"""Rate of a worker's optimiser, twice the usual: three workers learn in as many updates as six would."""
OUTPUTS: dict[str, tuple[Mode, float | None]] = {
    IDEAL: (Mode.FIFO, None),
    "FIFO, 55 % lost": (Mode.FIFO, 0.55),
    "FIFO, 74 % lost": (Mode.FIFO, 0.74),
    "Olaf, 55 % less output": (Mode.OLAF, 0.55),
    "Olaf, 74 % less output": (Mode.OLAF, 0.74),
}
"""The queue, and how much less its output carries than is offered; None is no limit."""


def compare_outputs(updates: int, seeds: int, folder: Path, progress: Progress) -> Summary:
    """Train two clusters behind no queue, FIFO and Olaf's, at the rates where FIFO loses 55 and 74 %."""
    settings = {
        "clusters": CLUSTERS, "workers": WORKERS, "slots": SLOTS, "updates": updates,
        "update_seconds": UPDATE, "jitter": JITTER, "policy": "plain", "local_rate": LOCAL_RATE,
    }  # fmt: skip
    curves = _train_queues(settings, seeds, Runs(TwinRun, folder, progress), progress)
    found = {name: reward_table(runs) for name, runs in curves.items()}
    ends, tenth = Ends(found), Ends(found, TENTH)
    rows = []
    for name, runs in curves.items():
        sent, contained = sum(run.sent for run in runs), sum(run.contained for run in runs)
        rows.append(
            (
                name,
                estimate_mean(ends.end_reward(name)),
                str(ends.learnt_share(name)),
                str(tenth.learnt_share(name)),
                round(ends.ideal_after(contained / sent), 2),
                f"{sum(run.lost for run in runs) / sent:.1%}",
                round(contained / sum(run.received for run in runs), 2),
                round(float(np.mean([run.age_of_model for run in runs])), 3),
            )
        )
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
        rows,
        dict(
            target
            for each in (ends.judge_targets(), tenth.judge_targets(), ends.literal_targets())
            for target in each
        ),
        COLUMNS,
        list(list_points(curves)),
        [compare_earlier_ends(found, origin) for origin in ORIGINS],
    )


def _train_queues(
    settings: dict[str, Any], seeds: int, runs: Runs[TwinRun], progress: Progress
) -> dict[str, list[TwinRun]]:
    """Return the runs of every queue by its name. Raises OlafError."""
    offered, curves = CLUSTERS * WORKERS * FRAME_BITS / UPDATE, {name: list[TwinRun]() for name in OUTPUTS}
    with run_lab_twin("figure8", CLUSTERS, WORKERS, SLOTS, progress) as twin:
        for seed, (number, (name, (mode, less))) in product(range(1, seeds + 1), enumerate(OUTPUTS.items())):
            rate = None if less is None else round(offered * (1 - less))
            control = mode is Mode.OLAF  # OLAF §5
            pace = Pace(update=UPDATE, jitter=JITTER)
            plan = TrainingPlan(
                settings["updates"], 1, pace, seed, Plain, control=control, local_rate=LOCAL_RATE
            )
            made_with = {**settings, "mode": mode.name, "rate": rate}
            make = partial(twin.train_queue, Queue(mode, rate), plan)
            curves[name].append(runs.run_of(f"queue{number}", seed, made_with, make))
    return curves
