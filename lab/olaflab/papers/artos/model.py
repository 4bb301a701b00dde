"""One cost model of ARTOS' experiments: from its printed figures, a second for everything that takes time.

An actor plays 512 steps; blocks go over the head's link one after the other; the learner makes 4 epochs of
4 mini-batches. Ray holds every core and the GPU all the time. ARTOS holds a core from an actor's waking to
the end of its steps, and the GPU from the first mini-batch to the last.
"""

from dataclasses import dataclass, replace

import numpy as np
from olaf.elastic import CPU, GPU, Held, Monitor, Schedule, Seen

_ON_TIME = 0.05
"""Seconds that an invocation may wait and count as one that does not (ARTOS figure 15b)."""


@dataclass(frozen=True)
class ModelCosts:
    """Seconds."""

    play: float = 2.2
    """512 steps of 4.3 ms."""
    transfer: float = 0.111
    """Transfer of a block of 14.45 MB, at 130 MB/s."""
    learn: float = 0.06
    """Learning from a block, four epochs."""
    epochs: int = 4
    parts: int = 4
    """Mini-batches of an epoch."""
    restore: float = 0.42
    """Restoring an actor from its image."""
    created: float = 1.2
    """Starting a new actor in Ray."""
    slower: float = 1.0
    """How many times as long as Ray's a transfer of ARTOS takes."""

    def ray_iteration(self, blocks: int) -> float:
        """Return the seconds of an iteration in Ray."""
        return self.play + blocks * (self.transfer + self.learn)

    @property
    def overlapped_learning(self) -> float:
        """Learning beside the transfer: the first epoch but its last mini-batch; later ones need all data."""
        return self.learn / self.epochs * (1 - 1 / self.parts)

    def artos_iteration(self, blocks: int) -> float:
        """Return the seconds of an iteration in ARTOS whose actors are there."""
        return self.play + blocks * (self.transfer * self.slower + self.learn - self.overlapped_learning)

    def gpu_seconds(self, blocks: int) -> float:
        """Return the seconds for which ARTOS holds the GPU: from the first mini-batch's arrival on."""
        return blocks * ((1 - 1 / self.parts) * self.transfer * self.slower + self.learn)


@dataclass(frozen=True)
class ModelStep:
    """An update of ARTOS."""

    waited: float
    """Seconds, for actors to be restored."""
    factor: float
    """Slow-down of this update relative to the mean."""


@dataclass(frozen=True)
class ModelOutcome:
    """Time and resources of a training."""

    seconds: float
    cpu: float
    """Core-seconds held."""
    gpu: float
    on_time: float
    """Share of invocations that wait less than 0.05 s."""
    update: float
    """Mean seconds of an update."""
    steps: tuple[ModelStep, ...] = ()
    """Each update, of ARTOS."""


def model_ray(costs: ModelCosts, schedule: Schedule, updates: int) -> ModelOutcome:
    """Model Ray: it holds all resources throughout; after a step up an iteration waits for new actors."""
    now = cpu = 0.0
    have = schedule.blocks(Seen(0, 0))
    for update in range(updates):
        actors = schedule.blocks(Seen(update, have))
        seconds = costs.ray_iteration(actors) + (actors - have) * costs.created
        now, cpu, have = now + seconds, cpu + actors * seconds, actors
    return ModelOutcome(now, cpu, now, 1.0, now / updates)


def model_artos(
    costs: ModelCosts,
    schedule: Schedule,
    updates: int,
    noise: float,
    seed: int,
    *,
    prewarm: bool = True,
    monitor: Monitor | None = None,
    learner: bool = False,
    forgets: bool = False,
) -> ModelOutcome:
    """Model a training whose iterations deviate by ``noise``; actors sleep from their last step on.

    By default they wake by the paper's rule (``monitor``); what it leaves open are ``learner``,
    that latencies count since the learner was invoked, and ``forgets``, that a new number of actors begins a
    new window.
    """
    random = np.random.default_rng(seed)
    held, monitor = Held(), monitor or Monitor()
    now, woken, on_time, invocations, before = 0.0, None, 0, 0, 0
    steps: list[ModelStep] = []
    for update in range(updates):
        actors = schedule.blocks(Seen(update, 0))
        if forgets and actors != before:
            monitor.window.clear()
        before = actors
        factor = max(0.1, 1 + noise * random.standard_normal())
        since = now if woken is None else min(woken, now)
        wait = max(0.0, since + costs.restore - now)
        steps.append(ModelStep(wait, factor))
        invocations += actors
        on_time += actors * (wait < _ON_TIME)
        early = monitor.prewarm() if prewarm else None
        end = now + wait + costs.artos_iteration(actors) * factor
        for actor in range(actors):
            held.hold(CPU, actor, since)
            held.free(CPU, actor, now + wait + costs.play * factor)
        held.hold(GPU, "learner", end - costs.gpu_seconds(actors) * factor)
        held.free(GPU, "learner", end)
        played = now + wait + costs.play * factor
        begin = played if learner else now
        monitor.add(costs.restore, end - begin)
        # An actor that still plays cannot be woken for what follows.
        woken = None if early is None else max(begin + early, played)
        now = end
    cpu, gpu = held.seconds(CPU, now), held.seconds(GPU, now)
    return ModelOutcome(now, cpu, gpu, on_time / invocations, now / updates, tuple(steps))


def average_outcomes(outcomes: list[ModelOutcome]) -> ModelOutcome:
    """Average the outcomes of several seeds."""
    names = ("seconds", "cpu", "gpu", "on_time", "update")
    found = {name: float(np.mean([getattr(each, name) for each in outcomes])) for name in names}
    return replace(outcomes[0], steps=(), **found)
