"""Two trainings on the same cores (ARTOS figure 13a): while one learns, the other's actors play.

In the cost model, and for real: actors as processes that share a core, learners whose seconds are stated.
"""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from olaf.elastic import GPU, Actors, Held, Pool, SharedPool
from olaf.transport.virtual import VirtualNetwork

from olaflab.papers.artos.model import ModelCosts
from olaflab.papers.artos.sleeping import busy
from olaflab.papers.artos.tables import NOISE
from olaflab.papers.summary import Estimate, estimate_mean

Floats = NDArray[np.float64]
Stretch = tuple[float, float]
ACTORS = 16
"""Actors of each training, on cores that both have (ARTOS §6.1)."""
PAPER = 3.38
"""Percent by which an update takes longer in ARTOS on average; always less than 10."""
_UPDATES = 200
_REAL_UPDATES, _REAL_ACTORS = 5, 2
_TURN = 0.2
"""Seconds of an actor's core."""
_LEARNING = 1.24
"""Times as long as playing, as in the cost model with 16 actors."""


@dataclass(frozen=True)
class Doubled:
    """Two trainings on one training's cores."""

    where: str
    alone: float
    """Seconds of an update without the other."""
    longer: Estimate
    """Percent by which an update of either takes longer."""
    one: float
    """Share of the time in which the cores are held by a training alone."""
    two: float
    """The same of both."""


def model_two(costs: ModelCosts, noise: float = NOISE, seeds: int = 10) -> Iterator[Doubled]:
    """Model PPO with 16 actors that are woken in time.

    Whether an actor that is restored needs its core is not printed: both readings.
    """
    for where, restoring in (("restoring on the cores", costs.restore), ("restoring beside", 0.0)):
        one, two = (
            np.array([_simulate_trainings(costs, noise, seed, trainings, restoring) for seed in range(seeds)])
            for trainings in (1, 2)
        )
        longer = estimate_mean(100 * (two[:, 0] / one[:, 0] - 1))
        yield Doubled(f"model, {where}", *_average_columns(one[:, 0], longer, one[:, 1], two[:, 1]))


def _simulate_trainings(
    costs: ModelCosts, noise: float, seed: int, trainings: int, restoring: float
) -> tuple[float, float]:
    """Return the mean seconds of an update, and the share of the time in which the cores are held.

    Cores are requested ``restoring`` seconds before the learner is done, which is known (ARTOS' monitor).
    """
    network, held = VirtualNetwork(), Held()
    pool = Pool(1, held, lambda: network.time)
    randoms = [np.random.default_rng((seed, number)) for number in range(trainings)]
    learning = costs.artos_iteration(ACTORS) - costs.play
    made, ends = [0] * trainings, [0.0] * trainings

    def ask(training: int, learnt: float) -> None:
        pool.ask(training, lambda unit: granted(training, unit, learnt))

    def granted(training: int, unit: int, learnt: float) -> None:
        factor = max(0.1, 1 + noise * randoms[training].standard_normal())
        begin = max(network.time + restoring, learnt)
        network.at(begin + costs.play * factor, lambda: played(training, unit, factor))

    def played(training: int, unit: int, factor: float) -> None:
        pool.give_back(training, unit)
        made[training] += 1
        ends[training] = network.time + learning * factor
        if made[training] < _UPDATES:
            network.at(ends[training] - restoring, lambda: ask(training, ends[training]))

    for training in range(trainings):
        ask(training, 0.0)
    network.run()
    return float(np.mean(ends)) / _UPDATES, held.seconds(GPU, network.time) / max(ends)


def _average_columns(
    alone: Floats, longer: Estimate, one: Floats, two: Floats
) -> tuple[float, Estimate, float, float]:
    return float(np.mean(alone)), longer, float(np.mean(one)), float(np.mean(two))


def measure_two(repeats: int) -> Doubled:
    """Measure two teams of actors that share one core, the last one, by a lease; learners only wait.

    They wait ``_LEARNING`` times as long as was played: what else runs on the machine makes both slower.

    Alone and both in turn, ``repeats`` times, so that both meet the same machine.
    """
    core = max(os.sched_getaffinity(0))
    pool = SharedPool(f"two-{os.getpid()}", 1)
    teams = [Actors(busy, (core, _TURN), held=Held(), now=time.monotonic) for _ in range(2)]
    found: list[tuple[Stretch, Stretch]] = []
    try:
        for team in teams:
            _play_team(team)
        for _ in range(repeats):
            one = _measure_stretch(pool, teams[:1])
            found.append((one, _measure_stretch(pool, teams)))
    finally:
        for team in teams:
            team.close()
        pool.unlink()
    one, two = np.array(found).transpose(1, 2, 0)
    longer = estimate_mean(100 * (two[0] / one[0] - 1))
    return Doubled("for real", *_average_columns(one[0], longer, one[1], two[1]))


def _measure_stretch(pool: SharedPool, teams: Sequence[Actors]) -> Stretch:
    """Return the seconds of an update after the first, and the share of the time in which the core is held.

    Both begin at once, so one waits in its first update as it does not later.
    """
    begin = time.monotonic()
    holds: list[float] = []
    updates: list[float] = []

    def train(team: Actors) -> None:
        first = begin
        for update in range(_REAL_UPDATES):
            with pool.lease():
                since = time.monotonic()
                _play_team(team)
                played = time.monotonic() - since
            holds.append(played)
            time.sleep(_LEARNING * played)  # a GPU's work elsewhere, of a stated length
            first = time.monotonic() if update == 0 else first
        updates.append((time.monotonic() - first) / (_REAL_UPDATES - 1))

    threads = [threading.Thread(target=train, args=(team,)) for team in teams]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return float(np.mean(updates)), sum(holds) / (time.monotonic() - begin)


def _play_team(team: Actors) -> None:
    team.invoke(range(_REAL_ACTORS))
    while team.playing:
        team.serve(60.0)
