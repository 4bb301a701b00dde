"""Desired state: what a testbed asks of the tables, the groups and the queue's registers."""

from collections.abc import Container, Iterable, Iterator

from olafctl.control.pipeline import (
    BRIDGING,
    CLUSTER_MULTICAST,
    FORWARDING,
    MEMBERS,
    PARAMETER_SERVERS,
    REFUSALS,
    RESULTS,
    VNP4_1,
    VNP4_2,
    WORKERS,
)
from olafctl.control.state import State, device_state, merged
from olafctl.p4runtime.entities import Lpm, MulticastGroup, Replica, TableEntry
from olafctl.queue import internals
from olafctl.queue.registers import CLOCK_HZ, IndexSettings, rate_word
from olafctl.queue.settings import IndexRange, with_default
from olafctl.testbed import limits
from olafctl.testbed.model import Cluster, Engine, Host, Mode, Testbed, Worker
from olafctl.wire.frames import float_bits, mac_bits
from olafctl.wire.layouts import TUSER, Refusal

BROADCAST = (1 << 48) - 1
MEMBER_NUMBERS = 1 << TUSER.field("member").bits
"""Only rounds tell members apart, and their clusters are smaller; others may have more members."""

_MODES = {
    Mode.OLAF: internals.Mode.OLAF,
    Mode.FIFO: internals.Mode.FIFO,
    Mode.ISWITCH: internals.Mode.ISWITCH,
}


def desired(testbed: Testbed) -> State:
    """The state that makes a pipeline serve ``testbed``; a pure function of it."""
    members = of_clusters(testbed.clusters).devices
    return State(
        devices={
            VNP4_1: merged(members[VNP4_1], device_state(_identify(testbed))),
            VNP4_2: merged(members[VNP4_2], device_state(_forward(testbed))),
        },
        registers=registers(testbed.engine),
        settings=with_default(testbed.engine.indices, map(index_range, testbed.clusters)),
    )


def of_clusters(clusters: Iterable[Cluster], without: Container[int] = ()) -> State:
    """The part of the devices' desired state that these clusters and their workers ask for. No two clusters
    share an entry or a group.

    The entries of workers whose replica ids are in ``without`` are left out; their groups are whole.
    """
    known: list[TableEntry] = []
    reached: list[TableEntry | MulticastGroup] = []
    for cluster in clusters:
        chosen = [worker for worker in cluster.workers if worker.member not in without]
        known += (_assignment(worker, cluster) for worker in chosen)
        reached += _reaching_together(cluster)
        for worker in chosen:
            reached += _reaching(worker)
    return State({VNP4_1: device_state(known), VNP4_2: device_state(reached)}, {})


def registers(engine: Engine) -> dict[str, int]:
    """The queue's global settings by register name."""
    return {
        "rate": rate_word(engine.output_rate),
        "active_window": max(engine.active_window * CLOCK_HZ // 10**9, 1),
        "accumulate_quota": engine.accumulate_quota,
        "hold": 0,
    }


def index_range(cluster: Cluster) -> IndexRange:
    """A cluster's indices, and what it asks of them."""
    return IndexRange(cluster.first, cluster.first + cluster.segments - 1, settings(cluster))


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


def _assignment(worker: Worker, cluster: Cluster) -> TableEntry:
    params = {
        "cluster": cluster.index,
        "worker": worker.worker_id,
        "index": cluster.first,
        "segments": cluster.segments,
        "member": worker.number % MEMBER_NUMBERS,
        "epoch": cluster.epoch,
    }
    return TableEntry(WORKERS, {"worker_addr": int(worker.ip)}, "assign", params)


def _reaching_together(cluster: Cluster) -> Iterator[TableEntry | MulticastGroup]:
    """What VNP4₂ needs to reach all members of a cluster at once."""
    if cluster.workers:
        yield MulticastGroup(
            cluster.group, [Replica(worker.port, worker.member) for worker in cluster.workers]
        )
        group = {"group": cluster.group}
        yield TableEntry(CLUSTER_MULTICAST, {"cluster": cluster.index}, "multicast", group)
        if cluster.mode is Mode.ISWITCH:
            yield TableEntry(RESULTS, {"cluster": cluster.index}, "broadcast", group)


def _reaching(worker: Worker) -> Iterator[TableEntry]:
    """What VNP4₂ needs to reach one worker."""
    copy = {"mac": mac_bits(worker.mac), "addr": int(worker.ip), "port": worker.udp_port}
    yield TableEntry(MEMBERS, {"member": worker.member}, "deliver", copy)
    yield from _route(worker)


def _identify(testbed: Testbed) -> Iterator[TableEntry]:
    addresses = [server.ip for server in testbed.parameter_servers]
    for address in (*addresses, *filter(None, [testbed.engine.address])):
        yield TableEntry(PARAMETER_SERVERS, {"server_addr": int(address)}, "admit")
    for reason in Refusal:
        yield TableEntry(REFUSALS, {"reason": reason}, "refuse")


def _forward(testbed: Testbed) -> Iterator[TableEntry | MulticastGroup]:
    for host in (*testbed.parameter_servers, *testbed.hosts):
        yield from _route(host)
    for route in testbed.routes:
        prefix = Lpm(int(route.prefix.network_address), route.prefix.prefixlen)
        yield TableEntry(FORWARDING, {"dst_addr": prefix}, "forward", {"port": route.port})
    yield TableEntry(BRIDGING, {"dst_mac": BROADCAST}, "flood", {"group": flood_group()})
    yield MulticastGroup(flood_group(), [Replica(port.number, 0) for port in testbed.ports])


def _route(host: Host) -> Iterator[TableEntry]:
    port = {"port": host.port}
    yield TableEntry(FORWARDING, {"dst_addr": Lpm(int(host.ip), 32)}, "forward", port)
    yield TableEntry(BRIDGING, {"dst_mac": mac_bits(host.mac)}, "forward", port)
