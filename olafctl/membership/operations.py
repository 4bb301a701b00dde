"""The operations on a membership, each as a check and a change; nothing here writes anything.

An operation is called with the membership as it is when its turn has come. It returns the change and the
answer, or raises BadInput with the reason; then nothing was changed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address

from olafctl import quantities
from olafctl.membership import limits, rules
from olafctl.membership.ground import Ground
from olafctl.membership.membership import Change, Membership, cluster_key, member_key
from olafctl.membership.model import Cluster, Kind, Member, Reward, Row, default_mac
from olafctl.membership.rules import NoRoom, require_none
from olafctl.queue.registers import Command
from olafctl.wire.geometry import MEMBERS, segment_values
from olafctl.wire.layouts import ETHERNET, GRADIENT_OFFSET
from olafctl.wire.modes import Mode
from olafswitch.errors import BadInput, Problem

_EPOCH = "meta/epoch"


@dataclass(frozen=True)
class Planned:
    """The change that an operation would make, and its answer."""

    change: Change
    answer: Row
    commands: Sequence[tuple[Command, int, int]] = ()
    """Commands for the queue once the tables are changed: command, first and last index."""


class Outdated(Exception):
    """The membership is no longer the one that an operation was prepared for."""


Operation = Callable[[Membership], Planned]


@dataclass(frozen=True)
class MemberWish:
    """A requested member."""

    cluster: str
    ip: IPv4Address
    port: int
    """The front port that leads to the member."""
    udp_port: int
    name: str = ""
    """The member's name; empty: its address."""
    mac: str = ""
    """The member's MAC address; empty: derived from its IPv4 address."""
    kind: Kind = Kind.WORKER
    worker_id: int = 0
    values: int = 0
    """The length of the member's model; 0 when it does not say."""
    mtu: int = 0
    """The largest IPv4 packet on its path in bytes; 0 when it does not say."""
    lease: float = 0


class Operations:
    """The operations on one deployment."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    # Clusters

    def create_cluster(self, wish: Cluster) -> Operation:
        """Give a cluster its indices, its number and its epoch. The answer is the cluster."""

        def create(membership: Membership) -> Planned:
            if wish.name in membership.clusters:
                what = f"there is a cluster {wish.name!r} already"
                raise BadInput(Problem(what, "name", "choose another name"))
            epoch = (int(membership.rows.get(_EPOCH, {"last": 0})["last"]) + 1) % limits.EPOCHS
            segments = self._ground.segments(wish.values)
            wanted = replace(wish, segments=segments, epoch=epoch)
            require_none(rules.of_cluster(wanted, self._ground))
            require_none(rules.of_threshold(wanted, self._ground))
            require_none(rules.of_objective_names(wanted, membership.clusters))
            number = membership.cluster_numbers.least()
            if number is None:
                what = f"the table `cluster_multicast` holds {limits.CLUSTERS} clusters"
                raise NoRoom(Problem(what, remedy="delete a cluster, or use a second engine"))
            first = _take_indices(membership, segments)
            membership.indices.give_back(first, segments)
            cluster = replace(wanted, number=number, first=first)
            change: Change = {cluster_key(wish.name): cluster, _EPOCH: {"last": epoch}}
            return Planned(change, cluster.shown(), [(Command.RESET, first, cluster.last)])

        return create

    def delete_cluster(self, name: str) -> Operation:
        """Remove a cluster, with its members. The answer is their number."""

        def delete(membership: Membership) -> Planned:
            cluster = membership.cluster(name)
            change: Change = {member_key(member.name): None for member in cluster.workers}
            change[cluster_key(cluster.name)] = None
            nonces = f"nonce/{cluster.name}/"
            change.update({key: None for key in membership.rows if key.startswith(nonces)})
            answer = {"cluster": cluster.name, "members": len(cluster.workers)}
            return Planned(change, answer, [(Command.RESET, cluster.first, cluster.last)])

        return delete

    def set_threshold(self, name: str, threshold: int) -> Operation:
        """Set H; 0 follows the number of members."""

        def changed(cluster: Cluster) -> Cluster:
            after = replace(cluster, threshold=threshold)
            require_none(rules.of_threshold(after, self._ground))
            return after

        return self._set(name, changed)

    def set_mode(self, name: str, mode: Mode | None) -> Operation:
        """Set how the queue treats the cluster's updates; None: each engine's own mode."""

        def changed(cluster: Cluster) -> Cluster:
            after = replace(cluster, mode=mode)
            if self._ground.mode_of(after).sums:
                require_none(rules.of_threshold(after, self._ground))
            return after

        store = self._set(name, changed)

        def change(membership: Membership) -> Planned:
            before = membership.cluster(name)
            planned = store(membership)
            if not planned.change or not self._ground.mode_of(replace(before, mode=mode)).sums:
                return planned
            # Meanwhile an engine may have summed updates that an engine below it sent in the old mode.
            return replace(planned, commands=[(Command.RESET, before.first, before.last)])

        return change

    def set_reward(self, name: str, threshold: Reward | None) -> Operation:
        """Set the reward rule; None: each engine's own."""
        require_none(rules.of_reward(threshold))
        return self._set(name, lambda cluster: replace(cluster, reward_threshold=threshold))

    def set_staleness(self, name: str, bound: int | None) -> Operation:
        """Set how many versions an update may be behind; None switches the staleness rule off."""
        return self._set(name, lambda cluster: replace(cluster, staleness_bound=bound))

    def set_halted(self, name: str, halted: bool) -> Operation:
        """Suspend or resume the training job: while halted the queue drops its updates."""
        return self._set(name, lambda cluster: replace(cluster, halted=halted))

    def command(self, command: Command, name: str, segment: int | None) -> Operation:
        """Reset or broadcast (FBCAST) one segment, or with None all segments."""

        def act(membership: Membership) -> Planned:
            cluster = membership.cluster(name)
            first, last = cluster.first, cluster.last
            if segment is not None:
                require_none(of_segment(cluster, segment))
                first = last = cluster.first + segment
            require_none(rules.of_rounds(cluster, self._ground))
            return Planned({}, cluster.shown(), [(command, first, last)])

        return act

    # Members

    def join(self, wish: MemberWish) -> Operation:
        """Admit a member; the answer is the member. One that joins again unchanged keeps its number."""

        def admit(membership: Membership) -> Planned:
            cluster = membership.cluster(wish.cluster)
            self._check_fit(wish, cluster)
            require_none(rules.of_port(wish.port, self._ground))
            name = wish.name or str(wish.ip)
            there = membership.at(wish.ip)
            again = there is not None and (there.name, there.cluster) == (name, cluster.name)
            wanted = Member(
                name=name,
                cluster=cluster.name,
                kind=wish.kind,
                parent=self._ground.parent_at(wish.port),
                ip=wish.ip,
                udp_port=wish.udp_port,
                mac=_mac_of(wish),
                port=wish.port,
                number=there.number if again and there else _free_number(cluster),
                worker_id=there.worker_id if again and there else wish.worker_id,
                replica=there.replica if again and there else 0,
                lease=wish.lease,
            )
            require_none(rules.of_member(wanted, self._ground))
            if not again:
                _check_unique(membership, wanted)
            _check_mac(membership, wanted)
            if not again:
                _check_worker_id(cluster, wanted)
                room = rules.of_tables(self._ground, len(membership.clusters), len(membership.members) + 1)
                if full := tuple(room):
                    raise NoRoom(*full)
                replica = membership.replicas.least()
                assert replica is not None
                wanted = replace(wanted, replica=replica)
            self._check_cluster_with(cluster, wanted)
            change: Change = {} if wanted == there else {member_key(name): wanted}
            return Planned(change, wanted.to_row())

        return admit

    def leave(self, name: str) -> Operation:
        """Remove a member. The answer is the removed member."""

        def remove(membership: Membership) -> Planned:
            member = membership.member(name)
            return Planned({member_key(name): None}, member.to_row())

        return remove

    def move(self, name: str, cluster: str = "", port: int = 0) -> Operation:
        """Put a member into another cluster, behind another front port, or both; it keeps its replica id. The
        answer is the member."""

        if not cluster and not port:
            raise BadInput(Problem("neither a cluster nor a port", "cluster", "say where the worker goes"))

        def transfer(membership: Membership) -> Planned:
            member = membership.member(name)
            target = membership.cluster(cluster or member.cluster)
            moved = member
            if target.name != member.cluster:
                _check_worker_id(target, member)
                moved = replace(moved, cluster=target.name, number=_free_number(target))
            if port:
                require_none(rules.of_port(port, self._ground))
                moved = replace(moved, port=port, parent=self._ground.parent_at(port))
                require_none(rules.of_member(moved, self._ground))
                _check_mac(membership, moved)
            if moved == member:
                return Planned({}, member.to_row())
            self._check_cluster_with(target, moved)
            return Planned({member_key(name): moved}, moved.to_row())

        return transfer

    # Checks

    def _set(self, name: str, changed: Callable[[Cluster], Cluster]) -> Operation:
        def change(membership: Membership) -> Planned:
            before = membership.cluster(name)
            after = changed(before)
            require_none(rules.of_cluster(after, self._ground))
            new: Change = {} if after == before else {cluster_key(after.name): after}
            return Planned(new, after.shown())

        return change

    def _check_cluster_with(self, cluster: Cluster, member: Member) -> None:
        """Raise BadInput when a cluster with this member in it breaks a rule."""
        others = (each for each in cluster.workers if each.name != member.name)
        joined = replace(cluster, workers=(*others, member))
        if self._ground.mode_of(cluster).sums and len(joined.workers) > MEMBERS.default:
            raise NoRoom(*rules.of_cluster(joined, self._ground))
        require_none(rules.of_cluster(joined, self._ground))

    def _check_fit(self, wish: MemberWish, cluster: Cluster) -> None:
        """Raise BadInput when the member's model or its path does not fit the cluster."""
        most = segment_values(self._ground.beats)
        if wish.values and (wish.values != cluster.values if cluster.values else wish.values > most):
            known = f"one of {cluster.values}" if cluster.values else f"one segment, of up to {most}"
            what = f"a model of {wish.values} values, but {cluster.name!r} trains {known}"
            raise rules.WrongModel(Problem(what, "values", "join with the cluster's model"))
        packet = GRADIENT_OFFSET - ETHERNET.size + 4 * min(cluster.values or most, most)
        if wish.mtu and wish.mtu < packet:
            what = f"an MTU of {wish.mtu} bytes, but updates of {cluster.name!r} take {packet}"
            raise BadInput(Problem(what, "mtu", "raise the path's MTU, or deploy an engine of fewer beats"))


def combine_operations(operation: Operation, rows: Change) -> Operation:
    """Return ``operation`` with rows that are stored in the same step."""

    def both(membership: Membership) -> Planned:
        planned = operation(membership)
        return replace(planned, change={**planned.change, **rows})

    return both


def of_segment(cluster: Cluster, segment: int) -> list[Problem]:
    """Return the problem with a segment that the cluster's model does not have."""
    if 0 <= segment < cluster.segments:
        return []
    what = f"segment {segment} of {cluster.name!r}, whose model has {cluster.segments}"
    return [Problem(what, "segment", f"give 0 … {cluster.segments - 1}")]


def _mac_of(wish: MemberWish) -> str:
    """Return the wish's MAC address in the usual form, so that it is recognised. Raises BadInput."""
    try:
        return quantities.mac(wish.mac) if wish.mac else default_mac(wish.ip)
    except quantities.Unreadable as error:
        raise BadInput(Problem(error.what, "mac", error.remedy)) from None


def _check_unique(membership: Membership, member: Member) -> None:
    ip = member.ip
    there = membership.at(ip)
    if there is not None:
        what = f"{ip} is the address of {there.name}, in {there.cluster!r}"
        raise BadInput(Problem(what, "ip", "let that one leave or move first"))
    if member.name in membership.members:
        raise BadInput(Problem(f"the name {member.name!r} is taken", "name", "choose another"))


def _check_mac(membership: Membership, member: Member) -> None:
    other = membership.other_with_mac(member.mac, member.name)
    if other is not None:
        require_none(rules.of_mac(member, other))


def _check_worker_id(cluster: Cluster, member: Member) -> None:
    taken = {each.worker_id: each.name for each in cluster.workers}
    require_none(rules.of_worker_id(member.worker_id, taken))


def _free_number(cluster: Cluster) -> int:
    taken = {member.number for member in cluster.workers}
    return min(set(range(len(taken) + 1)) - taken)


def _take_indices(membership: Membership, count: int) -> int:
    try:
        return membership.indices.take(count)
    except BadInput as error:
        if not membership.draining:
            raise
        waiting = sum(last - first + 1 for first, last in membership.draining)
        what = f"{waiting} more indices are free when the updates of deleted clusters have left the queue"
        raise NoRoom(*error.problems, Problem(what, remedy="ask again in a moment")) from None
