"""The membership of one deployment in memory: clusters and members by name, and what follows from them.

Keys are ``cluster/NAME``, ``member/NAME``, ``nonce/CLUSTER/ADDRESS`` (the newest control message) and
``meta/NAME``. A change holds new values by key; None removes. Only a store has rows of clusters and members,
which :func:`parse_row` and :func:`make_rows` convert.
"""

import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from ipaddress import IPv4Address

from olafctl.membership import limits
from olafctl.membership.indices import IndexRanges
from olafctl.membership.model import Cluster, Member, Row
from olafswitch.errors import BadInput, Problem

Change = dict[str, Cluster | Member | Row | None]
_CLUSTER, _MEMBER = "cluster", "member"


def cluster_key(name: str) -> str:
    """Return the key of a cluster's row."""
    return f"{_CLUSTER}/{name}"


def member_key(name: str) -> str:
    """Return the key of a member's row."""
    return f"{_MEMBER}/{name}"


def rows_of(clusters: Iterable[Cluster]) -> dict[str, Row]:
    """Return the rows of clusters and their members, by key."""
    rows = {}
    for cluster in clusters:
        rows[cluster_key(cluster.name)] = cluster.to_row()
        rows.update((member_key(worker.name), worker.to_row()) for worker in cluster.workers)
    return rows


def parse_row(rows: Mapping[str, Row | None]) -> Change:
    """Return the change that a store's rows mean. Raises KeyError, TypeError or ValueError for other rows."""
    change: Change = {}
    for key, row in rows.items():
        prefix, _, _ = key.partition("/")
        if row is not None and prefix == _CLUSTER:
            change[key] = Cluster.from_row(row)
        elif row is not None and prefix == _MEMBER:
            change[key] = Member.from_row(row)
        else:
            change[key] = row
    return change


def make_rows(change: Change) -> dict[str, Row | None]:
    """Return a change in a store's form."""
    return {
        key: value.to_row() if isinstance(value, Cluster | Member) else value for key, value in change.items()
    }


class Membership:
    """The membership of one deployment, see the module."""

    def __init__(self, indices: int, rows: Mapping[str, Row]) -> None:
        """Create a membership of a queue of ``indices`` from stored ``rows``. Raises KeyError, TypeError or
        ValueError when they do not fit the queue."""
        self.clusters: dict[str, Cluster] = {}
        """Clusters by name, with their members."""
        self.members: dict[str, Member] = {}
        self.rows: dict[str, Row] = {}
        """The rows of the other keys."""
        self.macs: Counter[str] = Counter()
        """The number of members by MAC address."""
        self.indices = IndexRanges(indices)
        self.draining: set[tuple[int, int]] = set()
        """Ranges (first, last) of deleted clusters, for as long as their updates may wait in a queue."""
        self.cluster_numbers = IndexRanges(limits.CLUSTERS)
        self.replicas = IndexRanges(limits.WORKERS + 1)
        self.replicas.claim(0)
        self._by_address: dict[IPv4Address, Member] = {}
        self.apply(parse_row(rows))

    def copy(self) -> "Membership":
        """Return a copy, whose changes do not affect this membership."""
        same = copy.copy(self)
        same.members, same.rows, same.macs = dict(self.members), dict(self.rows), Counter(self.macs)
        same.draining, same._by_address = set(self.draining), dict(self._by_address)
        same.indices, same.cluster_numbers = self.indices.copy(), self.cluster_numbers.copy()
        same.replicas = self.replicas.copy()
        return same

    def apply(self, change: Change) -> None:
        """Apply a change. Raises ValueError for an impossible change."""
        clusters = self.after(change)
        # Remove before adding, to make room.
        for key in change:
            prefix, _, name = key.partition("/")
            if prefix == _MEMBER and name in self.members:
                self._forget(self.members.pop(name))
            elif prefix == _CLUSTER and name in self.clusters:
                cluster = self.clusters[name]
                self.cluster_numbers.give_back(cluster.number)
                self.draining.add((cluster.first, cluster.last))
            else:
                self.rows.pop(key, None)
        for key, value in change.items():
            if isinstance(value, Cluster):
                self._put(value)
            elif isinstance(value, Member):
                self._note(value)
            elif value is not None:
                self.rows[key] = value
        self.clusters = clusters

    def after(self, change: Change) -> dict[str, Cluster]:
        """Return all clusters, with their members, as they are after a change. Raises ValueError for a member
        of a cluster that does not exist."""
        clusters = dict(self.clusters)
        members: dict[str, dict[str, Member]] = {}
        """Members by cluster, of the clusters whose members change."""

        def of(cluster: str) -> dict[str, Member]:
            if cluster not in members:
                known = self.clusters.get(cluster)
                members[cluster] = {each.name: each for each in known.workers} if known else {}
            return members[cluster]

        for key in change:
            prefix, _, name = key.partition("/")
            if prefix == _MEMBER and name in self.members:
                of(self.members[name].cluster).pop(name)
            elif prefix == _CLUSTER and clusters.pop(name, None) is not None:
                of(name)
        for value in change.values():
            if isinstance(value, Cluster):
                clusters[value.name] = value
            elif isinstance(value, Member):
                of(value.cluster)[value.name] = value
        for name, everyone in members.items():
            if name in clusters:
                workers = tuple(sorted(everyone.values(), key=lambda each: each.replica))
                clusters[name] = replace(clusters[name], workers=workers)
            elif everyone:
                raise ValueError(f"{next(iter(everyone))} is a member of {name!r}, which does not exist")
        return clusters

    def drained(self, indices: tuple[int, int]) -> None:
        """Free these indices, first to last, of which no update waits any more, for other clusters."""
        self.draining.discard(indices)
        first, last = indices
        self.indices.give_back(first, last - first + 1)

    def drain_free(self) -> None:
        """Let all free indices drain, because it is not known which updates wait in the queue."""
        for first, count in self.indices.runs():
            self.indices.claim(first, count)
            self.draining.add((first, first + count - 1))

    def at(self, address: IPv4Address) -> Member | None:
        """Return the member with this address."""
        return self._by_address.get(address)

    def cluster(self, name: str) -> Cluster:
        """Return the cluster of this name, or of this number. Raises BadInput when it does not exist."""
        if name in self.clusters:
            return self.clusters[name]
        for cluster in self.clusters.values():
            if name == str(cluster.number):
                return cluster
        known = ", ".join(sorted(self.clusters)[:10]) or "none"
        raise BadInput(Problem(f"cluster {name!r} does not exist", remedy=f"clusters: {known}"))

    def member(self, name: str) -> Member:
        """Return the member of this name. Raises BadInput when it does not exist."""
        if name not in self.members:
            raise BadInput(Problem(f"worker {name!r} does not exist", remedy="see olafctl cluster list"))
        return self.members[name]

    def other_with_mac(self, mac: str, name: str) -> Member | None:
        """Return a member with this MAC address whose name is not ``name``."""
        if self.macs[mac] == 0:
            return None
        return next((each for each in self.members.values() if each.mac == mac and each.name != name), None)

    def clusters_named(self, names: Iterable[str]) -> tuple[Cluster, ...]:
        """Return the clusters of these names that exist."""
        return tuple(self.clusters[name] for name in names if name in self.clusters)

    def snapshot(self) -> Iterator[Cluster]:
        """Return all clusters as they are now, whatever changes meanwhile."""
        return iter(tuple(self.clusters.values()))

    def _put(self, cluster: Cluster) -> None:
        self.cluster_numbers.claim(cluster.number)
        if (cluster.first, cluster.last) in self.draining:  # the cluster was only changed
            self.draining.discard((cluster.first, cluster.last))
        else:
            self.indices.claim(cluster.first, cluster.segments)

    def _note(self, member: Member) -> None:
        if member.ip in self._by_address:
            raise ValueError(f"{member.ip} is the address of two members")
        self.members[member.name] = member
        self._by_address[member.ip] = member
        self.macs[member.mac] += 1
        self.replicas.claim(member.replica)

    def _forget(self, member: Member) -> None:
        del self._by_address[member.ip]
        self.macs[member.mac] -= 1
        if not self.macs[member.mac]:
            del self.macs[member.mac]
        self.replicas.give_back(member.replica)


def find_affected(membership: Membership, change: Change) -> set[str]:
    """Return the clusters whose tables a change may touch, before it is applied."""
    names = set()
    for key, value in change.items():
        prefix, _, name = key.partition("/")
        if prefix == _CLUSTER:
            names.add(name)
        elif prefix == _MEMBER and name in membership.members:
            names.add(membership.members[name].cluster)
        if isinstance(value, Member):
            names.add(value.cluster)
    return names
