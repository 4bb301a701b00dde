"""``sdk/examples/grpo_tiny.py`` three ways: deltas, full broadcast, players that wait for each version."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from olafctl import paths
from olafctl.targets.interface import Progress
from olaflab.papers.runs import Runs
from olaflab.papers.summary import Estimate, estimate_mean
from olafswitch.errors import OlafError, Problem

WAYS = ("deltas", "full", "synchronous")
Settings = Mapping[str, Any]
"""The options of the example, by name."""


@dataclass(frozen=True)
class Training:
    """One run of the example, as it prints it."""

    way: str
    seed: int
    seconds: float
    bytes: int
    reward: list[float]
    """Reward of each step."""
    end: float
    """Mean reward of the last 20 steps."""
    lost: float
    """Share of the players' time in which they waited for weights."""
    refused: int
    """Batches whose weights were too old."""
    staleness: dict[str, int]
    """Batches that were learnt from, by versions that their weights were behind."""
    trivial: dict[str, float] = field(default_factory=dict)
    """Rewards of answers that need no learning: only what ends above them has learnt."""


@dataclass(frozen=True)
class Row:
    """One way, over its seeds."""

    way: str
    seeds: int
    ends: list[float]
    """Mean reward of the last 20 steps, by seed."""
    reward: Estimate
    above: Estimate
    """The reward above the best trivial answer's: what was learnt."""
    gain: Estimate
    """Rise of the reward from the first 20 steps to the last 20."""
    beside: Estimate
    """Reward of the deltas minus this way's, seed by seed."""
    megabytes: Estimate
    lost: Estimate
    """Seconds of play lost by each player."""
    refused: Estimate
    staleness: dict[str, int]
    trivial: float
    """Best reward of an answer that needs no learning."""


def train_ways(folder: Path, seeds: Sequence[int], settings: Settings, progress: Progress) -> list[Training]:
    """Train every way with every seed; runs that ``folder`` holds already are not repeated.

    Raises OlafError when the example fails.
    """
    runs = Runs(Training, folder, progress)
    return [
        runs.run_of(way, seed, dict(settings), partial(_run, way, seed, settings))
        for seed in seeds
        for way in WAYS
    ]


def _run(way: str, seed: int, settings: Settings) -> Training:
    script = paths.sources() / "sdk" / "examples" / "grpo_tiny.py"
    command = [sys.executable, str(script), "--json", "--way", way, "--seed", str(seed)]
    for name, value in settings.items():
        command += [f"--{name}", str(value)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or ["no output"])[-1]
        raise OlafError(Problem(f"failed: {last}", script.name, "see that torch is installed"))
    return Training(**json.loads(ended.stdout))


def summarise_ways(trainings: Sequence[Training]) -> list[Row]:
    """Estimate over the seeds, which are the same of every way."""
    by_way = {way: [one for one in trainings if one.way == way] for way in WAYS}
    deltas = np.array([one.end for one in by_way["deltas"]])
    rows = []
    for way, runs in by_way.items():
        ends = np.array([one.end for one in runs])
        starts = np.array([np.mean(one.reward[:20]) for one in runs])
        staleness: Counter[str] = Counter()
        for one in runs:
            staleness.update(one.staleness)
        trivial = max([0.0, *(reward for one in runs for reward in one.trivial.values())])
        rows.append(
            Row(
                way,
                len(runs),
                ends.tolist(),
                estimate_mean(ends),
                estimate_mean(ends - trivial),
                estimate_mean(ends - starts),
                estimate_mean(deltas - ends),
                estimate_mean(np.array([one.bytes / 1e6 for one in runs])),
                estimate_mean(np.array([one.lost * one.seconds for one in runs])),
                estimate_mean(np.array([float(one.refused) for one in runs])),
                dict(sorted(staleness.items())),
                trivial,
            )
        )
    return rows
