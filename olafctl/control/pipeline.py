"""The tables that the control plane programs, by their names in ``p4src/``."""

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network

from olafctl.wire.layouts import Refusal
from olafswitch.p4runtime.entities import Exact, Lpm, Match, MulticastGroup, TableEntry

VNP4_1 = "vnp4_1"
VNP4_2 = "vnp4_2"
DEVICES = (VNP4_1, VNP4_2)

WORKERS = "workers"
ASSIGN = "assign"
"""The action of a worker's entry where its updates pass."""
ELSEWHERE = "elsewhere"
"""The action of a worker's entry at other engines."""
NOT_A_WORKER = "not_a_worker"
"""The action of the entry that holds updates in a server's or an engine's name to its port."""
PARAMETER_SERVERS = "parameter_servers"
REFUSALS = "refusals"
LINKS = "links"
CLUSTER_MULTICAST = "cluster_multicast"
RESULTS = "results"
MEMBERS = "members"
FORWARDING = "forwarding"
BRIDGING = "bridging"

TABLES: Mapping[str, tuple[str, ...]] = {
    VNP4_1: (WORKERS, PARAMETER_SERVERS, LINKS, REFUSALS),
    VNP4_2: (CLUSTER_MULTICAST, RESULTS, MEMBERS, FORWARDING, BRIDGING),
}


def block_of(device: str) -> str:
    """Return the block that a device runs: its name is the block's, or ``ENGINE/`` and the block's."""
    return device.rpartition("/")[2]


_ADDRESSES = {"worker_addr", "server_addr", "dst_addr", "addr"}
_MACS = {"dst_mac", "mac"}


def show_value(field: str, value: int) -> str:
    """Return a field's or parameter's value as people write it."""
    if field in _ADDRESSES:
        return str(IPv4Address(value))
    if field in _MACS:
        return value.to_bytes(6, "big").hex(":")
    if field == "reason" and value in set(Refusal):
        return Refusal(value).name.lower()
    return str(value)


def show_key(entry: TableEntry) -> str:
    """Return an entry's key as people write it: ``worker_addr 10.0.1.1``; an entry for all is ``any``."""
    return " ".join(f"{field} {_show_match(field, match)}" for field, match in entry.match.items()) or "any"


def show_action(entry: TableEntry) -> str:
    """Return an entry's action as people write it: ``assign(cluster 0, worker 7)``."""
    params = (f"{name} {show_value(name, value)}" for name, value in entry.params.items())
    return f"{entry.action}({', '.join(params)})"


def show_replicas(group: MulticastGroup) -> str:
    """Return a group's replicas as people write them: ``port 2 member 1, port 3 member 2``."""
    return ", ".join(
        f"port {replica.egress_port} member {replica.instance}"
        if replica.instance
        else f"port {replica.egress_port}"
        for replica in group.replicas
    )


def _show_match(field: str, match: Match | int) -> str:
    match match:
        case Lpm(value, prefix_len):
            return str(IPv4Network((value, prefix_len)))
        case Exact(value) | int(value):
            return show_value(field, value)
        case _:
            return str(match)
