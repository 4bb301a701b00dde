"""Bounds on waiting that follow from the arrival model alone; the encoding adds them to the laws.

Withheld, merged and lost updates only take work away, so each bound holds for every schedule.
"""

from olafctl.verify.question.system import System


def longest_wait(system: System) -> int:
    """ns that a slot waits at most, D - A.

    The smaller of two: F·p/C, as at most one update of each other cluster waits and one is being sent; and
    the largest work that can gather within any τ after an idle instant beyond what is sent meanwhile,
    max_τ Σ_u w_u·(⌊(τ + J_u)/P_u⌋ + 1)·p/C - τ - p/C, which is finite when the load is below one.
    """
    by_slots = len(system.clusters) * system.service
    busy = system.service
    while True:
        demand = _demand(system, busy)
        if demand == busy:
            break
        busy = demand
        if busy > 64 * max(by_slots, *(cluster.period + cluster.jitter for cluster in system.clusters)):
            return by_slots
    steps = {
        turn * cluster.period - cluster.jitter
        for cluster in system.clusters
        for turn in range(1, (busy + cluster.jitter) // cluster.period + 1)
    }
    gathered = max(_demand(system, step) - step for step in {0, *(step for step in steps if step > 0)})
    return min(by_slots, gathered - system.service)


def heard_in_turn(system: System) -> bool:
    """Whether every generated update is taken: nothing can be withheld or lost."""
    return not system.controlled and system.capacity >= len(system.clusters)


def _demand(system: System, span: int) -> int:
    """Work, in ns, that can arrive within a closed interval of ``span`` ns."""
    updates = sum(
        cluster.workers * ((span + cluster.jitter) // cluster.period + 1) for cluster in system.clusters
    )
    return updates * system.service
