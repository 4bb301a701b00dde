"""Table 4 and figure 12 in small: PPO learns Breakout for real, in the time of the paper's costs.

On-policy, Ray and ARTOS play and learn the same, in different times. Side by side is what ARTOS does
off-policy: actors play the next block while the learner learns from the last one, with weights a version old.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from olaflab.papers import curves
from olaflab.papers.artos import overlap
from olaflab.papers.artos.tables import T6
from olaflab.papers.figure import Effort, decide_statements
from olaflab.papers.runs import Runs, final_reward, reward_table
from olaflab.papers.summary import Estimate, Summary, estimate_mean

UPDATES = 100
"""A twentieth of the paper's rows."""
GOAL = 3.0
"""Mean score over ten updates; play at random has 1.2."""
ACTORS = 16
_SHARE, _JITTER = 1 / 4, 0.1
"""Share of the paper's blocks; greatest relative deviation of each time."""
_PLAY, _LEARN = _SHARE * T6.play, _SHARE * ACTORS * (T6.transfer + T6.learn)
APART, BESIDE = "one after the other", "side by side"
SYSTEMS: Mapping[str, tuple[str, float]] = {
    "Ray, on-policy": (APART, 1.0),
    "ARTOS, on-policy": (APART, T6.artos_iteration(ACTORS) / T6.ray_iteration(ACTORS)),
    BESIDE: (BESIDE, 1.0),
}
"""How each trains, and its times over those of the way."""


@dataclass(frozen=True)
class Curve:
    """One training."""

    rewards: list[float]
    """Mean score of the games that ended in each update's block."""
    seconds: list[float]
    """When each update ends, by the paper's costs; evenly."""
    lag: int
    """Versions by which the oldest weights that played were behind."""

    def smooth_scores(self) -> Any:
        """Return the scores (updates,), each smoothed over ten updates."""
        return curves.smooth_table(reward_table([self]))[0]

    def score_after(self, seconds: float) -> float:
        """Return the score after so many seconds."""
        updates = int(np.searchsorted(self.seconds, seconds, side="right"))
        return float(self.smooth_scores()[max(0, updates - 1)])

    def update_at_goal(self) -> int | None:
        """Return the update after which the score is the goal, if ever."""
        there = np.flatnonzero(self.smooth_scores() >= GOAL)
        return int(there[0]) + 1 if len(there) else None


def train_breakout(effort: Effort) -> Summary:
    """Train both ways, seed by seed; finished trainings are stored. Raises ImportError, OlafError."""
    runs = Runs(Curve, effort.folder / "artos", effort.progress)
    seeds = effort.seed_count(5)
    updates = UPDATES if effort.length is None else max(1, round(UPDATES * effort.length))
    made: dict[str, list[Curve]] = {APART: [], BESIDE: []}
    for seed in range(seeds):
        for way, found in made.items():
            make = partial(_train_once, seed, updates, way)
            limits = {"updates": updates, "play": _PLAY, "learn": _LEARN}
            found.append(runs.run_of(f"breakout-{way}", seed, limits, make))
    return _summarise_curves(made, {"seeds": seeds, "updates": updates, "goal": GOAL})


def _train_once(seed: int, updates: int, way: str) -> Curve:
    from olaflab.papers.artos.breakout import BreakoutPolicy

    algorithm = BreakoutPolicy(seed, updates)
    try:
        run = overlap.run_training(algorithm, updates, _PLAY, _LEARN, _JITTER, seed, beside=way == BESIDE)
    finally:
        algorithm.close()
    return Curve(algorithm.scores, np.linspace(0, run.seconds, updates + 1)[1:].tolist(), run.lag)


def _summarise_curves(made: Mapping[str, list[Curve]], settings: Mapping[str, Any]) -> Summary:
    rows = [_make_row(system, made[way], factor) for system, (way, factor) in SYSTEMS.items()]
    apart, beside = made[APART], made[BESIDE]
    as_long = np.array([one.score_after(two.seconds[-1]) for one, two in zip(apart, beside, strict=True)])
    away, within = (
        estimate_mean(final_reward(beside) - final_reward(apart)),
        estimate_mean(final_reward(beside) - as_long),
    )
    found = {
        f"after as many updates side by side scores more than on-policy, by {away}": away.verdict,
        f"after as long it scores more, by {within}": within.verdict,
    }
    saved = 1 - sum(each.seconds[-1] for each in beside) / sum(each.seconds[-1] for each in apart)
    saves = decide_statements({f"side by side saves {saved:.1%} of the time of as many updates": saved > 0})
    heads = ("training", "s an update", "score at the end", "updates to the goal", "s to the goal",
             "reached", "versions behind")  # fmt: skip
    title = "Figure 12 in small: PPO on Breakout, seconds by the paper's costs; means ± 95 %"
    return Summary(
        title, settings, heads, rows, saves | found, curves.COLUMNS, list(curves.list_points(made))
    )


def _make_row(system: str, made: Sequence[Curve], factor: float) -> Sequence[Any]:
    reached = [
        (count, factor * curve.seconds[count - 1]) for curve in made if (count := curve.update_at_goal())
    ]
    both: Sequence[Estimate | str] = ("–", "–")
    if len(reached) == len(made):
        both = [estimate_mean(np.array(values, np.float64)) for values in zip(*reached, strict=True)]
    each = factor * np.mean([curve.seconds[-1] / len(curve.seconds) for curve in made])
    return (system, f"{each:.3f}", estimate_mean(final_reward(made)), *both, f"{len(reached)} of {len(made)}",
            max(curve.lag for curve in made))  # fmt: skip
