"""Rules of a parameter server, and the rows, learners and times that all of them share."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from olaf.policies import Asynchronous, Policy, SoftSync, StaleSynchronous, Stellaris

RATE = 3e-4
DECAY, ROOT, RHO = 0.96, 3.0, 1.0
"""Stellaris' d over ROUNDS rounds, its v and its ρ (Stellaris §VIII-A)."""
ROUNDS = 50
"""Rounds of the paper. With another number d is such that δ_max·d^K ends where it does there."""
SHORTER, LONGER = 0.71, 1.5
"""Other rates: the mean of the weights δ^(-1/3) that Stellaris gives with eight learners; and one above 1."""
_SECONDS = {"Hopper": 21e-3, "Walker2d": 20e-3, "Humanoid": 32e-3}
"""Seconds of a gradient of 1024 rows, measured with the paper's networks on one processor."""
STELLARIS, EQUAL, PPO, IMPACT = "stellaris", "synchronous, as many steps", "ppo", "impact"


@dataclass(frozen=True)
class Scale:
    """Scale of every training: Stellaris §VIII-A as its public demonstration has it."""

    actors: int = 16
    steps: int = 256
    """Steps of each actor in a round."""
    epochs: int = 10
    parts: int = 4
    """Parts of a round's rows in an epoch, a gradient each."""
    second: float = 21e-3
    """Seconds of a gradient of 1024 rows; a fifth is the same for any number (measured: 72 ms of 4096)."""
    act: float = 1e-3
    """Seconds of an actor's step."""
    jitter: float = 0.3
    """Deviation of a gradient's time, as a share."""

    @staticmethod
    def of(environment: str) -> "Scale":
        """Return the scale with the time of a gradient in this environment."""
        return Scale(second=_SECONDS.get(environment.partition("-")[0], Scale.second))

    @property
    def rows(self) -> int:
        """Rows of a round."""
        return self.actors * self.steps

    def gradient_seconds(self, rows: int) -> float:
        """Return the mean seconds of a gradient."""
        return self.second * (4 + 17 * rows / 1024) / 21


@dataclass(frozen=True)
class Rule:
    """A way to train."""

    name: str
    make: Callable[..., Policy]
    learners: int
    rho: float | None = None
    """The bound of truncated importance weights over all learners; None: PPO's plain ratio."""
    parts: int | None = None
    """Parts of the rows in an epoch, where they are not the scale's."""
    replay: int = 1
    """Rounds whose rows are learnt from, the newest. More than one is IMPACT, with its target network."""
    like: "Rule | None" = None
    """Each round ends after as many optimiser steps as this one makes in it, whose seed is the same."""
    step: float = 1.0
    """The optimiser's rate, of RATE."""


def make_stellaris(
    learners: int, rounds: int, scale: Scale, decay: float = DECAY, root: float = ROOT, rho: float = RHO
) -> Rule:
    """Return Stellaris as the paper has it; ``decay`` is d over its 50 rounds."""
    gradients = scale.epochs * scale.parts
    floor = decay**ROUNDS if decay != DECAY else 0.13
    make = partial(
        Stellaris, decay=floor ** (1 / max(rounds, 1)), root=root, round=gradients, workers=learners
    )
    return Rule(STELLARIS, make, learners, rho)


def make_rules(learners: int, rounds: int, scale: Scale) -> tuple[Rule, ...]:
    """Return figure 11's rules; synchrony with as many gradients or steps; and these at other rates."""
    ours = make_stellaris(learners, rounds, scale)
    equal = Rule(EQUAL, Asynchronous, 1, like=ours)
    return (
        Rule("synchronous", Asynchronous, 1),
        Rule("async", Asynchronous, learners),
        Rule("ssp", partial(StaleSynchronous, slack=1), learners),
        Rule("softsync", partial(SoftSync, updates=max(learners // 2, 1)), learners),
        ours,
        Rule("stellaris, not truncated", ours.make, learners),
        equal,
        Rule(PPO, Asynchronous, 1, parts=1),
        *(replace(equal, name=f"{EQUAL}, rate × {step}", step=step) for step in (SHORTER, LONGER)),
        replace(ours, name=f"{STELLARIS}, rate × {LONGER}", step=LONGER),
    )


def make_impact(learners: int, rounds: int, scale: Scale) -> tuple[Rule, ...]:
    """Return figure 7's rules: IMPACT under Stellaris, with a learner of its own, and with as many steps."""
    ours = replace(make_stellaris(learners, rounds, scale), replay=2)
    return (
        ours,
        Rule(IMPACT, Asynchronous, 1, replay=2),
        Rule(EQUAL, Asynchronous, 1, replay=2, like=ours),
    )


def vary_settings(learners: int, rounds: int, scale: Scale) -> dict[str, tuple[Rule, ...]]:
    """Return Stellaris with the other d, v and ρ of figure 13."""
    make = partial(make_stellaris, learners, rounds, scale)
    tried = {
        "d": {value: make(decay=value) for value in (0.92, 0.94, 0.98, 1.0)},
        "v": {value: make(root=value) for value in (1.0, 2.0, 4.0)},
        "ρ": {value: make(rho=value) for value in (0.6, 0.8, 1.2)},
    }
    return {
        name: tuple(replace(rule, name=f"{name} {value:g}") for value, rule in rules.items())
        for name, rules in tried.items()
    }
