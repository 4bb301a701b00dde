"""Desired state: what a testbed asks of the tables, the groups and the queue's registers."""

from collections.abc import Iterable, Iterator

from olafctl.control.pipeline import (
    BRIDGING,
    CLUSTER_MULTICAST,
    FORWARDING,
    MEMBERS,
    PARAMETER_SERVERS,
    VNP4_1,
    VNP4_2,
    WORKERS,
)
from olafctl.control.state import Call, DeviceState, EntryId, Group, State
from olafctl.p4runtime.dataplane import Exact, Lpm, Replica
from olafctl.queue.registers import CLOCK_HZ, MODE_FIFO, MODE_OLAF, rate_word
from olafctl.testbed.model import Engine, Host, Mode, Testbed
from olafctl.wire.frames import float_bits, mac_bits

BROADCAST = (1 << 48) - 1

_Entries = Iterator[tuple[EntryId, Call]]


def desired(testbed: Testbed) -> State:
    """The state that makes a pipeline serve ``testbed``; a pure function of it."""
    return State(
        devices={
            VNP4_1: DeviceState(entries=dict(_identify(testbed))),
            VNP4_2: DeviceState(entries=dict(_forward(testbed)), groups=dict(_groups(testbed))),
        },
        registers=registers(testbed.engine),
    )


def registers(engine: Engine) -> dict[str, int]:
    """The queue's settings by register name."""
    threshold = engine.reward_threshold
    return {
        "mode": MODE_FIFO if engine.mode is Mode.FIFO else MODE_OLAF,
        "reward_enable": 0 if threshold is None else 1,
        "reward_threshold": 0 if threshold is None else float_bits(threshold),
        "rate": rate_word(engine.output_rate),
        "active_window": max(engine.active_window * CLOCK_HZ // 10**9, 1),
        "hold": 0,
    }


def flood_group(testbed: Testbed) -> int:
    """The multicast group of every front port; cluster groups are 1 … engine.clusters."""
    return testbed.engine.clusters + 1


def _identify(testbed: Testbed) -> _Entries:
    for worker in testbed.workers:
        key = (WORKERS.name, (Exact(int(worker.ip)),))
        yield key, Call("assign", (worker.cluster, worker.worker_id))
    for server in testbed.parameter_servers:
        yield (PARAMETER_SERVERS.name, (Exact(int(server.ip)),)), Call("admit", ())


def _forward(testbed: Testbed) -> _Entries:
    for cluster in testbed.clusters:
        if cluster.workers:
            yield (CLUSTER_MULTICAST.name, (Exact(cluster.index),)), Call("multicast", (cluster.group,))
    for worker in testbed.workers:
        copy = (mac_bits(worker.mac), int(worker.ip), worker.udp_port)
        yield (MEMBERS.name, (Exact(worker.member),)), Call("deliver", copy)
    for host in _everyone(testbed):
        yield (FORWARDING.name, (Lpm(int(host.ip), 32),)), Call("forward", (host.port,))
        yield (BRIDGING.name, (Exact(mac_bits(host.mac)),)), Call("forward", (host.port,))
    for route in testbed.routes:
        key = (FORWARDING.name, (Lpm(int(route.prefix.network_address), route.prefix.prefixlen),))
        yield key, Call("forward", (route.port,))
    yield (BRIDGING.name, (Exact(BROADCAST),)), Call("flood", (flood_group(testbed),))


def _groups(testbed: Testbed) -> Iterator[tuple[int, Group]]:
    for cluster in testbed.clusters:
        if cluster.workers:
            yield cluster.group, frozenset(Replica(worker.port, worker.member) for worker in cluster.workers)
    yield flood_group(testbed), frozenset(Replica(port.number, 0) for port in testbed.ports)


def _everyone(testbed: Testbed) -> Iterable[Host]:
    return (*testbed.parameter_servers, *testbed.workers, *testbed.hosts)
