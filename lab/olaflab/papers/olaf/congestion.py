"""Figure 8 of OLAF: what congestion costs in reward, and what other settings than its own change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from olaf.policies import Periodic, Plain, PolicyMaker, RewardGated

from olafctl.targets.interface import Progress
from olafctl.wire.modes import Mode
from olaflab.papers.curves import COLUMNS, points
from olaflab.papers.olaf.ends import IDEAL, ORIGINS, PAIRS, TENTH, Ends, Rewards, by_end
from olaflab.papers.olaf.lab import Lab, Queue, Run, lab
from olaflab.papers.runs import Runs, rewards
from olaflab.papers.summary import Summary, estimate
from olaflab.training.plan import Pace, Plan

UPDATE = 0.15
"""Seconds of virtual time for an update: the load is the same from beginning to end."""
JITTER = 0.3
FRAME_BITS = 8 * 8884
POLICIES: dict[str, PolicyMaker] = {"plain": Plain, "gate": RewardGated, "once": partial(Periodic, updates=1)}
"""A merged frame counts as its updates; so, behind the gate of OLAF §2.1; as one update."""


@dataclass(frozen=True)
class Setting:
    """What is trained, and how; figure 8's own if not said otherwise."""

    clusters: int = 2
    workers: int = 3
    """Workers of each cluster."""
    slots: int = 2
    policy: str = "plain"
    local_rate: float = 1e-3
    """Rate of a worker's optimiser, twice the usual: three workers learn in as many updates as six would."""
    longer: int = 1
    """By how much the training is longer."""
    comparable: float | None = None
    """Rewards that differ by more are not merged by the queue: the better one stays (OLAF §3)."""


OWN = Setting()
VARIANTS = {
    "gate": ("reward gate at the server", Setting(policy="gate")),
    "once": ("a merged frame counts as one update", Setting(policy="once")),
    "rule": ("reward rule in the queue", Setting(comparable=200.0)),
    "long": ("half the learning rate, twice the updates", Setting(local_rate=5e-4, longer=2)),
    "nine": ("9 clusters, 8 slots", Setting(clusters=9, slots=8)),
}
"""By the name of their runs: what is different."""


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
_TITLE = f"{OWN.clusters} clusters of {OWN.workers} workers"
_SHOWN = "Olaf, 55 % less output"


def figure8(updates: int, seeds: int, folder: Path, progress: Progress) -> Summary:
    """Two clusters behind no queue, FIFO and Olaf's, at the output rates where FIFO loses 55 and 74 %."""
    curves = _curves("", OWN, updates, seeds, Runs(Run, folder, progress), progress)
    found = _rewards(curves)
    holds = {text: met for origin in ORIGINS for text, met in Ends(found, origin).targets()}
    return Summary(
        _TITLE,
        {**_settings(OWN, updates), "seeds": seeds},
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


def settings(updates: int, seeds: int, folder: Path, progress: Progress) -> Summary:
    """Figure 8 as it is, and with one thing changed at a time; with more clusters, fewer seeds."""
    runs = Runs(Run, folder, progress)
    found = {"as figure 8": _curves("", OWN, updates, seeds, runs, progress)}
    for name, (title, setting) in VARIANTS.items():
        # More clusters are more trainings of a seed.
        enough = max(1, seeds * OWN.clusters // setting.clusters)
        found[title] = _curves(f"{name}-", setting, updates, enough, runs, progress)
    rows: list[tuple[Any, ...]] = []
    for title, curves in found.items():
        for origin in ORIGINS:
            ends = Ends(_rewards(curves), origin)
            learnt = [str(ends.learnt(name)) for name in curves if name != IDEAL]
            gains = [str(ends.gain(olaf, fifo)) for olaf, (fifo, _) in PAIRS.items()]
            of = len(curves[IDEAL])
            rows.append((title, of, round(float(ends.of(IDEAL).mean()), 1), origin, *learnt, *gains))
    limited = [name for name in OUTPUTS if name != IDEAL]
    return Summary(
        "learnt, and Olaf's gain over FIFO, with one thing changed at a time",
        {**_settings(OWN, updates), "seeds": seeds},
        ("setting", "seeds", "ideal's end reward", "R0", *limited, "gain, 55 %", "gain, 74 %"),
        rows,
        {
            f"{title}: {text}": met
            for title, curves in found.items()
            for text, met in Ends(_rewards(curves)).targets()
        },
        ("setting", *COLUMNS),
        [(title, *point) for title, curves in found.items() for point in points(curves)],
    )


def _curves(
    prefix: str, setting: Setting, updates: int, seeds: int, runs: Runs[Run], progress: Progress
) -> Curves:
    """The runs of every queue by its name. Raises OlafError."""
    curves: Curves = {name: [] for name in OUTPUTS}
    with lab("figure8", setting.clusters, setting.workers, setting.slots, progress) as twin:
        for seed in range(1, seeds + 1):
            for number, (name, output) in enumerate(OUTPUTS.items()):
                its = _without_merging(setting) if output.mode is Mode.FIFO else setting
                curve = f"{'' if its == OWN else prefix}queue{number}"
                curves[name].append(_run(twin, runs, curve, its, output, updates, seed))
    return curves


def _without_merging(setting: Setting) -> Setting:
    """The same setting, or figure 8's own where no frames are merged: how they count does not matter then."""
    policy = "plain" if setting.policy == "once" else setting.policy
    return replace(setting, policy=policy, comparable=None)


def _run(
    twin: Lab, runs: Runs[Run], curve: str, setting: Setting, output: _Output, updates: int, seed: int
) -> Run:
    offered = setting.clusters * setting.workers * FRAME_BITS / UPDATE
    rate = None if output.less is None else round(offered * (1 - output.less))
    queue = Queue(output.mode, rate, setting.comparable)
    plan = Plan(
        updates * setting.longer,
        1,
        Pace(update=UPDATE, jitter=JITTER),
        seed,
        POLICIES[setting.policy],
        control=output.mode is Mode.OLAF,  # OLAF §5
        local_rate=setting.local_rate,
    )
    made_with = {**_settings(setting, updates), "mode": output.mode.name, "rate": rate}
    return runs.of(curve, seed, made_with, partial(twin.train, queue, plan))


def _settings(setting: Setting, updates: int) -> dict[str, Any]:
    settings = {
        "clusters": setting.clusters,
        "workers": setting.workers,
        "slots": setting.slots,
        "updates": updates * setting.longer,
        "update_seconds": UPDATE,
        "jitter": JITTER,
        "policy": setting.policy,
        "local_rate": setting.local_rate,
    }
    return settings if setting.comparable is None else {**settings, "comparable": setting.comparable}


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
