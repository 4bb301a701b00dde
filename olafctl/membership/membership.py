"""The membership of one deployment in memory: rows by key, and what follows from them kept with them.

Keys are ``cluster/NAME``, ``member/NAME``, ``nonce/CLUSTER/ADDRESS`` (the newest control message) and
``meta/NAME``. A change is a mapping from keys to new rows; None removes.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Address

from olafctl.errors import BadInput, Problem
from olafctl.membership import limits
from olafctl.membership.indices import IndexRanges
from olafctl.membership.model import Cluster, Member, Row, placed
from olafctl.testbed import model as testbed

Change = dict[str, Row | None]


class Numbers:
    """Small numbers, the least free one first."""

    def __init__(self, numbers: range) -> None:
        self._next = numbers.start
        self._end = numbers.stop
        self._returned: list[int] = []
        self._taken: set[int] = set()

    def least(self) -> int | None:
        """The least number that is free; None when there is none."""
        while self._returned and self._returned[0] in self._taken:
            heapq.heappop(self._returned)
        if self._returned:
            return self._returned[0]
        while self._next in self._taken:
            self._next += 1
        return self._next if self._next < self._end else None

    def take(self, number: int) -> None:
        """It is no longer free."""
        self._taken.add(number)

    def give_back(self, number: int) -> None:
        """It is free again."""
        self._taken.discard(number)
        if number < self._next:
            heapq.heappush(self._returned, number)


class Membership:
    """See the module."""

    def __init__(self, indices: int, rows: Mapping[str, Row]) -> None:
        """``indices`` are the queue's; ``rows`` what was stored."""
        self.clusters: dict[str, Cluster] = {}
        self.members: dict[str, Member] = {}
        self.rows: dict[str, Row] = {}
        """Of the other keys."""
        self.indices = IndexRanges(indices)
        self.resting: set[tuple[int, int]] = set()
        """Ranges (first, count) of clusters that are gone, for as long as updates of theirs may wait."""
        self.cluster_numbers = Numbers(range(limits.CLUSTERS))
        self.replicas = Numbers(range(1, limits.WORKERS + 1))
        self._in_cluster: dict[str, dict[str, Member]] = {}
        self._by_address: dict[IPv4Address, Member] = {}
        # Clusters first: a member names its own.
        for key in sorted(rows):
            self._put(key, rows[key])

    def apply(self, change: Mapping[str, Row | None]) -> None:
        """Carry a change out."""
        # What goes first makes room for what comes; members go before, and come after, their cluster.
        for key in sorted(change, reverse=True):
            self._remove(key)
        for key in sorted(change):
            row = change[key]
            if row is not None:
                self._put(key, row)

    def rested(self, resting: tuple[int, int]) -> None:
        """No update of these indices waits any more: others may have them."""
        self.resting.discard(resting)
        self.indices.give_back(*resting)

    def rest(self) -> None:
        """What waits in the queue is not known: all indices that are free rest."""
        for first, count in self.indices.runs():
            self.indices.claim(first, count)
            self.resting.add((first, count))

    def members_of(self, cluster: str) -> list[Member]:
        """A cluster's members."""
        return list(self._in_cluster[cluster].values())

    def at(self, address: IPv4Address) -> Member | None:
        """The member with this address."""
        return self._by_address.get(address)

    def cluster(self, name: str) -> Cluster:
        """The cluster of this name. Raises BadInput when there is none."""
        if name not in self.clusters:
            known = ", ".join(sorted(self.clusters)[:10]) or "none"
            raise BadInput(Problem(f"there is no cluster {name!r}", remedy=f"clusters: {known}"))
        return self.clusters[name]

    def member(self, name: str) -> Member:
        """The member of this name. Raises BadInput when there is none."""
        if name not in self.members:
            raise BadInput(Problem(f"there is no worker {name!r}", remedy="see olafctl cluster list"))
        return self.members[name]

    def placed(self, clusters: Iterable[str]) -> tuple[testbed.Cluster, ...]:
        """Those of ``clusters`` that exist, with their members, as a testbed has them."""
        return tuple(
            placed(self.clusters[name], self.members_of(name)) for name in clusters if name in self.clusters
        )

    def snapshot(self) -> Iterator[testbed.Cluster]:
        """All clusters and their members as they are now, each made when it is asked for."""
        everyone = [(cluster, self.members_of(name)) for name, cluster in self.clusters.items()]
        return (placed(cluster, members) for cluster, members in everyone)

    def _put(self, key: str, row: Row) -> None:
        room, _, _ = key.partition("/")
        if room == "cluster":
            cluster = Cluster.from_row(row)
            self.clusters[cluster.name] = cluster
            self._in_cluster.setdefault(cluster.name, {})
            self.cluster_numbers.take(cluster.number)
            if (cluster.first, cluster.segments) in self.resting:  # it was only changed
                self.resting.discard((cluster.first, cluster.segments))
            else:
                self.indices.claim(cluster.first, cluster.segments)
        elif room == "member":
            member = Member.from_row(row)
            self.members[member.name] = member
            self._in_cluster[member.cluster][member.name] = member
            self._by_address[member.ip] = member
            self.replicas.take(member.replica)
        else:
            self.rows[key] = row

    def _remove(self, key: str) -> None:
        room, _, name = key.partition("/")
        if room == "cluster" and name in self.clusters:
            cluster = self.clusters.pop(name)
            self.cluster_numbers.give_back(cluster.number)
            self.resting.add((cluster.first, cluster.segments))
            if not self._in_cluster[name]:
                del self._in_cluster[name]
        elif room == "member" and name in self.members:
            member = self.members.pop(name)
            del self._in_cluster[member.cluster][name]
            del self._by_address[member.ip]
            self.replicas.give_back(member.replica)
        else:
            self.rows.pop(key, None)


def affected(membership: Membership, change: Mapping[str, Row | None]) -> set[str]:
    """The clusters whose tables a change may touch, asked before it is applied."""
    names = set()
    for key, row in change.items():
        room, _, name = key.partition("/")
        if room == "cluster":
            names.add(name)
        elif room == "member":
            if name in membership.members:
                names.add(membership.members[name].cluster)
            if row is not None:
                names.add(str(row["cluster"]))
    return names
