"""Schedules for the discrete-event model: every schedule of a small system, and likely violations."""

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic

from olafctl.membership.objective import Objective
from olafctl.verify.question import ScheduleOutcome, Violation, find_scope, find_violation
from olafctl.verify.simulation import GeneratedUpdate, Simulation, UpdateSchedule
from olafctl.verify.system import System

Source = tuple[int, int]
"""A source (cluster, worker)."""

Flow = tuple[tuple[int, Source, int], ...]
"""A cluster's arrivals (time, source, seq), in time order."""

First = frozenset[tuple[Source, Source]]
"""Pairs of sources that met at one instant: the former is first, then and whenever they meet again."""


@dataclass(frozen=True)
class Enumeration:
    """The number of schedules that were run, whether these are all, and the worst violation (None: none)."""

    schedules: int
    complete: bool
    worst: tuple[UpdateSchedule, Violation] | None


def enumerate_all(system: System, objective: Objective, deadline: float = math.inf) -> Enumeration:
    """Try every phase, jitter, order of simultaneous updates and decision of ``system``.

    Stops at ``deadline`` (of ``time.monotonic``). Raises BadInput for an objective on an unknown cluster.
    """
    names = find_scope(system, objective)
    count, worst = 0, None
    for schedule, outcome in every_schedule(system):
        count += 1
        found = find_violation(objective, outcome, names)
        if found and (worst is None or _is_worse(found, worst[1])):
            worst = (UpdateSchedule(system, schedule), found)
        if monotonic() > deadline:
            return Enumeration(count, False, worst)
    return Enumeration(count, True, worst)


def every_schedule(system: System) -> Iterator[tuple[tuple[GeneratedUpdate, ...], ScheduleOutcome]]:
    """Yield each schedule of ``system`` with its outcome."""
    for flows in _all_flows(system, 0):
        yield from _run_flows(Simulation(system), flows, (0,) * len(flows), frozenset(), ())


def _all_flows(system: System, index: int) -> Iterator[tuple[Flow, ...]]:
    """Yield each combination of the arrivals of the clusters from ``index`` on; nothing is stored, so that
    even a hopeless enumeration starts at once and can be stopped."""
    if index == len(system.clusters):
        yield ()
        return
    for flow in _list_arrivals(system, index):
        for others in _all_flows(system, index + 1):
            yield (flow, *others)


def _list_arrivals(system: System, index: int) -> Iterator[Flow]:
    """Yield each possible sequence of a cluster's (time, source, seq), in time order."""
    cluster, rounds = system.clusters[index], system.rounds[index]
    grid = range(cluster.phase[0], cluster.phase[1] + 1, system.tick)
    lateness = range(0, cluster.jitter + 1, system.tick)
    seen = set()
    for phases in _ascending_values(grid, cluster.workers):
        for late in _all_values(lateness, rounds * cluster.workers):
            times = tuple(
                phases[worker] + turn * cluster.period + late[turn * cluster.workers + worker]
                for turn in range(rounds)
                for worker in range(cluster.workers)
            )
            if tuple(sorted(times)) != times or times in seen:
                continue
            if cluster.jitter:
                seen.add(times)  # another phase with other lateness gives the same times
            yield tuple(
                (time, (index, place % cluster.workers), place // cluster.workers)
                for place, time in enumerate(times)
            )


def _ascending_values(grid: range, count: int) -> Iterator[tuple[int, ...]]:
    """Yield ``count`` values of ``grid``, in every combination that never falls."""
    if count == 0:
        yield ()
        return
    for place, value in enumerate(grid):
        for others in _ascending_values(grid[place:], count - 1):
            yield (value, *others)


def _all_values(grid: range, count: int) -> Iterator[tuple[int, ...]]:
    """Yield ``count`` values of ``grid``, in every combination."""
    if count == 0:
        yield ()
        return
    for value in grid:
        for others in _all_values(grid, count - 1):
            yield (value, *others)


def _run_flows(
    state: Simulation,
    flows: tuple[Flow, ...],
    places: tuple[int, ...],
    first: First,
    done: tuple[GeneratedUpdate, ...],
) -> Iterator[tuple[tuple[GeneratedUpdate, ...], ScheduleOutcome]]:
    """Continue from ``state`` with each of the possible next updates and with each decision."""
    heads = {
        index: flow[place]
        for index, (flow, place) in enumerate(zip(flows, places, strict=True))
        if place < len(flow)
    }
    if not heads:
        yield done, state.finish()
        return
    now = min(time for time, _, _ in heads.values())
    meeting = {index: source for index, (time, source, _) in heads.items() if time == now}
    for index, source in meeting.items():
        others = [other for which, other in meeting.items() if which != index]
        if any((other, source) in first for other in others):
            continue
        known = first | {(source, other) for other in others if state.system.exact}
        _, _, seq = heads[index]
        onward = (*places[:index], places[index] + 1, *places[index + 1 :])
        for sent in state.choices(now, index):
            after = state.copy()
            after.offer(now, index, sent)
            update = GeneratedUpdate(now, index, source[1] + 1, seq, sent)
            yield from _run_flows(after, flows, onward, known, (*done, update))


def _is_worse(one: Violation, other: Violation) -> bool:
    if one.excess is None or other.excess is None:
        return one.excess is None and other.excess is not None
    return one.excess > other.excess


Decide = Callable[[int, tuple[bool, ...]], bool]
"""From the cluster and the worker's options to its decision."""

_SAMPLES = 24


def guess_schedules(system: System) -> Iterator[UpdateSchedule]:
    """Yield lawful schedules: everyone at once, one service apart, and a few at random (always the same)."""
    chance = random.Random(0)
    sources = [
        (index, worker) for index, cluster in enumerate(system.clusters) for worker in range(cluster.workers)
    ]
    by_turn = sorted(sources, key=lambda source: (source[1], source[0]))
    for order in (by_turn, by_turn[::-1], sources):
        for phases in (_phases_together(system, sources), _phases_apart(system, order)):
            for decide in _guess_decisions(system, chance):
                yield _make_schedule(system, phases, order, decide)
    for _ in range(_SAMPLES):
        order = chance.sample(sources, len(sources))
        for decide in _guess_decisions(system, chance):
            yield _make_schedule(system, _phases_anywhere(system, sources, chance), order, decide)


def _phases_together(system: System, sources: list[Source]) -> dict[Source, int]:
    """Return the earliest phase of each source: 0 where phases are free."""
    return {source: system.clusters[source[0]].phase[0] for source in sources}


def _phases_apart(system: System, order: list[Source]) -> dict[Source, int]:
    """Return phases that are p/C apart, as far as each phase allows."""
    phases = {}
    for place, (index, worker) in enumerate(order):
        low, high = system.clusters[index].phase
        phases[index, worker] = min(low + place * system.service, high)
    return phases


def _phases_anywhere(system: System, sources: list[Source], chance: random.Random) -> dict[Source, int]:
    phases = {}
    for index, worker in sources:
        low, high = system.clusters[index].phase
        phases[index, worker] = low + chance.randrange((high - low) // system.tick + 1) * system.tick
    return phases


def _guess_decisions(system: System, chance: random.Random) -> tuple[Decide, ...]:
    """Return decisions: always send; under control also withhold, always, in the first cluster, at random."""
    if not system.controlled:
        return (lambda _, allowed: allowed[0],)
    return (
        lambda _, allowed: allowed[0],
        lambda _, allowed: allowed[-1],
        lambda index, allowed: allowed[0 if index else -1],
        lambda _, allowed: chance.choice(allowed),
    )


def _make_schedule(
    system: System, phases: dict[Source, int], order: list[Source], decide: Decide
) -> UpdateSchedule:
    """Return all updates exactly in time, those that meet in the given order, decided one by one."""
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
        updates.append(GeneratedUpdate(time, index, worker + 1, seq, sent))
    return UpdateSchedule(system, tuple(updates))
