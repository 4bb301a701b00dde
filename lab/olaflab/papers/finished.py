"""Points that were found before, kept by all that decides them: an interrupted command goes on."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from olafctl.verify import aom
from olaflab import fairness
from olaflab.model import arrays, library, run, scenario
from olaflab.papers.figure import Effort, Figure, Points
from olafswitch import cache

_FILE = "figures.json"


def points(figure: Figure, effort: Effort) -> Points:
    """The points of a figure of the model: kept ones, if nothing that decides them changed.

    A figure that names no code takes seconds, and is run each time.
    """
    if not figure.code:
        return figure.run(effort)
    needed = [json.dumps(effort.kept.get(name), sort_keys=True) for name in figure.needs]
    key = cache.digest([figure.name, str(effort.seeds), *needed, *_simulator(), *figure.code])

    def build(work: Path) -> None:
        (work / _FILE).write_text(json.dumps(figure.run(effort)))

    folder, built = cache.build_once("reproduce", key, build)
    if not built:
        effort.progress("run before")
    return cast(Points, json.loads((folder / _FILE).read_text()))


def _simulator() -> Sequence[Path]:
    """The files that decide what a scenario's run measures."""
    python = [Path(module.__file__ or "") for module in (arrays, library, run, scenario, aom, fairness)]
    return [*python, *sorted(library.NATIVE.iterdir()), *library.RULES]
