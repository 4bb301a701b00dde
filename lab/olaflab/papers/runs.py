"""Finished runs in files: an interrupted figure continues, and the next one takes what it can use."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from olafctl.targets.interface import Progress
from olafswitch.errors import OlafError, Problem

Kind = TypeVar("Kind")


class Trained(Protocol):
    """A training with a curve."""

    @property
    def rewards(self) -> list[float]:
        """Mean reward by update."""

    @property
    def seconds(self) -> list[float]:
        """Virtual time at which each update was ready."""


class Runs(Generic[Kind]):
    """The runs of one folder, by curve and seed; each is a dataclass of plain values."""

    def __init__(self, kind: type[Kind], folder: Path, progress: Progress) -> None:
        """Raises OlafError when the folder cannot be made."""
        self._kind = kind
        self._folder = folder / "runs"
        self._progress = progress
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OlafError(Problem(f"cannot be made: {error.strerror}", str(self._folder))) from error

    def run_of(self, curve: str, seed: int, settings: dict[str, Any], make: Callable[[], Kind]) -> Kind:
        """Return the run of a curve with this seed; a stored one, if it was made with the same settings."""
        path = self._folder / f"{curve}-{seed}.json"
        kept = self._read_kept(path, settings)
        if kept is not None:
            return kept
        self._progress(f"{curve}, seed {seed}")
        run = make()
        try:
            path.write_text(json.dumps({"settings": settings, "run": vars(run)}) + "\n")
        except OSError as error:
            raise OlafError(Problem(f"cannot be written: {error.strerror}", str(path))) from error
        return run

    def _read_kept(self, path: Path, settings: dict[str, Any]) -> Kind | None:
        """Read a finished run; None where it is missing, cut off, or made with other settings."""
        try:
            found = json.loads(path.read_text())
            same = found["settings"] == json.loads(json.dumps(settings))
            return self._kind(**found["run"]) if same else None
        except (OSError, ValueError, KeyError, TypeError):
            return None


def reward_table(runs: Sequence[Trained]) -> NDArray[np.float64]:
    """Return (seeds, updates) rewards."""
    return np.array([run.rewards for run in runs])


def final_reward(runs: Sequence[Trained]) -> NDArray[np.float64]:
    """Return (seeds,) the mean reward of the last tenth of the updates."""
    table = reward_table(runs)
    return np.asarray(table[:, -max(1, table.shape[1] // 10) :].mean(axis=1))


def mean_reward(runs: Sequence[Trained]) -> NDArray[np.float64]:
    """Return (seeds,) the mean reward over the whole training, which fast learning raises."""
    return np.asarray(reward_table(runs).mean(axis=1))
