"""Desired state: a testbed's entries of the tables, its groups, and its settings of the queue's registers."""

from collections.abc import Container, Iterable, Iterator
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
    NOT_A_WORKER,
    PARAMETER_SERVERS,
    REFUSALS,
    RESULTS,
    WORKERS,
)
from olafctl.control.state import PipelineState, QueueState, device_state, merge_states
from olafctl.membership import limits
from olafctl.membership.model import Cluster, Host, Member, default_mac
from olafctl.queue import staleness
from olafctl.queue.registers import CLOCK_HZ, IndexSettings, rate_word
from olafctl.queue.settings import IndexRange, with_default
from olafctl.targets.interface import device_name
from olafctl.testbed.model import Testbed, TestbedEngine
from olafctl.testbed.topology import Topology
from olafctl.wire.frames import float_bits, mac_bits
from olafctl.wire.layouts import TUSER, Refusal
from olafctl.wire.modes import Mode
from olafswitch.p4runtime.entities import Lpm, MulticastGroup, Replica, TableEntry

BROADCAST = (1 << 48) - 1
MEMBER_NUMBERS = 1 << TUSER.field("member").bits
"""Only rounds distinguish members, and their clusters are smaller; others may have more members."""

_NOWHERE = 0
"""The port of an address of the engine's own: no frame comes in from it."""


def desired_state(testbed: Testbed, membership: Iterable[Cluster] | None = None) -> PipelineState:
    """Return the state that makes a pipeline serve ``testbed`` with the clusters and members of
    ``membership``, by default its own."""
    topology, clusters = Topology(testbed), testbed.clusters if membership is None else tuple(membership)
    members = of_clusters(clusters, topology=topology).devices
    devices = {}
    for engine in testbed.engines:
        first, second = (device_name(testbed, engine.name, block) for block in DEVICES)
        devices[first] = merge_states(members[first], device_state(_identify_sources(topology, engine.name)))
        devices[second] = merge_states(members[second], device_state(_forward_hosts(topology, engine)))
    return PipelineState(
        devices, {engine.name: _desired_queue(engine, clusters, topology) for engine in testbed.engines}
    )


def of_clusters(
    clusters: Iterable[Cluster],
    without: Container[int] = (),
    *,
    topology: Topology,
    passing_by: Container[IPv4Address] = (),
    bridged: Container[str] = (),
) -> PipelineState:
    """Return the part of the devices' desired state for these clusters and their workers. Two clusters share
    no more than the way to a MAC address.

    The entries of workers whose replica ids are in ``without`` are left out; their groups are whole. VNP4₁ of
    the engines above their own takes no updates of workers whose addresses are in ``passing_by``. The ways to
    MAC addresses in ``bridged`` serve others, too, and are left out.
    """
    testbed = topology.testbed
    names = {
        engine.name: [device_name(testbed, engine.name, block) for block in DEVICES]
        for engine in testbed.engines
    }
    entities: dict[str, list[TableEntry | MulticastGroup]] = {
        device: [] for blocks in names.values() for device in blocks
    }
    for cluster in clusters:
        for engine, blocks in names.items():
            first, second = (entities[device] for device in blocks)
            passing = {
                worker.ip
                for worker in topology.members_below(engine, cluster)
                if worker.ip not in passing_by or topology.home(worker) == engine
            }
            for worker in cluster.workers:
                if worker.replica not in without:
                    port = topology.port_towards(engine, worker.port)
                    first.append(
                        _assign_worker(worker.ip, cluster, worker.number, worker.worker_id, port)
                        if worker.ip in passing
                        else TableEntry(WORKERS, {"worker_addr": int(worker.ip)}, ELSEWHERE, {"port": port})
                    )
            first += _between_engines(cluster, engine, topology)
            second += _reaching_together(cluster, engine, topology)
            second += (
                _deliver_copy(each)
                for each in topology.members_at(engine, cluster)
                if each.replica not in without
            )
            for worker in cluster.workers:
                if worker.replica not in without:
                    second += (
                        entry
                        for entry in _route_host(worker, engine, topology)
                        if entry.table != BRIDGING or worker.mac not in bridged
                    )
    return PipelineState({name: device_state(held) for name, held in entities.items()})


def queue_registers(engine: TestbedEngine) -> dict[str, int]:
    """Return the queue's global settings by register name."""
    low, high = staleness.shift_words(engine.staleness_root)
    return {
        "rate": rate_word(engine.output_rate),
        "active_window": max(engine.active_window * CLOCK_HZ // 10**9, 1),
        "accumulate_quota": engine.accumulate_quota,
        "stale_shifts_low": low,
        "stale_shifts_high": high,
        "hold": 0,
    }


def index_range(cluster: Cluster, engine: TestbedEngine, topology: Topology) -> IndexRange:
    """Return a cluster's indices, with the settings that the queue of ``engine`` has for its updates."""
    mode, limit, h = engine.mode_of(cluster), engine.reward_of(cluster), cluster.h
    if mode.sums:
        below = len(topology.members_below(engine.name, cluster))
        if below and topology.top(cluster) != engine.name:
            h = below if mode is Mode.ISWITCH else min(below, h)
    settings = IndexSettings(
        mode=mode,
        halted=cluster.halted,
        threshold=h if mode.sums else 1,
        reward_enable=0 if limit is None else 1,
        reward_threshold=0 if limit is None else float_bits(limit + 0.0),  # no -0.0
        stale_enable=int(cluster.staleness_bound is not None),
        stale_bound=cluster.staleness_bound or 0,
    )
    return IndexRange(cluster.first, cluster.last, settings)


def flood_group() -> int:
    """Return the multicast group of every front port, whose number is above those of the clusters' groups."""
    return limits.CLUSTERS + 1


def _assign_worker(
    address: IPv4Address, cluster: Cluster, number: int, worker_id: int, port: int
) -> TableEntry:
    params = {
        "cluster": cluster.number,
        "worker": worker_id,
        "index": cluster.first,
        "segments": cluster.segments,
        "member": number % MEMBER_NUMBERS,
        "epoch": cluster.epoch,
        "port": port,
    }
    return TableEntry(WORKERS, {"worker_addr": int(address)}, ASSIGN, params)


def _between_engines(cluster: Cluster, engine: str, topology: Topology) -> Iterator[TableEntry]:
    """Yield VNP4₁'s entries for frames that come down from the parent, and for sums of rounds from below."""
    own = topology.address_as_member(engine, cluster)
    if own is not None:
        yield _assign_worker(own, cluster, 0, 0, _NOWHERE)
    if topology.testbed.mode_of(cluster).sums:
        for below in topology.branches(engine, cluster):
            yield _assign_worker(below.ip, cluster, below.number, 0, below.port)


def _reaching_together(
    cluster: Cluster, engine: str, topology: Topology
) -> Iterator[TableEntry | MulticastGroup]:
    """Yield VNP4₂'s entries that reach all members of a cluster at once and pass on the sum of a round."""
    copies = [Replica(each.port, each.replica) for each in topology.members_at(engine, cluster)]
    if not copies:
        return
    yield MulticastGroup(cluster.group, copies)
    group = {"group": cluster.group}
    key = {"cluster": cluster.number}
    yield TableEntry(CLUSTER_MULTICAST, key, "multicast", group)
    if not topology.testbed.mode_of(cluster).sums:
        return
    address, own = topology.testbed.root.address, topology.address_as_member(engine, cluster)
    if topology.top(cluster) == engine or address is None or own is None:
        yield TableEntry(RESULTS, key, "broadcast", group)
    else:
        params = {"mac": mac_bits(default_mac(address)), "dst_addr": int(address), "src_addr": int(own)}
        yield TableEntry(RESULTS, key, "to_parent", params)


def _deliver_copy(member: Member) -> TableEntry:
    """Return the entry that addresses a member's copy to it."""
    params = {"mac": mac_bits(member.mac), "addr": int(member.ip), "port": member.udp_port}
    return TableEntry(MEMBERS, {"member": member.replica}, "deliver", params)


def _identify_sources(topology: Topology, engine: str) -> Iterator[TableEntry]:
    testbed, up = topology.testbed, topology.up.get(engine)
    places = [(each, topology.port_towards(engine, each.port)) for each in testbed.parameter_servers]
    if testbed.engine_host is not None:
        places.append((testbed.engine_host, _NOWHERE if up is None else up.port))
    for host, port in places:
        destination = {"mac": mac_bits(host.mac), "udp_port": host.udp_port}
        server = {"server_addr": int(host.ip)}
        yield TableEntry(PARAMETER_SERVERS, server, "admit", {"port": port, **destination})
        yield TableEntry(WORKERS, {"worker_addr": int(host.ip)}, NOT_A_WORKER, {"port": port})
    for port in topology.ports_down(engine):
        yield TableEntry(LINKS, {"port": port}, "from_below")
    for reason in Refusal:
        yield TableEntry(REFUSALS, {"reason": reason}, "refuse")


def _forward_hosts(topology: Topology, engine: TestbedEngine) -> Iterator[TableEntry | MulticastGroup]:
    testbed = topology.testbed
    for host in (*testbed.parameter_servers, *testbed.hosts):
        yield from _route_host(host, engine.name, topology)
    address = testbed.root.address
    up = topology.up.get(engine.name)
    if address is not None and up is not None:
        yield from _route_address(address, default_mac(address), up.port)
    for route in testbed.routes:
        prefix = Lpm(int(route.prefix.network_address), route.prefix.prefixlen)
        port = {"port": topology.port_towards(engine.name, route.port)}
        yield TableEntry(FORWARDING, {"dst_addr": prefix}, "forward", port)
    yield TableEntry(BRIDGING, {"dst_mac": BROADCAST}, "flood", {"group": flood_group()})
    yield MulticastGroup(flood_group(), [Replica(port.number, 0) for port in topology.ports_of(engine)])


def _route_host(host: Host, engine: str, topology: Topology) -> Iterator[TableEntry]:
    return _route_address(host.ip, host.mac, topology.port_towards(engine, host.port))


def _route_address(address: IPv4Address, mac: str, port: int) -> Iterator[TableEntry]:
    yield TableEntry(FORWARDING, {"dst_addr": Lpm(int(address), 32)}, "forward", {"port": port})
    yield TableEntry(BRIDGING, {"dst_mac": mac_bits(mac)}, "forward", {"port": port})


def _desired_queue(engine: TestbedEngine, clusters: Iterable[Cluster], topology: Topology) -> QueueState:
    parts = (index_range(cluster, engine, topology) for cluster in clusters)
    return QueueState(queue_registers(engine), with_default(engine.indices, parts))
