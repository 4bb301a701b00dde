"""ARTOS figure 16: where each update's seconds go while the actors become more, in the cost model; and a step
up for real.
"""

import os
import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from olaf.elastic import Actors, Held, Schedule, Seen

from olaflab import pictures
from olaflab.papers.artos.model import ModelCosts, model_artos
from olaflab.papers.artos.sleeping import busy
from olaflab.papers.artos.tables import NOISE
from olaflab.papers.figure import Points
from olaflab.papers.summary import Estimate, estimate_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

SCHEDULE, UPDATES = Schedule(4, 32, 4, 5), 40


@dataclass(frozen=True)
class Parts:
    """Seconds of an update."""

    start: float
    """Start of new actors in Ray; in ARTOS the wait for actors to be restored."""
    play: float
    transfer: float
    learn: float
    """In ARTOS without what the first epoch hides behind the transfer."""

    @property
    def whole(self) -> float:
        """Seconds of the whole update."""
        return self.start + self.play + self.transfer + self.learn


@dataclass(frozen=True)
class GrowingUpdate:
    """One update of both systems."""

    actors: int
    ray: Parts
    artos: Parts


def model_updates(costs: ModelCosts, noise: float = NOISE, seed: int = 1) -> list[GrowingUpdate]:
    """Model all 40 updates; ``noise`` is the deviation of ARTOS' iterations."""
    found: list[GrowingUpdate] = []
    have = SCHEDULE.blocks(Seen(0, 0))
    for number, step in enumerate(model_artos(costs, SCHEDULE, UPDATES, noise, seed).steps):
        actors = SCHEDULE.blocks(Seen(number, 0))
        transfer, learn = actors * costs.transfer, actors * costs.learn
        of_ray = Parts((actors - have) * costs.created, costs.play, transfer, learn)
        learn -= actors * costs.overlapped_learning
        ours = Parts(
            step.waited, costs.play * step.factor, transfer * costs.slower * step.factor, learn * step.factor
        )
        found.append(GrowingUpdate(actors, of_ray, ours))
        have = actors
    return found


@dataclass(frozen=True)
class StepUp:
    """For real: two actors become four, all on one core."""

    new: Estimate
    """Seconds that the update takes longer than the next one, if the two are started for it, as in Ray."""
    asleep: Estimate
    """The same, if they were there and asleep."""


def measure_step_up(repeats: int, turn: float = 0.05) -> StepUp:
    """Measure both in turn, ``repeats`` times; a forked actor computes ``turn`` seconds."""
    core = max(os.sched_getaffinity(0))
    found: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(repeats):
        for there, longer in found.items():
            with closing(Actors(busy, (core, turn), held=Held(), now=time.monotonic)) as team:
                if there:
                    team.prepare(range(4))
                _update(team, 2)
                while there and team.awake:
                    team.serve(60.0)
                longer.append(_update(team, 4) - _update(team, 4))
    return StepUp(estimate_mean(np.array(found[False])), estimate_mean(np.array(found[True])))


def _update(team: Actors, actors: int) -> float:
    begin = time.monotonic()
    team.invoke(range(actors))
    while team.playing:
        team.serve(60.0)
    return time.monotonic() - begin


def draw_updates(points: Points, drawing: "Drawing") -> None:
    """Draw both as stacked areas, one below the other."""
    found = [row for row in points["rows"] if "actors" in row]
    both: Any = drawing.subplots(2, 1, sharex=True, sharey=True)
    colours = (pictures.GREYS[2], pictures.GREYS[3], pictures.GREYS[1], pictures.SUBJECT)
    names = {"play": "playing", "transfer": "transfer", "learn": "learning", "start": "actors that start"}
    numbers = range(1, len(found) + 1)
    for axes, title in zip(both, ("Ray", "ARTOS"), strict=True):
        layers = [[row[title.lower()][part] for row in found] for part in names]
        axes.stackplot(numbers, layers, labels=names.values(), colors=colours, step="mid")
        axes.set(title=f"{title}, cost model", ylabel="s")
        axes.grid(alpha=0.3)
    both[1].set_xlabel("update; four more actors after every five")
    pictures.add_legend(drawing, both[0], columns=4)
