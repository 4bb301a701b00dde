"""Every schedule of a small system, run through the discrete-event model."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic

from olafctl.membership.objective import Objective
from olafctl.verify.question.objective import Outcome, Violation, scope, violation
from olafctl.verify.question.system import System
from olafctl.verify.simulation.engine import Simulation
from olafctl.verify.simulation.schedule import Schedule, Update

Source = tuple[int, int]
"""(cluster, worker)."""

Flow = tuple[tuple[int, Source, int], ...]
"""A cluster's (time, source, seq), in time order."""

First = frozenset[tuple[Source, Source]]
"""Pairs of sources that met at one instant: the former is first, then and whenever they meet again."""


@dataclass(frozen=True)
class Enumeration:
    """How many schedules were run, all of them or not, and the worst violation (None: none violates)."""

    schedules: int
    complete: bool
    worst: tuple[Schedule, Violation] | None


def enumerate_all(system: System, objective: Objective, deadline: float = math.inf) -> Enumeration:
    """Try every phase, jitter, order of simultaneous updates and decision of ``system``.

    Stops at ``deadline`` (of ``time.monotonic``). Raises BadInput for an objective on an unknown cluster.
    """
    names = scope(system, objective)
    count, worst = 0, None
    for schedule, outcome in every_schedule(system):
        count += 1
        found = violation(objective, outcome, names)
        if found and (worst is None or _worse(found, worst[1])):
            worst = (Schedule(system, schedule), found)
        if monotonic() > deadline:
            return Enumeration(count, False, worst)
    return Enumeration(count, True, worst)


def every_schedule(system: System) -> Iterator[tuple[tuple[Update, ...], Outcome]]:
    """Each schedule of ``system`` with what it comes to."""
    for flows in _all_flows(system, 0):
        yield from _runs(Simulation(system), flows, (0,) * len(flows), frozenset(), ())


def _all_flows(system: System, index: int) -> Iterator[tuple[Flow, ...]]:
    """Each combination of the arrivals of the clusters from ``index`` on; nothing is kept, so that even a
    hopeless enumeration starts at once and can be stopped."""
    if index == len(system.clusters):
        yield ()
        return
    for flow in _arrivals(system, index):
        for others in _all_flows(system, index + 1):
            yield (flow, *others)


def _arrivals(system: System, index: int) -> Iterator[Flow]:
    """Each possible sequence of a cluster's (time, source, seq), in time order."""
    cluster, rounds = system.clusters[index], system.rounds[index]
    grid = range(cluster.phase[0], cluster.phase[1] + 1, system.tick)
    lateness = range(0, cluster.jitter + 1, system.tick)
    seen = set()
    for phases in _ascending(grid, cluster.workers):
        for late in _each(lateness, rounds * cluster.workers):
            times = tuple(
                phases[worker] + turn * cluster.period + late[turn * cluster.workers + worker]
                for turn in range(rounds)
                for worker in range(cluster.workers)
            )
            if tuple(sorted(times)) != times or times in seen:
                continue
            if cluster.jitter:
                seen.add(times)  # another phase with other lateness comes to the same times
            yield tuple(
                (time, (index, place % cluster.workers), place // cluster.workers)
                for place, time in enumerate(times)
            )


def _ascending(grid: range, count: int) -> Iterator[tuple[int, ...]]:
    """``count`` values of ``grid``, none below the one before."""
    if count == 0:
        yield ()
        return
    for place, value in enumerate(grid):
        for others in _ascending(grid[place:], count - 1):
            yield (value, *others)


def _each(grid: range, count: int) -> Iterator[tuple[int, ...]]:
    """``count`` values of ``grid``, independently."""
    if count == 0:
        yield ()
        return
    for value in grid:
        for others in _each(grid, count - 1):
            yield (value, *others)


def _runs(
    state: Simulation,
    flows: tuple[Flow, ...],
    places: tuple[int, ...],
    first: First,
    done: tuple[Update, ...],
) -> Iterator[tuple[tuple[Update, ...], Outcome]]:
    """Continue from ``state``: of the updates that come next, each may, and each decision."""
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
            update = Update(now, index, source[1] + 1, seq, sent)
            yield from _runs(after, flows, onward, known, (*done, update))


def _worse(one: Violation, other: Violation) -> bool:
    if one.excess is None or other.excess is None:
        return one.excess is None and other.excess is not None
    return one.excess > other.excess
