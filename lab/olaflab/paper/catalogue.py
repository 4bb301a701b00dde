"""Every experiment by its name, in the order of the document."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from olaflab.paper import fig6, fig7, fig10, table1, table2, table3, training
from olaflab.paper.experiment import Experiment
from olaflab.paper.iswitch.experiments import experiments as of_iswitch


def experiments(trainings: Path, kept: Path) -> Mapping[str, Experiment]:
    """Those of the event-level model, and trainings: their summaries are in ``trainings`` or in ``kept``."""
    simulated = [one.EXPERIMENT for one in (table1, fig6, fig7, table2, table3, fig10)]
    learnt = [
        Experiment(
            name,
            title,
            (),
            partial(_look_up, name, trainings, kept),
            training.section,
            training.draw,
        )
        for name, title in training.TITLES.items()
    ]
    return {one.name: one for one in (*simulated, *learnt, *of_iswitch(kept))}


def _look_up(name: str, folder: Path, kept: Path, runs: int, progress: object) -> dict[str, object]:
    return training.found(name, folder, kept)
