"""The shard of each cluster: balanced by members and values, with few moves."""

from collections.abc import Iterable, Mapping, Sequence

from olafctl.membership.model import Cluster
from olafctl.targets.interface import Sharded, Shards
from olafctl.testbed.model import Port, Testbed
from olafctl.wire.layouts import LANES
from olafswitch.ports.transport import Transport

_UNEVEN = 1.25
"""A shard with this many times its share gives clusters away; moves for less would not end."""


def threads_of(running: object) -> Mapping[str, Shards]:
    """Return the threads of each engine that has several."""
    return running.sharded if isinstance(running, Sharded) else {}


def balance_shards(running: object, testbed: Testbed, clusters: Iterable[Cluster]) -> None:
    """Give each shard of each engine its part of ``clusters``. Cards are to give each worker's frames to its
    shard. Raises OlafError."""
    every, several = list(clusters), threads_of(running)
    for engine in testbed.engines:
        if threads := several.get(engine.name):
            _balance_engine(threads, engine.shards, testbed.ports, every)


def _balance_engine(threads: Shards, count: int, ports: Sequence[Port], every: Sequence[Cluster]) -> None:
    now = dict(
        zip((each.name for each in every), threads.owners([each.first for each in every]), strict=True)
    )
    plan = plan_shards(every, now, count)
    for cluster in every:
        if now[cluster.name] != plan[cluster.name]:
            threads.place(cluster.first, cluster.last, plan[cluster.name])
    if any(port.transport is Transport.NIC for port in ports):
        queues: dict[int, dict[str, int]] = {port.number: {} for port in ports}
        for each in every:
            for worker in each.workers:
                queues[worker.port][str(worker.ip)] = plan[each.name]
        threads.steer(queues)


def plan_shards(clusters: Sequence[Cluster], now: Mapping[str, int], shards: int) -> dict[str, int]:
    """Return the shard of each cluster by name; clusters that may stay where they are ``now`` stay."""
    weights = {each.name: cluster_load(each) for each in clusters}
    places = {name: now[name] for name in weights}
    loads = [sum(weights[name] for name in weights if places[name] == shard) for shard in range(shards)]
    share = sum(loads) / shards
    while max(loads) > _UNEVEN * share:
        fullest, emptiest = loads.index(max(loads)), loads.index(min(loads))
        gap = loads[fullest] - loads[emptiest]
        # The cluster that levels both best: nearest to half of the gap between them, and less than all of it.
        fitting = [name for name in weights if places[name] == fullest and 0 < weights[name] < gap]
        if not fitting:
            break
        best = min(fitting, key=lambda name: abs(weights[name] - gap / 2))
        places[best] = emptiest
        loads[fullest] -= weights[best]
        loads[emptiest] += weights[best]
    return places


def cluster_load(cluster: Cluster) -> int:
    """Return a cluster's load on its shard: the values of an update of each member, at least a beat."""
    return len(cluster.workers) * max(cluster.values, LANES * cluster.segments)
