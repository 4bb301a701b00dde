"""ARTOS' table 3 as trainings: what is learnt when, and with which weights is played, is configuration alone.

A pole on a cart, actors in stated time. All trainings have the same actors and one of two learners; when
these act is decided by triggers only.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np
from olaf.experience import CUT, GOES_ON, TERMINATED, Ring, Writer, layout
from olaf.experience.passers import Passer, bind, direct
from olaf.experience.triggers import Firing
from olaf.transport.virtual import VirtualNetwork

from olaflab.papers.artos.learners import PolicyGradient, SoftActorCritic, TriggerLearner
from olaflab.papers.summary import Estimate, estimate_mean
from olaflab.training.cartpole import Poles

STEP = 4.3e-3
"""Seconds of an actor's step (ARTOS' 512 steps take 2.2 s)."""
ACTORS, BLOCK = 4, 64
SMALL = ["reward", "value", "beyond"]
"""What advantages are computed from; ``beyond`` is the value of what is seen after a block or an episode."""
ROW = layout(
    {"reward": (), "value": (), "beyond": (), "obs": 4, "act": ((), "i8"), "log": (), "seen": 4}, joint=False
)
_PERIOD = BLOCK * STEP


@dataclass(frozen=True)
class TriggerTraining:
    """Triggers by the names of table 3's rows, and who learns."""

    learner: Callable[[int], TriggerLearner]
    updates: int
    """After which its actors are good."""
    triggers: Mapping[str, Mapping[str, Any]]
    """On the ring that is learnt from."""
    rows: int = 2 * BLOCK
    """Rows of an actor in the ring."""
    full: str = "refuse"
    cache: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """On the actors' own ring, where they have one."""

    @property
    def used_rows(self) -> tuple[str, ...]:
        """Rows of table 3."""
        return (*self.cache, *self.triggers)


_FULL = {"on": "data", "n": ACTORS, "size": BLOCK, "max_lag": 0, "to": "learner"}
_INVOKE = {"on": "object", "key": "weights", "to": "actors"}
_ON_POLICY = {"on": "object", "key": "weights", "to": "weights"}
_OFF_POLICY = {"on": "time", "seconds": _PERIOD, "to": "weights"}
TRAININGS: Mapping[str, TriggerTraining] = {
    "PPO": TriggerTraining(
        PolicyGradient,
        60,
        {"full batch update": _FULL, "on-policy sync": _ON_POLICY, "actor invocation": _INVOKE},
    ),
    "FIFO": TriggerTraining(
        PolicyGradient,
        240,
        {
            "FIFO training": {"on": "data", "n": 1, "size": BLOCK, "max_lag": 8, "to": "learner"},
            "off-policy sync": _OFF_POLICY,
        },
    ),
    "SAC": TriggerTraining(
        SoftActorCritic,
        150,
        {
            "full batch update": {"on": "data", "n": ACTORS, "size": BLOCK // 4, "to": "replay"},
            "off-policy sync": {**_OFF_POLICY, "seconds": _PERIOD / 4},
        },
        rows=4096,
        full="overwrite",
    ),
    "temporal": TriggerTraining(
        SoftActorCritic,
        150,
        {
            "temporal training": {"on": "time", "seconds": _PERIOD / 4, "to": "replay"},
            "on-policy sync": _ON_POLICY,
        },
        rows=4096,
        full="overwrite",
    ),
    "PPO in stages": TriggerTraining(
        PolicyGradient,
        60,
        {
            "pipeline training": {"on": "data", "n": 1, "size": BLOCK, "keys": SMALL, "to": "advantages"},
            "full batch update": _FULL,
            "on-policy sync": _ON_POLICY,
            "actor invocation": _INVOKE,
        },
        cache={
            "data transfer": {
                "on": "transfer",
                "stages": [SMALL, ["obs", "act", "log", "seen"]],
                "size": BLOCK,
                "to": "head",
            }
        },
    ),
}


@dataclass(frozen=True)
class TriggerOutcome:
    """The outcome of a training, over seeds."""

    name: str
    rows: tuple[str, ...]
    """Rows of the paper's table 3."""
    updates: int
    first: Estimate
    """Mean return of the first 20 episodes; what is random gets about 22."""
    last: Estimate
    """Mean return of the last 20 episodes."""


class TriggerRun:
    """A training in stated time."""

    def __init__(self, training: TriggerTraining, seed: int) -> None:
        self.network = VirtualNetwork()
        self._learner = training.learner(seed)
        self.updates = 0
        shared = {"weights": len(self._learner.weights)}
        self.ring = Ring(ROW, training.rows, ACTORS, full=training.full, objects=shared)
        self._cache = Ring(ROW, 2 * BLOCK, ACTORS, full="refuse") if training.cache else self.ring
        self._writers = [Writer(self._cache, actor) for actor in range(ACTORS)]
        self._copies = [Writer(self.ring, actor) for actor in range(ACTORS)] if training.cache else []
        self._actors = [_PoleActor((seed, actor), self._learner) for actor in range(ACTORS)]
        self._waiting: dict[int, Callable[[], bool]] = {}
        """What the ring had no room for, by actor."""
        self._computed: dict[tuple[int, int, int], Any] = {}
        self._invoked = any(entry["to"] == "actors" for entry in training.triggers.values())
        to: dict[str, Passer] = {
            "learner": direct(self._learn_blocks),
            "replay": direct(self._replay_rows),
            "weights": direct(self._sync_weights),
            "actors": direct(self._invoke_actors),
            "advantages": direct(self._compute_advantages),
            "head": direct(self._copy_stage),
        }
        self._bounds = [bind(self.ring, training.triggers, to)]
        if training.cache:
            self._bounds.append(bind(self._cache, training.cache, to))

    @property
    def episode_returns(self) -> list[float]:
        """Returns of the episodes, as they ended."""
        return [total for _, total in sorted(pair for each in self._actors for pair in each.returns)]

    def train_until(self, updates: int) -> None:
        """Train until so many updates are made."""
        self._publish_weights()
        self._invoke_actors(None)
        self._check_triggers()
        while self.updates < updates:
            before = self.network.time
            self.network.run(before + _PERIOD)

    def _check_triggers(self) -> None:
        while sum(bound.check(self.network.time) for bound in self._bounds):
            pass
        for actor, write in list(self._waiting.items()):
            if write():
                del self._waiting[actor]
                self._continue_actor(actor)
        due = min((due for bound in self._bounds if (due := bound.due()) is not None), default=None)
        if due is not None:
            self.network.at(due, self._check_timers)

    def _check_timers(self) -> None:
        if any((due := bound.due()) is not None and due <= self.network.time for bound in self._bounds):
            self._check_triggers()

    def _invoke_actors(self, firing: Firing | None) -> None:
        for actor in range(ACTORS):
            self.network.at(self.network.time + BLOCK * STEP, partial(self._play_turn, actor))

    def _continue_actor(self, actor: int) -> None:
        """Let an actor play on, where no trigger invokes actors."""
        if not self._invoked:
            self.network.at(self.network.time + BLOCK * STEP, partial(self._play_turn, actor))

    def _play_turn(self, actor: int) -> None:
        rows, ends, version = self._actors[actor].play_steps(BLOCK, self.network.time)
        write = partial(self._writers[actor].write, rows, version=version, end=ends)
        if write():
            self._continue_actor(actor)
        else:
            self._waiting[actor] = write
        self._check_triggers()

    def _sync_weights(self, firing: Firing) -> None:
        found = self.ring.objects.read("weights")
        assert found is not None
        for actor in self._actors:
            actor.weights, actor.version = found[0].astype(float), found[1]

    def _publish_weights(self) -> None:
        self.ring.version = self.updates
        self.ring.objects.publish("weights", self._learner.weights, self.ring.version)

    def _learn_blocks(self, firing: Firing) -> None:
        known = [self._computed.pop(each, None) for each in firing.ranges]
        batches = [self.ring.views(*each)[0] for each in firing.ranges]
        self._learner.learn(batches, known)
        self.updates += 1
        self._publish_weights()

    def _replay_rows(self, firing: Firing) -> None:
        if self._learner.replay(self.ring):
            self.updates += 1
            self._publish_weights()

    def _compute_advantages(self, firing: Firing) -> None:
        for each in firing.ranges:
            actor, start, stop = each
            places = np.arange(start, stop) % self.ring.rows
            small = {key: self.ring.column(key, actor)[places] for key in (*SMALL, "end")}
            self._computed[each] = self._learner.advantages(small)

    def _copy_stage(self, firing: Firing) -> None:
        for actor, start, stop in firing.ranges:
            (part,) = self._cache.views(actor, start, stop)
            rows = {key: part[key] for key in firing.keys}
            assert self._copies[actor].copy(rows, part["version"], part["end"])
            self._bounds[0].check(self.network.time)


class _PoleActor:
    def __init__(self, seed: tuple[int, int], learner: TriggerLearner) -> None:
        self._random = np.random.default_rng(seed)
        self._poles = Poles(1, self._random)
        self._learner = learner
        self._steps = 0
        self.weights, self.version = learner.weights.copy(), 0
        self.returns: list[tuple[float, float]] = []
        """When an episode ended, and its return."""

    def play_steps(self, steps: int, now: float) -> tuple[dict[str, Any], list[int], int]:
        """Play with the weights it has: rows, how each ends, and the weights' version."""
        rows: dict[str, list[Any]] = {key: [] for key in ROW.keys}
        ends = []
        for step in range(1, steps + 1):
            seen = self._poles.states[0]
            act, log, value = self._learner.act(self.weights, seen, self._random)
            after, fell, ended = self._poles.step(np.array([act]))
            last = step == steps or ended[0]
            beyond = self._learner.act(self.weights, after[0], self._random)[2] if last else 0.0
            for key, found in zip(rows, (1.0, value, beyond, seen, act, log, after[0]), strict=True):
                rows[key].append(found)
            ends.append(TERMINATED if fell[0] else CUT if ended[0] else GOES_ON)
            self.returns += [(now, total) for total in self._poles.returns]
            self._poles.returns.clear()
        return {key: np.array(found) for key, found in rows.items()}, ends, self.version


def train_once(name: str, updates: int, seed: int = 1) -> tuple[float, float]:
    """Make one of ``TRAININGS``: the mean return of its first 20 episodes and of its last."""
    run = TriggerRun(TRAININGS[name], seed)
    run.train_until(updates)
    return fmean(run.episode_returns[:20]), fmean(run.episode_returns[-20:])


def run_trainings(seeds: int) -> Iterator[TriggerOutcome]:
    """Make all trainings, each with ``seeds`` seeds, from 1 on."""
    for name, each in TRAININGS.items():
        found = np.array([train_once(name, each.updates, seed) for seed in range(1, seeds + 1)])
        yield TriggerOutcome(
            name, each.used_rows, each.updates, estimate_mean(found[:, 0]), estimate_mean(found[:, 1])
        )
