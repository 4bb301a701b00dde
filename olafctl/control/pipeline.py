"""The tables that the control plane programs, by the names they have in ``p4src/`` (DESIGN §5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Address, IPv4Network

from olafctl.p4runtime.dataplane import Exact, Key, Lpm

VNP4_1 = "vnp4_1"
VNP4_2 = "vnp4_2"
DEVICES = (VNP4_1, VNP4_2)


class Unit(Enum):
    """How people write a value."""

    NUMBER = "number"
    IPV4 = "ipv4"
    MAC = "mac"


@dataclass(frozen=True)
class Value:
    """A key field or an action's parameter."""

    name: str
    unit: Unit = Unit.NUMBER


@dataclass(frozen=True)
class Table:
    """A table: its device, its one key field, and its actions with their parameters."""

    name: str
    device: str
    key: Value
    actions: Mapping[str, tuple[Value, ...]]


_FORWARD: dict[str, tuple[Value, ...]] = {"forward": (Value("port"),)}

WORKERS = Table(
    "workers", VNP4_1, Value("worker_addr", Unit.IPV4), {"assign": (Value("cluster"), Value("worker"))}
)
PARAMETER_SERVERS = Table("parameter_servers", VNP4_1, Value("server_addr", Unit.IPV4), {"admit": ()})
CLUSTER_MULTICAST = Table("cluster_multicast", VNP4_2, Value("cluster"), {"multicast": (Value("group"),)})
MEMBERS = Table(
    "members",
    VNP4_2,
    Value("member"),
    {"deliver": (Value("mac", Unit.MAC), Value("addr", Unit.IPV4), Value("port"))},
)
FORWARDING = Table("forwarding", VNP4_2, Value("dst_addr", Unit.IPV4), _FORWARD)
BRIDGING = Table("bridging", VNP4_2, Value("dst_mac", Unit.MAC), {**_FORWARD, "flood": (Value("group"),)})

TABLES = {
    table.name: table
    for table in (WORKERS, PARAMETER_SERVERS, CLUSTER_MULTICAST, MEMBERS, FORWARDING, BRIDGING)
}


def show_value(value: int, unit: Unit) -> str:
    """A value as people write it."""
    match unit:
        case Unit.IPV4:
            return str(IPv4Address(value))
        case Unit.MAC:
            return value.to_bytes(6, "big").hex(":")
        case Unit.NUMBER:
            return str(value)


def show_key(table: Table, key: Key) -> str:
    """An entry's key as people write it: ``worker_addr 10.0.1.1``."""
    match key:
        case (Exact(value),):
            shown = show_value(value, table.key.unit)
        case (Lpm(value, prefix_len),):
            shown = str(IPv4Network((value, prefix_len)))
        case _:
            shown = str(key)
    return f"{table.key.name} {shown}"


def show_action(table: Table, action: str, params: tuple[int, ...]) -> str:
    """An action call as people write it: ``assign(cluster 0, worker 7)``."""
    fields = table.actions.get(action, tuple(Value(f"parameter {n}") for n in range(len(params))))
    shown = (
        f"{field.name} {show_value(value, field.unit)}" for field, value in zip(fields, params, strict=True)
    )
    return f"{action}({', '.join(shown)})"
