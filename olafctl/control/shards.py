"""Which shard has which cluster: balanced by members and values, with few moves."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from olafctl.membership.model import Cluster
from olafctl.testbed.model import Testbed
from olafctl.wire.layouts import LANES

_UNEVEN = 1.25
"""A shard with so many times its share gives clusters away; moves for less would not end."""


@runtime_checkable
class Sharded(Protocol):
    """An engine that runs in shards."""

    def owners(self, indices: Sequence[int]) -> Sequence[int]: ...

    def place(self, first: int, last: int, shard: int) -> None: ...


def balance(engine: object, testbed: Testbed, clusters: Iterable[Cluster]) -> Sequence[tuple[str, int]]:
    """Give each shard of ``testbed``'s engine its part of ``clusters``; the names and shards of those that
    moved. Raises OlafError."""
    if testbed.shards == 1:
        return ()
    assert isinstance(engine, Sharded)
    every = list(clusters)
    now = dict(zip((each.name for each in every), engine.owners([each.first for each in every]), strict=True))
    moved = []
    for cluster, shard in planned(every, now, testbed.shards).items():
        if now[cluster] != shard:
            its = next(each for each in every if each.name == cluster)
            engine.place(its.first, its.last, shard)
            moved.append((cluster, shard))
    return moved


def planned(clusters: Sequence[Cluster], now: Mapping[str, int], shards: int) -> dict[str, int]:
    """The shard of each cluster by name; those that are fine where they are ``now`` stay."""
    weights = {each.name: load(each) for each in clusters}
    places = {name: now[name] for name in weights}
    loads = [sum(weights[name] for name in weights if places[name] == shard) for shard in range(shards)]
    share = sum(loads) / shards
    while max(loads) > _UNEVEN * share:
        fullest, emptiest = loads.index(max(loads)), loads.index(min(loads))
        gap = loads[fullest] - loads[emptiest]
        # What levels the two best: the nearest to half of what is between them, and less than all of it.
        fitting = [name for name in weights if places[name] == fullest and 0 < weights[name] < gap]
        if not fitting:
            break
        best = min(fitting, key=lambda name: abs(weights[name] - gap / 2))
        places[best] = emptiest
        loads[fullest] -= weights[best]
        loads[emptiest] += weights[best]
    return places


def load(cluster: Cluster) -> int:
    """What a cluster asks of its shard: the values of an update of each member, at least a beat."""
    return len(cluster.workers) * max(cluster.values, LANES * cluster.segments)
