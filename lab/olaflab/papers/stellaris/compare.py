"""Runs side by side, seed by seed: after as many rounds, as many optimiser steps, and as long."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from olaf.elastic import Ledger

from olaflab.papers.stellaris.rules import PPO, Rule, Scale
from olaflab.papers.stellaris.timeline import COLD, PRICE, Timed, time_rule
from olaflab.papers.summary import Estimate, estimate_mean

if TYPE_CHECKING:
    from olaflab.papers.stellaris.learning import RuleRun

SHARED = {"synchronous": "synchronous, over all learners", PPO: "ppo, over all learners"}
"""The same rules, but each gradient is made by all learners together, a share of its rows each."""


@dataclass(frozen=True)
class Curve:
    """A run and its times."""

    run: "RuleRun"
    times: Timed

    def after_steps(self, steps: int) -> int:
        """Count the rounds that end with so many optimiser steps at most."""
        return int(np.searchsorted(np.cumsum(self.times.steps), steps, side="right"))

    def after_seconds(self, seconds: float) -> int:
        """Count the rounds that end within so many virtual seconds."""
        return int(np.searchsorted(self.times.ends, seconds, side="right"))


Curves = Mapping[str, Sequence[Curve]]
"""Curves of every seed, by the rule's name."""


@dataclass(frozen=True)
class Difference:
    """Difference of two rules' rewards, seed by seed."""

    other: str
    rounds: float
    """Mean rounds of ours."""
    others: float
    """Mean rounds of the other rule."""
    reward: float
    difference: Estimate


def make_curves(
    found: "Mapping[str, Sequence[RuleRun]]", rules: Sequence[Rule], rounds: int, scale: Scale
) -> Curves:
    """Join runs with the times of their rules; synchronous ones also with those over all learners."""
    known = {rule.name: rule for rule in rules}
    made = {
        name: [Curve(run, time_rule(known[name], run.seed, rounds, scale)) for run in runs]
        for name, runs in found.items()
    }
    most = max(rule.learners for rule in rules)
    for name, over in SHARED.items():
        if name in found and most > 1:
            parts = known[name].parts
            made[over] = [
                Curve(run, time_shared(run.seed, rounds, scale, most, parts)) for run in found[name]
            ]
    return made


def find_differences(made: Curves, ours: str, by: str) -> list[Difference]:
    """Find the differences of ours from each other rule, as far as both have come.

    That is ``by`` all ``rounds``, ``half`` of them, as many ``steps``, or the same ``seconds``.
    """
    rows = []
    for name, others in made.items():
        if name == ours or (name in SHARED.values() and by != "seconds"):
            continue
        pairs = [_count_rounds(own, other, by) for own, other in _pair_by_seed(made[ours], others)]
        values = np.array(
            [own.run.final_reward(mine) - other.run.final_reward(its) for own, other, mine, its in pairs]
        )
        if not len(values) or np.isnan(values).any():
            continue
        rows.append(
            Difference(
                name,
                float(np.mean([mine for _, _, mine, _ in pairs])),
                float(np.mean([its for _, _, _, its in pairs])),
                float(np.mean([other.run.final_reward(its) for _, other, _, its in pairs])),
                estimate_mean(values),
            )
        )
    return rows


def time_shared(seed: int, rounds: int, scale: Scale, learners: int, parts: int | None = None) -> Timed:
    """Time synchrony whose every gradient is made by all learners at once, and waits for the slowest."""
    random = np.random.default_rng([seed, learners])
    ledger = Ledger(PRICE, learners)
    ledger.started(COLD * learners)
    count = parts or scale.parts
    now, ends, each = 0.0, [], scale.epochs * count
    mean = scale.gradient_seconds(scale.rows // count // learners)
    for _ in range(rounds):
        playing = scale.steps * scale.act
        ledger.kept(playing * learners)
        now += playing
        for _ in range(each):
            took = mean * random.lognormal(0, scale.jitter, learners)
            for slot, seconds in enumerate(took):
                invocation = ledger.begin(slot, now)
                invocation.batches, invocation.end = 1, now + float(seconds)
                ledger.kept(float(took.max() - seconds))
            now += float(took.max())
        ends.append(now)
    return Timed((each,) * rounds, tuple(ends), (0,) * (each * rounds), ledger.report(now))


def _pair_by_seed(ours: Sequence[Curve], others: Sequence[Curve]) -> list[tuple[Curve, Curve]]:
    by_seed = {other.run.seed: other for other in others}
    return [(own, by_seed[own.run.seed]) for own in ours if own.run.seed in by_seed]


def _count_rounds(own: Curve, other: Curve, by: str) -> tuple[Curve, Curve, int, int]:
    """Return both curves, and how many rounds of each count."""
    if by == "steps":
        most = min(sum(own.times.steps), sum(other.times.steps))
        return own, other, own.after_steps(most), other.after_steps(most)
    if by == "seconds":
        end = min(own.times.ends[-1], other.times.ends[-1])
        return own, other, own.after_seconds(end), other.after_seconds(end)
    rounds = len(own.times.ends) // (2 if by == "half" else 1)
    return own, other, rounds, rounds
