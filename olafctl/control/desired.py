"""Desired state: what a testbed asks of the tables, the groups and the queue's registers."""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from ipaddress import IPv4Address

from olafctl.control.pipeline import (
    ASSIGN,
    BRIDGING,
    CLUSTER_MULTICAST,
    DEVICES,
    ELSEWHERE,
    FORWARDING,
    LINKS,
    MEMBERS,
    PARAMETER_SERVERS,
    REFUSALS,
    RESULTS,
    WORKERS,
)
from olafctl.control.seat import Copy, Seat
from olafctl.control.state import QueueState, State, device_state, merged
from olafctl.p4runtime.entities import Lpm, MulticastGroup, Replica, TableEntry
from olafctl.queue import internals
from olafctl.queue.registers import CLOCK_HZ, IndexSettings, rate_word
from olafctl.queue.settings import IndexRange, with_default
from olafctl.targets.interface import device_name
from olafctl.testbed import limits
from olafctl.testbed.hosts import default_mac
from olafctl.testbed.model import Cluster, Engine, Host, Mode, Testbed, Worker
from olafctl.testbed.topology import Topology
from olafctl.wire.frames import float_bits, mac_bits
from olafctl.wire.layouts import TUSER, Refusal

BROADCAST = (1 << 48) - 1
MEMBER_NUMBERS = 1 << TUSER.field("member").bits
"""Only rounds tell members apart, and their clusters are smaller; others may have more members."""

_NOWHERE = 0
"""Of an address of the engine's own: no frame comes in from it."""

_MODES = {
    Mode.OLAF: internals.Mode.OLAF,
    Mode.FIFO: internals.Mode.FIFO,
    Mode.ISWITCH: internals.Mode.ISWITCH,
}


def desired(testbed: Testbed) -> State:
    """The state that makes a pipeline serve ``testbed``; a pure function of it."""
    topology = Topology(testbed)
    members = of_clusters(testbed.clusters, topology=topology).devices
    devices = {}
    for seat in _seats(topology):
        first, second = (_device(seat, block) for block in DEVICES)
        devices[first] = merged(members[first], device_state(_identify(testbed, seat)))
        devices[second] = merged(members[second], device_state(_forward(testbed, seat)))
    queues = {engine.name: _queue(testbed, engine, topology) for engine in testbed.engines}
    root = queues.pop(testbed.engine.name)
    return State(devices, root.registers, root.settings, queues)


def of_clusters(
    clusters: Iterable[Cluster],
    without: Container[int] = (),
    *,
    topology: Topology | None = None,
    passing_by: Container[IPv4Address] = (),
) -> State:
    """The part of the devices' desired state that these clusters and their workers ask for. No two clusters
    share an entry or a group.

    The entries of workers whose replica ids are in ``without`` are left out; their groups are whole. Without
    a topology there is one engine. VNP4₁ of the engines above their own takes no updates of workers whose
    addresses are in ``passing_by``.
    """
    seats = _seats(topology)
    entities: dict[str, list[TableEntry | MulticastGroup]] = {
        _device(seat, block): [] for seat in seats for block in DEVICES
    }
    for cluster in clusters:
        for seat in seats:
            first, second = (entities[_device(seat, block)] for block in DEVICES)
            passing = {
                worker.ip
                for worker in seat.members(cluster)
                if worker.ip not in passing_by or seat.is_home(worker)
            }
            first += (
                _assignment(worker.ip, cluster, worker.number, worker.worker_id, seat.port_to(worker))
                if worker.ip in passing
                else _elsewhere(worker, seat)
                for worker in cluster.workers
                if worker.member not in without
            )
            first += _between_engines(cluster, seat)
            second += _reaching_together(cluster, seat)
            second += (_copy(copy) for copy in seat.copies(cluster) if copy.replica not in without)
            for worker in cluster.workers:
                if worker.member not in without:
                    second += _route(worker, seat)
    return State({name: device_state(held) for name, held in entities.items()}, {})


def registers(engine: Engine) -> dict[str, int]:
    """The queue's global settings by register name."""
    return {
        "rate": rate_word(engine.output_rate),
        "active_window": max(engine.active_window * CLOCK_HZ // 10**9, 1),
        "accumulate_quota": engine.accumulate_quota,
        "hold": 0,
    }


def index_range(cluster: Cluster, engine: Engine, topology: Topology) -> IndexRange:
    """A cluster's indices, and what it asks of them at ``engine``, whose own mode and reward rule are those
    of clusters that have none of their own."""
    here = replace(
        cluster,
        mode=cluster.mode if cluster.own_mode else engine.mode,
        reward_threshold=cluster.reward_threshold
        if cluster.own_reward_threshold
        else engine.reward_threshold,
    )
    if here.mode is Mode.ISWITCH and topology.testbed.others:
        below = len(topology.members_below(engine.name, cluster))
        if below and topology.top(cluster) != engine.name:
            here = replace(here, threshold=below)
    return IndexRange(cluster.first, cluster.first + cluster.segments - 1, settings(here))


def settings(cluster: Cluster) -> IndexSettings:
    """What the queue does with a cluster's updates, whatever their segment."""
    limit = cluster.reward_threshold
    return IndexSettings(
        mode=_MODES[cluster.mode],
        halted=cluster.halted,
        threshold=cluster.threshold if cluster.mode is Mode.ISWITCH else 1,
        reward_enable=0 if limit is None else 1,
        reward_threshold=0 if limit is None else float_bits(limit),
    )


def flood_group() -> int:
    """The multicast group of every front port; the clusters' groups are those below."""
    return limits.CLUSTERS + 1


def _assignment(address: IPv4Address, cluster: Cluster, number: int, worker_id: int, port: int) -> TableEntry:
    params = {
        "cluster": cluster.index,
        "worker": worker_id,
        "index": cluster.first,
        "segments": cluster.segments,
        "member": number % MEMBER_NUMBERS,
        "epoch": cluster.epoch,
        "port": port,
    }
    return TableEntry(WORKERS, {"worker_addr": int(address)}, ASSIGN, params)


def _elsewhere(worker: Worker, seat: Seat) -> TableEntry:
    """What keeps others from sending in the name of a worker whose updates do not pass here."""
    return TableEntry(WORKERS, {"worker_addr": int(worker.ip)}, ELSEWHERE, {"port": seat.port_to(worker)})


def _between_engines(cluster: Cluster, seat: Seat) -> Iterator[TableEntry]:
    """What VNP4₁ needs to know what comes down from the parent, and the sums of rounds from below."""
    own = seat.own_address(cluster)
    if own is not None:
        yield _assignment(own, cluster, 0, 0, _NOWHERE)
    if cluster.mode is Mode.ISWITCH:
        for copy, number in seat.branches(cluster):
            yield _assignment(copy.ip, cluster, number, 0, copy.port)


def _reaching_together(cluster: Cluster, seat: Seat) -> Iterator[TableEntry | MulticastGroup]:
    """What VNP4₂ needs to reach all members of a cluster at once, and to pass on the sum of a round."""
    copies = [Replica(copy.port, copy.replica) for copy in seat.copies(cluster)]
    if not copies:
        return
    yield MulticastGroup(cluster.group, copies)
    group = {"group": cluster.group}
    key = {"cluster": cluster.index}
    yield TableEntry(CLUSTER_MULTICAST, key, "multicast", group)
    if cluster.mode is not Mode.ISWITCH:
        return
    address, own = seat.address(), seat.own_address(cluster)
    if seat.is_top(cluster) or address is None or own is None:
        yield TableEntry(RESULTS, key, "broadcast", group)
    else:
        params = {"mac": mac_bits(default_mac(address)), "dst_addr": int(address), "src_addr": int(own)}
        yield TableEntry(RESULTS, key, "to_parent", params)


def _copy(copy: Copy) -> TableEntry:
    """What addresses a copy to whom it is for."""
    params = {"mac": mac_bits(copy.mac), "addr": int(copy.ip), "port": copy.udp_port}
    return TableEntry(MEMBERS, {"member": copy.replica}, "deliver", params)


def _identify(testbed: Testbed, seat: Seat) -> Iterator[TableEntry]:
    places = {server.ip: seat.port_to(server) for server in testbed.parameter_servers}
    if testbed.engine.address is not None:
        places[testbed.engine.address] = _NOWHERE if seat.is_root else seat.port_up()
    for address, port in places.items():
        yield TableEntry(PARAMETER_SERVERS, {"server_addr": int(address)}, "admit", {"port": port})
    for port in seat.ports_down():
        yield TableEntry(LINKS, {"port": port}, "from_below")
    for reason in Refusal:
        yield TableEntry(REFUSALS, {"reason": reason}, "refuse")


def _forward(testbed: Testbed, seat: Seat) -> Iterator[TableEntry | MulticastGroup]:
    for host in (*testbed.parameter_servers, *testbed.hosts):
        yield from _route(host, seat)
    address = testbed.engine.address
    if address is not None and not seat.is_root:
        yield from _way(address, default_mac(address), seat.port_up())
    for route in testbed.routes:
        prefix = Lpm(int(route.prefix.network_address), route.prefix.prefixlen)
        port = {"port": seat.port_towards(route.port)}
        yield TableEntry(FORWARDING, {"dst_addr": prefix}, "forward", port)
    yield TableEntry(BRIDGING, {"dst_mac": BROADCAST}, "flood", {"group": flood_group()})
    yield MulticastGroup(flood_group(), [Replica(number, 0) for number in seat.ports(testbed)])


def _route(host: Host, seat: Seat) -> Iterator[TableEntry]:
    return _way(host.ip, host.mac, seat.port_to(host))


def _way(address: IPv4Address, mac: str, port: int) -> Iterator[TableEntry]:
    yield TableEntry(FORWARDING, {"dst_addr": Lpm(int(address), 32)}, "forward", {"port": port})
    yield TableEntry(BRIDGING, {"dst_mac": mac_bits(mac)}, "forward", {"port": port})


def _seats(topology: Topology | None) -> Sequence[Seat]:
    """Every engine's place, each behind its parent's."""
    if topology is None or not topology.testbed.others:
        return [Seat("engine", None)]
    return [Seat(engine.name, topology) for engine in topology.testbed.engines]


def _device(seat: Seat, block: str) -> str:
    return block if seat.topology is None else device_name(seat.topology.testbed, seat.engine, block)


def _queue(testbed: Testbed, engine: Engine, topology: Topology) -> QueueState:
    parts = (index_range(cluster, engine, topology) for cluster in testbed.clusters)
    return QueueState(registers(engine), with_default(engine.indices, parts))
