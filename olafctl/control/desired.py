"""Desired state: what a testbed asks of the tables, the groups and the queue's registers."""

from collections.abc import Iterable, Iterator

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
from olafctl.control.state import State, device_state
from olafctl.p4runtime.entities import Lpm, MulticastGroup, Replica, TableEntry
from olafctl.queue import internals
from olafctl.queue.registers import CLOCK_HZ, IndexSettings, rate_word
from olafctl.queue.settings import IndexRange, with_default
from olafctl.testbed import limits
from olafctl.testbed.model import Cluster, Engine, Host, Mode, Testbed
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
    return State(
        devices={
            VNP4_1: device_state(_identify(testbed)),
            VNP4_2: device_state([*_groups(testbed), *_forward(testbed)]),
        },
        registers=registers(testbed.engine),
        settings=with_default(
            testbed.engine.indices,
            (
                IndexRange(cluster.first, cluster.first + cluster.segments - 1, settings(cluster))
                for cluster in testbed.clusters
            ),
        ),
    )


def registers(engine: Engine) -> dict[str, int]:
    """The queue's global settings by register name."""
    return {
        "rate": rate_word(engine.output_rate),
        "active_window": max(engine.active_window * CLOCK_HZ // 10**9, 1),
        "accumulate_quota": engine.accumulate_quota,
        "hold": 0,
    }


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


def _identify(testbed: Testbed) -> Iterator[TableEntry]:
    for cluster in testbed.clusters:
        for worker in cluster.workers:
            params = {
                "cluster": cluster.index,
                "worker": worker.worker_id,
                "index": cluster.first,
                "segments": cluster.segments,
                "member": worker.number % MEMBER_NUMBERS,
                "epoch": cluster.epoch,
            }
            yield TableEntry(WORKERS, {"worker_addr": int(worker.ip)}, "assign", params)
    addresses = [server.ip for server in testbed.parameter_servers]
    for address in (*addresses, *filter(None, [testbed.engine.address])):
        yield TableEntry(PARAMETER_SERVERS, {"server_addr": int(address)}, "admit")
    for reason in Refusal:
        yield TableEntry(REFUSALS, {"reason": reason}, "refuse")


def _forward(testbed: Testbed) -> Iterator[TableEntry]:
    for cluster in testbed.clusters:
        if cluster.workers:
            group = {"group": cluster.group}
            yield TableEntry(CLUSTER_MULTICAST, {"cluster": cluster.index}, "multicast", group)
            if cluster.mode is Mode.ISWITCH:
                yield TableEntry(RESULTS, {"cluster": cluster.index}, "broadcast", group)
    for worker in testbed.workers:
        copy = {"mac": mac_bits(worker.mac), "addr": int(worker.ip), "port": worker.udp_port}
        yield TableEntry(MEMBERS, {"member": worker.member}, "deliver", copy)
    for host in _everyone(testbed):
        port = {"port": host.port}
        yield TableEntry(FORWARDING, {"dst_addr": Lpm(int(host.ip), 32)}, "forward", port)
        yield TableEntry(BRIDGING, {"dst_mac": mac_bits(host.mac)}, "forward", port)
    for route in testbed.routes:
        prefix = Lpm(int(route.prefix.network_address), route.prefix.prefixlen)
        yield TableEntry(FORWARDING, {"dst_addr": prefix}, "forward", {"port": route.port})
    yield TableEntry(BRIDGING, {"dst_mac": BROADCAST}, "flood", {"group": flood_group()})


def _groups(testbed: Testbed) -> Iterator[MulticastGroup]:
    for cluster in testbed.clusters:
        if cluster.workers:
            yield MulticastGroup(
                cluster.group, [Replica(worker.port, worker.member) for worker in cluster.workers]
            )
    yield MulticastGroup(flood_group(), [Replica(port.number, 0) for port in testbed.ports])


def _everyone(testbed: Testbed) -> Iterable[Host]:
    return (*testbed.parameter_servers, *testbed.workers, *testbed.hosts)
