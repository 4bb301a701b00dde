"""Schedules that often hurt, simulated before the solver runs: a guess can refute, never accept."""

import random
from collections.abc import Callable, Iterator

from olafctl.verify.question.system import System
from olafctl.verify.simulation.engine import Simulation
from olafctl.verify.simulation.schedule import Schedule, Update

Source = tuple[int, int]
Decide = Callable[[int, tuple[bool, ...]], bool]
"""From the cluster and what its worker may do to what it does."""

_SAMPLES = 24


def guesses(system: System) -> Iterator[Schedule]:
    """Lawful schedules: everyone at once, one service apart, and a few at random (the same each time)."""
    chance = random.Random(0)
    sources = [
        (index, worker) for index, cluster in enumerate(system.clusters) for worker in range(cluster.workers)
    ]
    by_turn = sorted(sources, key=lambda source: (source[1], source[0]))
    for order in (by_turn, by_turn[::-1], sources):
        for phases in (_together(system, sources), _apart(system, order)):
            for decide in _decisions(system, chance):
                yield _schedule(system, phases, order, decide)
    for _ in range(_SAMPLES):
        order = chance.sample(sources, len(sources))
        for decide in _decisions(system, chance):
            yield _schedule(system, _anywhere(system, sources, chance), order, decide)


def _together(system: System, sources: list[Source]) -> dict[Source, int]:
    """Each as early as it may: at 0, all of them, where phases are free."""
    return {source: system.clusters[source[0]].phase[0] for source in sources}


def _apart(system: System, order: list[Source]) -> dict[Source, int]:
    """One p/C after the other, as long as the phase allows."""
    phases = {}
    for place, (index, worker) in enumerate(order):
        low, high = system.clusters[index].phase
        phases[index, worker] = min(low + place * system.service, high)
    return phases


def _anywhere(system: System, sources: list[Source], chance: random.Random) -> dict[Source, int]:
    phases = {}
    for index, worker in sources:
        low, high = system.clusters[index].phase
        phases[index, worker] = low + chance.randrange((high - low) // system.tick + 1) * system.tick
    return phases


def _decisions(system: System, chance: random.Random) -> tuple[Decide, ...]:
    """Always send; under control also withhold: whenever they may, the first cluster only, at random."""
    if not system.controlled:
        return (lambda _, allowed: allowed[0],)
    return (
        lambda _, allowed: allowed[0],
        lambda _, allowed: allowed[-1],
        lambda index, allowed: allowed[0 if index else -1],
        lambda _, allowed: chance.choice(allowed),
    )


def _schedule(system: System, phases: dict[Source, int], order: list[Source], decide: Decide) -> Schedule:
    """All updates exactly in time, those that meet in the order given, decided one by one."""
    rank = {source: place for place, source in enumerate(order)}
    events = sorted(
        (phase + seq * system.clusters[index].period, rank[index, worker], index, worker, seq)
        for (index, worker), phase in phases.items()
        for seq in range(system.rounds[index])
    )
    simulation = Simulation(system)
    updates = []
    for time, _, index, worker, seq in events:
        sent = decide(index, simulation.choices(time, index))
        simulation.offer(time, index, sent)
        updates.append(Update(time, index, worker + 1, seq, sent))
    return Schedule(system, tuple(updates))
