"""Iterations to the same reward, with the staleness that arises: actor-critic and deep Q-learning on a pole
on a cart, as the paper emulates asynchrony, by the use of old weights (iSwitch §5.3, §6.2).

Staleness is drawn from the histogram of an asynchronous run of the same algorithm's workload in the
event-level model. Half an hour of one core; what it found is kept.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from olafctl.errors import BadInput, Problem
from olaflab.model.iterations import Approach
from olaflab.paper.iswitch.costs import Costs
from olaflab.paper.iswitch.predicted import JITTER, staleness
from olaflab.paper.iswitch.published import WORKERS, WORKLOADS
from olaflab.training.cartpole import EVERY, ActorCritic, DeepQ, Learner, train

FILE = "iswitch-learning.json"
GOAL, MOST = 200.0, 8000
"""Mean return of the newest episodes, of at most 500, and iterations. Deep Q-learning stays below 300."""
_HOW = "olafctl bench iswitch --trainings FILE"
_STUDENT = {5: 2.776, 10: 2.262, 20: 2.093}
"""Of means of so many, 95 %."""
LEARNERS: Mapping[str, Callable[[int], Learner]] = {"A2C": ActorCritic, "DQN": DeepQ}
"""By the workload whose staleness they have."""


@dataclass(frozen=True)
class Way:
    """How gradients become iterations."""

    name: str
    each: int
    """Gradients of an iteration."""
    stale: Approach | None
    """Whose staleness they have; None has none."""


WAYS = (
    Way("synchronous", WORKERS, None),
    Way("Async iSW", WORKERS, Approach.ENGINE_ASYNC),
    Way("Async PS", 1, Approach.SERVER_ASYNC),
    Way("one gradient an iteration, none stale", 1, None),
)


def measure(costs: Costs, seeds: int, progress: Callable[[str], None]) -> dict[str, Any]:
    """Every way's trainings, by learner."""
    found: dict[str, Any] = {"seeds": seeds, "goal": GOAL, "most": MOST, "every": EVERY, "learners": {}}
    for name, make in LEARNERS.items():
        workload = next(each for each in WORKLOADS if each.name == name)
        ways = found["learners"][name] = {}
        for way in WAYS:
            progress(f"{name}, {way.name}")
            counts = (
                [1] if way.stale is None else staleness(way.stale, workload, costs, JITTER).staleness.tolist()
            )
            chances = np.array(counts) / sum(counts)
            draw = partial(_draw, np.cumsum(chances))
            runs = [train(make, way.each, draw, MOST, GOAL, seed) for seed in range(seeds)]
            ways[way.name] = {
                "each": way.each,
                "staleness": float(chances @ np.arange(len(chances))),
                "iterations": [run.iterations for run in runs],
                "curves": [run.curve for run in runs],
            }
    return found


def load(folder: Path) -> dict[str, Any] | None:
    """What was found, where it is kept; None where it is not. Raises BadInput for a file that is none."""
    path = folder / FILE
    try:
        kept: dict[str, Any] = json.loads(path.read_text())
        _ = kept["seeds"], kept["goal"], [way["iterations"] for way in kept["learners"]["A2C"].values()]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(Problem("is no such training", str(path), _HOW)) from error
    return kept


def mean(values: list[int | None]) -> tuple[float, float] | None:
    """A mean and half of its interval of 95 %; None unless all got there."""
    known = [value for value in values if value is not None]
    if len(known) < len(values) or len(known) < 2:
        return None
    student = _STUDENT.get(len(known), 2.0 + 8.0 / len(known))
    return float(np.mean(known)), student * float(np.std(known, ddof=1)) / len(known) ** 0.5


def _draw(sums: Any, random: np.random.Generator) -> int:
    return int(np.searchsorted(sums, random.random(), side="right"))
