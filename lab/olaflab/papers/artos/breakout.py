"""Table 4 and figure 12 in small: PPO learns Breakout for real, in the time of the paper's costs.

On-policy, Ray and ARTOS play and learn the same, in different times. Beside is what ARTOS does off-policy:
actors play the next block while the learner learns from the last one, with weights a version old.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olafctl import plotting
from olaflab.papers.artos import overlap
from olaflab.papers.artos.tables import T6
from olaflab.papers.figure import Effort, Points
from olaflab.papers.runs import Runs
from olaflab.papers.summary import Estimate, Summary, estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

GAME = "breakout"
ACTORS, STEPS, UPDATES = 16, 128, 100
"""The paper's actors, a quarter of its steps in a block, and a twentieth of its rows in all."""
GOAL = 3.0
"""Mean score of the games that ended in the last ten updates; play at random has 1.2."""
_RATE, _EPOCHS, _ROWS, _CLIP, _ENTROPY, _VALUE, _NORM = 1e-3, 4, 256, 0.1, 0.01, 0.5, 0.5
_LAST, _JITTER = 10, 0.1
_SHARE = STEPS / 512
"""Of the times of the paper's blocks."""
_PLAY, _LEARN = _SHARE * T6.play, _SHARE * ACTORS * (T6.transfer + T6.learn)
WAYS = {"one after the other": False, "side by side": True}
SYSTEMS: Mapping[str, tuple[str, float]] = {
    "Ray, on-policy": ("one after the other", 1.0),
    "ARTOS, on-policy": ("one after the other", T6.artos(ACTORS) / T6.ray(ACTORS)),
    "side by side": ("side by side", 1.0),
}
"""How each trains, and its times over those of the way."""
_COLUMNS = ("way", "seed", "update", "score", "seconds")


@dataclass(frozen=True)
class Curve:
    """One training."""

    scores: list[float | None]
    """Mean score of the games that ended in each update's block; None where none did."""
    seconds: float
    """Of the whole, by the paper's costs."""
    lag: int

    def smooth(self) -> NDArray[np.float64]:
        """(updates,) Mean of the last ten updates that have a score; NaN before there is one."""
        scores = np.array(self.scores, np.float64)
        means = (scores[max(0, end - _LAST) : end] for end in range(1, len(scores) + 1))
        return np.array([np.nan if np.isnan(each).all() else np.nanmean(each) for each in means])

    def after(self, seconds: float) -> float:
        """The score after so many seconds, and at the end after more."""
        updates = int(len(self.scores) * min(1.0, seconds / self.seconds))
        return float(self.smooth()[max(0, updates - 1)])

    def reached(self) -> int | None:
        """The update after which the score is the goal, if ever."""
        there = np.flatnonzero(self.smooth() >= GOAL)
        return int(there[0]) + 1 if len(there) else None


def train(effort: Effort) -> Summary:
    """Both ways, seed by seed; finished trainings are kept. Raises ImportError, OlafError."""
    runs = Runs(Curve, effort.folder / "artos", effort.progress)
    seeds = effort.number(5)
    updates = UPDATES if effort.length is None else max(1, round(UPDATES * effort.length))
    made: dict[str, list[Curve]] = {way: [] for way in WAYS}
    for seed in range(seeds):
        for way, curves in made.items():
            make = partial(_trained, seed, updates, beside=WAYS[way])
            limits = {"updates": updates, "play": _PLAY, "learn": _LEARN}
            curves.append(runs.of(f"{GAME}-{way}", seed, limits, make))
    settings = {"seeds": seeds, "updates": updates, "actors": ACTORS, "steps": STEPS, "goal": GOAL}
    return _summary(made, settings)


def _trained(seed: int, updates: int, *, beside: bool) -> Curve:
    algorithm = Proximal(seed, updates)
    try:
        run = overlap.run(algorithm, updates, _PLAY, _LEARN, _JITTER, seed, beside=beside)
    finally:
        algorithm.close()
    return Curve(algorithm.scores, run.seconds, run.lag)


def _summary(made: Mapping[str, Sequence[Curve]], settings: Mapping[str, Any]) -> Summary:
    rows = [_row(system, made[way], factor) for system, (way, factor) in SYSTEMS.items()]
    apart, beside = made.values()
    pairs = list(zip(apart, beside, strict=True))
    away = estimate(np.array([two.smooth()[-1] - one.smooth()[-1] for one, two in pairs]))
    within = estimate(np.array([two.smooth()[-1] - one.after(two.seconds) for one, two in pairs]))
    saved = 1 - sum(each.seconds for each in beside) / sum(each.seconds for each in apart)
    words = {
        f"side by side saves {saved:.1%} of the time of as many updates": saved > 0,
        f"its score at the end is not shown to be lower: {away}": away.mean + away.interval >= 0,
        f"after as long it scores more: {within}": within.mean - within.interval > 0,
    }
    heads = ("training", "s an update", "score at the end", "updates to the goal", "s to the goal",
             "reached", "versions behind")  # fmt: skip
    points = [
        (way, seed, number, round(float(score), 3), round(curve.seconds * number / len(curve.scores), 2))
        for way, curves in made.items()
        for seed, curve in enumerate(curves)
        for number, score in enumerate(curve.smooth(), 1)
    ]
    title = f"Figure 12 in small: PPO on {GAME.title()}, seconds by the paper's costs; means ± 95 %"
    return Summary(title, settings, heads, rows, words, _COLUMNS, points)


def _row(system: str, curves: Sequence[Curve], factor: float) -> Sequence[Any]:
    each = [factor * curve.seconds / len(curve.scores) for curve in curves]
    reached = [curve.reached() for curve in curves]
    known = [(number, number * seconds) for number, seconds in zip(reached, each, strict=True) if number]
    both: Sequence[Estimate | str] = ("–", "–")
    if len(known) == len(curves):
        both = [estimate(np.array(values, np.float64)) for values in zip(*known, strict=True)]
    end = estimate(np.array([curve.smooth()[-1] for curve in curves]))
    return (system, f"{np.mean(each):.3f}", end, *both, f"{len(known)} of {len(curves)}",
            max(curve.lag for curve in curves))  # fmt: skip


def draw(points: Points, drawing: "Drawing") -> None:
    """Scores by update, and by seconds of the paper's costs."""
    left, right = drawing.subplots(1, 2, sharey=True)
    columns = points["columns"]
    for number, way in enumerate(WAYS):
        its = columns["way"] == way
        seeds = len(np.unique(columns["seed"][its]))
        scores, seconds = (
            np.asarray(columns[name][its], np.float64).reshape(seeds, -1) for name in ("score", "seconds")
        )
        mean, colour = scores.mean(0), plotting.COLOURS[number]
        half = [estimate(column).interval for column in scores.T]
        for axes, along in ((left, np.arange(1, len(mean) + 1)), (right, seconds.mean(0))):
            axes.plot(along, mean, plotting.LINES[number], color=colour, label=way)
            axes.fill_between(along, mean - half, mean + half, color=colour, alpha=0.15, lw=0)
    left.set(xlabel="update", ylabel=f"score of {GAME.title()}, last ten updates")
    right.set(xlabel="s, by the paper's costs")
    left.legend()
    for axes in (left, right):
        axes.axhline(GOAL, color="grey", lw=0.8)
        axes.grid(alpha=0.3)


class Proximal:
    """PPO as CleanRL has it, with smaller screens and a network to match."""

    def __init__(self, seed: int, updates: int) -> None:
        import torch

        from olaflab.papers.play import games

        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self._torch = torch
        self._games = games(GAME, ACTORS, seed)
        self._agent = self._games.agent()
        self._parameters = list(self._agent.parameters())
        self._optimizer = torch.optim.Adam(self._parameters, _RATE, eps=1e-5)
        self._waiting: list[Any] = []
        self._updates, self._learnt = updates, 0
        self.scores: list[float | None] = []
        self.publish()

    def weights(self) -> Any:
        """Algorithm."""
        return self._published

    def publish(self) -> None:
        """Algorithm."""
        from olaf.torch import flat

        self._published = flat.read(self._parameters)

    def play(self, weights: Any, version: int) -> None:
        """Algorithm."""
        from olaf.torch import flat

        from olaflab.papers.play import play

        with flat.holding(self._parameters, weights):
            rows, ended = play(self._games, self._agent, STEPS)
        self._waiting.append(rows)
        self.scores.append(float(np.mean(ended)) if ended else None)

    def learn(self) -> None:
        """Algorithm."""
        rows = self._waiting.pop(0)
        for group in self._optimizer.param_groups:
            group["lr"] = _RATE * (1 - self._learnt / self._updates)
        self._learnt += 1
        for _ in range(_EPOCHS):
            for part in self._torch.randperm(ACTORS * STEPS).split(_ROWS):
                self._update(rows.part(part))

    def score(self) -> float:
        """Algorithm."""
        return float(Curve(self.scores, 0.0, 0).smooth()[-1])

    def close(self) -> None:
        """End the games."""
        self._games.close()

    def _update(self, rows: Any) -> None:
        from olaf.torch.importance import clipped

        policy, values = self._agent.both(rows.observations)
        ratio = (policy.log_prob(rows.actions) - rows.behaviour).exp()
        advantages = (rows.advantages - rows.advantages.mean()) / (rows.advantages.std() + 1e-8)
        error = (values - rows.returns).square().mean()
        loss = clipped(ratio, advantages, _CLIP) + _VALUE * error - _ENTROPY * policy.entropy().mean()
        self._optimizer.zero_grad()
        loss.backward()
        self._torch.nn.utils.clip_grad_norm_(self._parameters, _NORM)
        self._optimizer.step()
