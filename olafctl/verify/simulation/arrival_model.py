"""Schedules and the arrival model: whether one keeps to it, and the start of one carried on."""

from collections.abc import Iterable
from functools import cmp_to_key
from itertools import pairwise

from olafctl.verify.question.system import System
from olafctl.verify.simulation.engine import Simulation
from olafctl.verify.simulation.schedule import Schedule, Update

Meeting = set[tuple[tuple[int, int], tuple[int, int]]]


def continued(start: Schedule, system: System) -> Schedule:
    """``start``, found for a shorter horizon, carried on to ``system``'s: in time, everything sent."""
    planned = {(update.cluster, update.worker, update.seq): update for update in start.updates}
    first = _meetings(start.updates)
    updates = list(start.updates)
    for index, cluster in enumerate(system.clusters):
        for worker in range(1, cluster.workers + 1):
            for seq in range(system.rounds[index]):
                if (index, worker, seq) not in planned:
                    origin = planned[index, worker, 0].time
                    updates.append(Update(origin + seq * cluster.period, index, worker, seq, True))

    def earlier(one: Update, other: Update) -> int:
        pair = (one.cluster, one.worker), (other.cluster, other.worker)
        return one.time - other.time or (-1 if pair in first else 1 if pair[::-1] in first else 0)

    simulation = Simulation(system)
    decided = []
    for update in sorted(updates, key=cmp_to_key(earlier)):
        allowed = simulation.choices(update.time, update.cluster)
        sent = update.sent if update.sent in allowed else allowed[0]
        simulation.offer(update.time, update.cluster, sent)
        decided.append(Update(update.time, update.cluster, update.worker, update.seq, sent))
    return Schedule(system, tuple(decided))


def lawful(schedule: Schedule) -> bool:
    """Whether a schedule keeps to its system's arrival model, the order of meetings included."""
    system = schedule.system
    by_worker: dict[tuple[int, int], list[Update]] = {}
    for update in schedule.updates:
        by_worker.setdefault((update.cluster, update.worker), []).append(update)
    for (index, _), updates in by_worker.items():
        cluster, ordered = system.clusters[index], sorted(updates, key=lambda update: update.seq)
        if [update.seq for update in ordered] != list(range(system.rounds[index])):
            return False
        offsets = [update.time - update.seq * cluster.period for update in ordered]
        if max(offsets) - min(offsets) > cluster.jitter or min(offsets) < cluster.phase[0]:
            return False
        if max(offsets) > cluster.phase[1] + cluster.jitter:
            return False
    meetings = _meetings(schedule.updates)
    in_time = all(one.time <= other.time for one, other in pairwise(schedule.updates))
    return in_time and (not system.exact or not any(pair[::-1] in meetings for pair in meetings))


def _meetings(updates: Iterable[Update]) -> Meeting:
    """(first, second) for all sources of different clusters that reach the engine at one instant."""
    by_time: dict[int, list[Update]] = {}
    for update in updates:
        by_time.setdefault(update.time, []).append(update)
    return {
        ((one.cluster, one.worker), (other.cluster, other.worker))
        for group in by_time.values()
        for place, one in enumerate(group)
        for other in group[place + 1 :]
        if one.cluster != other.cluster
    }
