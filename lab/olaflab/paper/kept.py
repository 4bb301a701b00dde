"""Figures that were measured before: by everything that decides them, so an interrupted run goes on."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from olafctl import cache
from olafctl.verify import aom
from olaflab import fairness
from olaflab.model import arrays, library, run, scenario
from olaflab.paper.experiment import Data, Experiment, Progress

_FILE = "figures.json"


def figures(experiment: Experiment, runs: int, progress: Progress) -> Data:
    """The experiment's figures over ``runs`` runs: kept ones if nothing that decides them changed.

    One without code of its own, which looks up what others measured, is not kept.
    """
    if not experiment.code:
        return experiment.measure(runs, progress)
    key = cache.digest([experiment.name, str(runs), *_simulator(), *experiment.code])

    def build(work: Path) -> None:
        (work / _FILE).write_text(json.dumps(experiment.measure(runs, progress)))

    folder, built = cache.build_once("reproduce", key, build)
    if not built:
        progress("measured before")
    return cast(Data, json.loads((folder / _FILE).read_text()))


def _simulator() -> Sequence[Path]:
    """The files that decide what a scenario's run measures."""
    python = [Path(module.__file__ or "") for module in (arrays, library, run, scenario, aom, fairness)]
    return [*python, *sorted(library.NATIVE.iterdir()), *library.RULES]
