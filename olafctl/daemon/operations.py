"""What can be asked of a membership, each as a check and a change; nothing here writes anything.

An operation is called with the membership as it is when its turn has come. It returns what to change and
what to answer, or raises BadInput with the reason; then nothing was changed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address

from olafctl.daemon.membership import Change, Membership
from olafctl.daemon.model import Cluster, Kind, Member, Row, parent_at
from olafctl.daemon.objectives import check_objective
from olafctl.errors import BadInput, Problem
from olafctl.queue.internals import Command
from olafctl.testbed import limits, quantities
from olafctl.testbed.hosts import default_mac
from olafctl.testbed.model import Testbed
from olafctl.testbed.topology import Topology
from olafctl.wire.geometry import MEMBERS, segment_values
from olafctl.wire.layouts import ETHERNET, GRADIENT_OFFSET
from olafctl.wire.modes import Mode

_EPOCH = "meta/epoch"


@dataclass(frozen=True)
class Planned:
    """What an operation would change, and what it answers."""

    change: Change
    answer: Row
    commands: Sequence[tuple[Command, int, int]] = ()
    """For the queue once the tables are changed: command, first and last index."""


class Outdated(Exception):
    """The membership is no longer the one that an operation was prepared for."""


class NoRoom(BadInput):
    """A table, a cluster or the queue is full."""


Operation = Callable[[Membership], Planned]


@dataclass(frozen=True)
class ClusterWish:
    """A cluster as it is asked for; what is left out is the engine's."""

    name: str
    values: int = 0
    mode: Mode | None = None
    threshold: int = 0
    reward_threshold: float | None = None
    key: str = ""
    open: bool = False
    objective: str = ""
    period: int = 0


@dataclass(frozen=True)
class MemberWish:
    """A member as it is asked for."""

    cluster: str
    ip: IPv4Address
    port: int
    """Front port that leads to it."""
    udp_port: int
    name: str = ""
    """Empty: its address."""
    mac: str = ""
    """Empty: the one made from its address."""
    kind: Kind = Kind.WORKER
    worker_id: int = 0
    values: int = 0
    """Length of its model; 0 when it does not say."""
    mtu: int = 0
    """Largest IPv4 packet on its way in bytes; 0 when it does not say."""
    lease: float = 0
    rows: Change = field(default_factory=dict)
    """What is to be stored in the same step."""


class Operations:
    """The operations on one deployment; ``testbed`` says what there is besides members."""

    def __init__(self, testbed: Testbed) -> None:
        self._testbed = testbed
        self._topology = Topology(testbed)
        root = testbed.root.name
        children = self._topology.children.items()
        self._between = max(len(below) + (name != root) for name, below in children)
        """Entries that an engine may need for a cluster to reach those next to it."""
        self._ports = {port.number for port in testbed.ports}
        self._others = {host.ip: host.name for host in (*testbed.parameter_servers, *testbed.hosts)}
        self._other_macs = {host.mac: host.name for host in (*testbed.parameter_servers, *testbed.hosts)}
        self._names = set(self._others.values())
        if testbed.root.address is not None:
            self._others[testbed.root.address] = "the engine"

    # Clusters

    def create_cluster(self, wish: ClusterWish) -> Operation:
        """Give a cluster indices and a group. The answer is the cluster."""

        def create(membership: Membership) -> Planned:
            _check_name(wish.name)
            if wish.name in membership.clusters:
                raise BadInput(
                    Problem(f"there is a cluster {wish.name!r} already", remedy="choose another name")
                )
            if not 0 <= wish.values <= limits.VALUES:
                what = f"a model of {wish.values} values"
                raise BadInput(Problem(what, remedy=f"give 0 … {limits.VALUES}"))
            _check_threshold(wish.threshold)
            _check_key(wish.key)
            check_objective(wish.objective, wish.period, self._testbed)
            number = membership.cluster_numbers.least()
            if number is None:
                what = f"the table `cluster_multicast` holds {limits.CLUSTERS} clusters"
                raise NoRoom(Problem(what, remedy="delete a cluster, or use a second engine"))
            segments = max(-(-wish.values // segment_values(self._testbed.beats)), 1)
            first = _indices(membership, segments)
            membership.indices.give_back(first, segments)
            epoch = (int(membership.rows.get(_EPOCH, {"last": 0})["last"]) + 1) % limits.EPOCHS
            cluster = Cluster(
                name=wish.name,
                number=number,
                values=wish.values,
                first=first,
                segments=segments,
                mode=wish.mode or self._testbed.root.mode,
                threshold=wish.threshold,
                reward_threshold=wish.reward_threshold,
                epoch=epoch,
                halted=False,
                key=wish.key,
                open=wish.open,
                objective=wish.objective,
                period=wish.period,
                own_mode=wish.mode is not None,
            )
            self._check_mode(cluster)
            change: Change = {_cluster(wish.name): cluster.to_row(), _EPOCH: {"last": epoch}}
            reset = (Command.RESET, first, first + segments - 1)
            return Planned(change, cluster.shown(), [reset])

        return create

    def delete_cluster(self, name: str) -> Operation:
        """Take a cluster out, with its members. The answer says how many there were."""

        def delete(membership: Membership) -> Planned:
            cluster = membership.cluster(name)
            members = membership.members_of(name)
            change: Change = {_member(member.name): None for member in members}
            change[_cluster(name)] = None
            change.update({key: None for key in membership.rows if key.startswith(f"nonce/{name}/")})
            reset = (Command.RESET, cluster.first, cluster.first + cluster.segments - 1)
            return Planned(change, {"cluster": name, "members": len(members)}, [reset])

        return delete

    def set_threshold(self, name: str, threshold: int, rows: Change | None = None) -> Operation:
        """Set H; 0 follows the number of members."""
        _check_threshold(threshold)
        return self._set(name, rows, lambda cluster: replace(cluster, threshold=threshold))

    def set_mode(self, name: str, mode: Mode) -> Operation:
        """Set how the queue treats the cluster's updates."""
        return self._set(name, None, lambda cluster: replace(cluster, mode=mode, own_mode=True))

    def set_reward(self, name: str, threshold: float | None) -> Operation:
        """Set the reward rule's threshold; None switches it off."""
        if threshold is not None and not 0 <= threshold < float("inf"):
            raise BadInput(Problem(f"a reward threshold of {threshold}", remedy="give 0 or more, or off"))
        return self._set(
            name,
            None,
            lambda cluster: replace(cluster, reward_threshold=threshold, own_reward_threshold=True),
        )

    def halt(self, name: str, halted: bool, rows: Change | None = None) -> Operation:
        """Suspend or resume the training job: while halted the queue drops its updates."""
        return self._set(name, rows, lambda cluster: replace(cluster, halted=halted))

    def command(
        self, command: Command, name: str, segment: int | None, rows: Change | None = None
    ) -> Operation:
        """RESET or FBCAST of one segment, or with None of all."""

        def act(membership: Membership) -> Planned:
            cluster = membership.cluster(name)
            if segment is not None and not 0 <= segment < cluster.segments:
                what = f"segment {segment} of {name!r}, whose model has {cluster.segments}"
                raise BadInput(Problem(what, remedy=f"give 0 … {cluster.segments - 1}"))
            first = cluster.first + (segment or 0)
            last = first if segment is not None else cluster.first + cluster.segments - 1
            return Planned(dict(rows or {}), cluster.shown(), [(command, first, last)])

        return act

    # Members

    def join(self, wish: MemberWish) -> Operation:
        """Admit a member. One that joins again as it is gets the same number. The answer is the member."""

        def admit(membership: Membership) -> Planned:
            cluster = membership.cluster(wish.cluster)
            name = wish.name or str(wish.ip)
            mac = wish.mac or default_mac(wish.ip)
            self._check_fit(wish, cluster)
            there = membership.at(wish.ip)
            if there is not None and there.name == name and there.cluster == wish.cluster:
                same = replace(
                    there,
                    port=wish.port,
                    parent=self._parent(wish.port),
                    udp_port=wish.udp_port,
                    mac=mac,
                    kind=wish.kind,
                    lease=wish.lease,
                )
                self._check_place(same)
                self._check_rounds(membership, cluster, same)
                change: Change = dict(wish.rows)
                if same != there:
                    change[_member(name)] = same.to_row()
                return Planned(change, same.to_row())
            _check_name(name)
            self._check_unique(membership, name, wish.ip)
            self._check_room(membership, cluster, wish.worker_id)
            replica = membership.replicas.least()
            assert replica is not None
            member = Member(
                name=name,
                cluster=wish.cluster,
                kind=wish.kind,
                parent=self._parent(wish.port),
                ip=wish.ip,
                udp_port=wish.udp_port,
                mac=mac,
                port=wish.port,
                number=_free_number(membership, wish.cluster),
                worker_id=wish.worker_id,
                replica=replica,
                lease=wish.lease,
            )
            self._check_place(member)
            self._check_rounds(membership, cluster, member)
            return Planned({**wish.rows, _member(name): member.to_row()}, member.to_row())

        return admit

    def leave(self, name: str, rows: Change | None = None) -> Operation:
        """Take a member out. The answer is what it was."""

        def remove(membership: Membership) -> Planned:
            member = membership.member(name)
            return Planned({**(rows or {}), _member(name): None}, member.to_row())

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
                self._check_room(membership, target, member.worker_id, joins=False)
                number = _free_number(membership, target.name)
                moved = replace(moved, cluster=target.name, number=number)
            if port:
                moved = replace(moved, port=port, parent=self._parent(port))
            if moved == member:
                return Planned({}, member.to_row())
            self._check_rounds(membership, target, moved)
            return Planned({_member(name): moved.to_row()}, moved.to_row())

        return transfer

    # Checks

    def _set(self, name: str, rows: Change | None, changed: Callable[[Cluster], Cluster]) -> Operation:
        def change(membership: Membership) -> Planned:
            before = membership.cluster(name)
            after = changed(before)
            self._check_mode(after)
            self._check_rounds(membership, after)
            rest = dict(rows or {})
            if after != before:
                rest[_cluster(name)] = after.to_row()
            return Planned(rest, after.shown())

        return change

    def _check_mode(self, cluster: Cluster) -> None:
        modes = [cluster.mode] if cluster.own_mode else [engine.mode for engine in self._testbed.engines]
        if Mode.ISWITCH in modes and self._testbed.root.address is None:
            what = "iswitch needs an address to send to"
            raise BadInput(Problem(what, "mode", "give the engine one in its testbed: address: 10.0.0.250"))

    def _check_rounds(self, membership: Membership, cluster: Cluster, joins: Member | None = None) -> None:
        """Whether a cluster's H is one that rounds over several engines can have, with ``joins`` in it."""
        if cluster.mode is not Mode.ISWITCH or not cluster.threshold:
            return
        members = {member.name: member for member in membership.members_of(cluster.name)}
        if joins is not None:
            members[joins.name] = joins
        if len({member.parent for member in members.values()}) > 1:
            what = f"H {cluster.threshold}, but the members of {cluster.name!r} would be at several engines"
            remedy = "set H to 0: each engine waits for all members below it, so each of them counts"
            raise BadInput(Problem(what, "threshold", remedy))

    def _check_fit(self, wish: MemberWish, cluster: Cluster) -> None:
        """Whether the member's model and its path fit the cluster."""
        if wish.values and cluster.values and wish.values != cluster.values:
            what = f"a model of {wish.values} values, but {cluster.name!r} trains one of {cluster.values}"
            raise BadInput(Problem(what, "values", "join with the cluster's model"))
        most = segment_values(self._testbed.beats)
        packet = GRADIENT_OFFSET - ETHERNET.size + 4 * min(cluster.values or most, most)
        if wish.mtu and wish.mtu < packet:
            what = f"an MTU of {wish.mtu} bytes, but updates of {cluster.name!r} take {packet}"
            raise BadInput(Problem(what, "mtu", "raise the path's MTU, or deploy an engine of fewer beats"))

    def _check_unique(self, membership: Membership, name: str, ip: IPv4Address) -> None:
        if ip in self._others:
            raise BadInput(
                Problem(f"{ip} is the address of {self._others[ip]}", "ip", "give the worker its own")
            )
        there = membership.at(ip)
        if there is not None:
            what = f"{ip} is the address of {there.name}, in {there.cluster!r}"
            raise BadInput(Problem(what, "ip", "let that one leave or move first"))
        if name in membership.members or name in self._names:
            raise BadInput(Problem(f"the name {name!r} is taken", "name", "choose another"))

    def _check_room(
        self, membership: Membership, cluster: Cluster, worker_id: int, joins: bool = True
    ) -> None:
        others = membership.members_of(cluster.name)
        if cluster.mode is Mode.ISWITCH and len(others) >= MEMBERS.default:
            what = (
                f"an index tells {MEMBERS.default} members of a round apart, and {cluster.name!r} has as many"
            )
            raise NoRoom(Problem(what, "cluster", "join another cluster"))
        if worker_id and (same := [other for other in others if other.worker_id == worker_id]):
            what = f"{worker_id} is already {same[0].name}'s"
            raise BadInput(Problem(what, "worker_id", "ids differ within a cluster"))
        if not joins:
            return
        members = len(membership.members)
        hosts = members + len(self._testbed.parameter_servers) + len(self._testbed.hosts) + 1
        between = len(membership.clusters) * self._between
        for table, used, size in (
            ("workers", members + between, limits.WORKERS),
            ("forwarding", hosts + len(self._testbed.routes), limits.FORWARDING),
            ("bridging", hosts + 1, limits.BRIDGING),
        ):
            if used >= size:
                what = f"the table `{table}` is full: it holds {size}"
                raise NoRoom(Problem(what, remedy="let a worker leave, or use a second engine"))

    def _parent(self, port: int) -> str:
        """The parent of a member behind ``port``. Raises BadInput when that is no front port."""
        if port not in self._ports:
            ports = ", ".join(str(each) for each in sorted(self._ports)[:10])
            raise BadInput(Problem(f"there is no front port {port}", "port", f"front ports: {ports}"))
        return parent_at(port, self._topology)

    def _check_place(self, member: Member) -> None:
        if not 1 <= member.udp_port <= 65535:
            raise BadInput(Problem(f"UDP port {member.udp_port}", "udp_port", "give 1 … 65535"))
        if not quantities.is_host(member.ip):
            raise BadInput(
                Problem(f"{member.ip} is no host's address", "ip", "give the worker's own address")
            )
        if len(self._testbed.engines) > 1 and member.ip in limits.BETWEEN_ENGINES:
            what = f"{member.ip}, but engines use {limits.BETWEEN_ENGINES} among themselves"
            raise BadInput(Problem(what, "ip", "give the worker an address of its own network"))
        _check_mac(member.mac)
        if member.mac in self._other_macs:
            what = f"{member.mac} is the MAC address of {self._other_macs[member.mac]}"
            raise BadInput(Problem(what, "mac", "give the worker's own"))
        if not 0 <= member.worker_id < 1 << 32:
            raise BadInput(Problem(f"worker id {member.worker_id}", "worker_id", "give 0 … 4294967295"))
        if not 0 <= member.lease < float("inf"):
            raise BadInput(Problem(f"a lease of {member.lease} s", "lease", "give seconds, or 0 for none"))


def _free_number(membership: Membership, cluster: str) -> int:
    taken = {member.number for member in membership.members_of(cluster)}
    number = min(set(range(len(taken) + 1)) - taken)
    if number > 255:
        raise NoRoom(Problem(f"{cluster!r} has 256 members, as many as there are numbers", "cluster"))
    return number


def _indices(membership: Membership, count: int) -> int:
    try:
        return membership.indices.take(count)
    except BadInput as error:
        if not membership.resting:
            raise
        rest = sum(size for _, size in membership.resting)
        what = f"{rest} more indices are free when the updates of deleted clusters have left the queue"
        raise NoRoom(*error.problems, Problem(what, remedy="ask again in a moment")) from None


def _check_name(name: str) -> None:
    try:
        quantities.name(name)
    except quantities.Unreadable as error:
        raise BadInput(Problem(str(error), "name", "give letters, digits, '-', '_' and '.'")) from None


def _check_mac(mac: str) -> None:
    try:
        quantities.mac(mac)
    except quantities.Unreadable as error:
        raise BadInput(Problem(str(error), "mac", "give one such as 02:00:0a:00:01:01")) from None


def _check_threshold(threshold: int) -> None:
    if not 0 <= threshold <= limits.THRESHOLD:
        what = f"a threshold of {threshold}"
        raise BadInput(Problem(what, "threshold", f"give 1 … {limits.THRESHOLD}, or 0 for all members"))


def _check_key(key: str) -> None:
    try:
        long_enough = not key or len(bytes.fromhex(key)) >= 16
    except ValueError:
        long_enough = False
    if not long_enough:
        raise BadInput(Problem("is no key", "key", "give at least 32 hexadecimal digits"))


def _cluster(name: str) -> str:
    return f"cluster/{name}"


def _member(name: str) -> str:
    return f"member/{name}"
