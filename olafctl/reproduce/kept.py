"""Figures that were measured before: by everything that decides them, so an interrupted run goes on."""

import json
from pathlib import Path
from typing import cast

from olafctl import aom, cache, simulate
from olafctl.reproduce.experiment import Data, Experiment, Progress

_FILE = "figures.json"
_KINDS = (".py", ".h", ".cpp")


def figures(experiment: Experiment, runs: int, progress: Progress) -> Data:
    """The experiment's figures over ``runs`` runs: kept ones if nothing that decides them changed.

    One without code of its own, which looks up what others measured, is not kept.
    """
    if not experiment.code:
        return experiment.measure(runs, progress)
    rooms = [Path(room.__file__ or "").parent for room in (simulate, aom)]
    code = [path for room in rooms for path in sorted(room.rglob("*")) if path.suffix in _KINDS]
    key = cache.digest([experiment.name, str(runs), *code, *experiment.code])

    def build(work: Path) -> None:
        (work / _FILE).write_text(json.dumps(experiment.measure(runs, progress)))

    folder, built = cache.build_once("reproduce", key, build)
    if not built:
        progress("measured before")
    return cast(Data, json.loads((folder / _FILE).read_text()))
