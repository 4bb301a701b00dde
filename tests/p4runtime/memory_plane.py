"""A data plane that only remembers: the far side of the interface in an agent's tests."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from olafswitch.p4runtime.dataplane import (
    ActionCall,
    ActionSpec,
    CounterData,
    InitialEntry,
    Key,
    MeterConfig,
    P4Info,
    PipelineRefused,
    Replica,
    ReplicationLimits,
    TableFull,
    Unsupported,
)

Address = tuple[int, Key, int]


class MemoryPlane:
    """A plane with tables of the P4Info's sizes, counters, registers and replication; packets go to the test.

    ``declared`` are the entries that the program itself declares. A device config that starts with ``bad`` is
    refused. ``idle`` holds the ns for which entries were not hit, 0 for missing ones; None is a device that
    does not know.
    """

    replication = ReplicationLimits(
        port=0xFFFF, instance=0xFFFF, multicast_group=0xFFFF, clone_session=0xFFFF
    )

    def __init__(self, declared: Sequence[InitialEntry] = ()) -> None:
        self.declared = declared
        self.commits = 0
        self.sent: list[bytes] = []
        self.packet_in: Callable[[bytes], None] = lambda frame: None
        self.digest: Callable[[int, Sequence[bytes]], None] = lambda id, fields: None
        self.idle: dict[Address, int] | None = {}
        self.building = threading.Event()
        self.may_build = threading.Event()
        self.may_build.set()
        self._clear_state(None)

    def _clear_state(self, p4info: P4Info | None) -> None:
        tables = p4info.tables if p4info else ()
        self.sizes = {table.preamble.id: table.size for table in tables}
        self.entries: dict[Address, ActionSpec] = {
            (each.table_id, each.key, each.priority): each.action for each in self.declared if p4info
        }
        self.held = Counter(table_id for table_id, _, _ in self.entries)
        self.defaults: dict[int, ActionCall] = {}
        self.direct_counters: dict[Address, CounterData] = {}
        self.direct_meters: dict[Address, MeterConfig] = {}
        self.counters: dict[tuple[int, int], CounterData] = {}
        self.meters: dict[tuple[int, int], MeterConfig] = {}
        self.registers: dict[tuple[int, int], int] = {}
        self.members: dict[tuple[int, int], ActionCall] = {}
        self.groups: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}
        self.value_sets: dict[int, tuple[Key, ...]] = {}
        self.multicast: dict[int, tuple[Replica, ...]] = {}
        self.clones: dict[int, tuple[tuple[Replica, ...], int]] = {}

    def copy_state(self) -> dict[str, Any]:
        """Return everything that a write can change, to compare before and after."""
        names = "entries defaults direct_counters direct_meters counters meters registers members groups"
        names += " value_sets multicast clones"
        return {name: dict(getattr(self, name)) for name in names.split()}

    def prepare(self, p4info: P4Info, device_config: bytes) -> Any:
        self.building.set()
        self.may_build.wait(10)
        if device_config.startswith(b"bad"):
            raise PipelineRefused("program.p4:3:7: this device has no such extern")
        return p4info

    def initial_entries(self, pipeline: Any) -> Sequence[InitialEntry]:
        return self.declared

    def commit(self, pipeline: Any) -> None:
        self.commits += 1
        self._clear_state(pipeline)

    def insert(self, table_id: int, key: Key, priority: int, action: ActionSpec) -> None:
        assert (table_id, key, priority) not in self.entries
        if self.held[table_id] >= self.sizes[table_id]:
            raise TableFull
        self.held[table_id] += 1
        self.entries[table_id, key, priority] = action

    def modify(self, table_id: int, key: Key, priority: int, action: ActionSpec) -> None:
        assert (table_id, key, priority) in self.entries
        self.entries[table_id, key, priority] = action

    def delete(self, table_id: int, key: Key, priority: int) -> None:
        del self.entries[table_id, key, priority]
        self.held[table_id] -= 1
        self.direct_counters.pop((table_id, key, priority), None)
        self.direct_meters.pop((table_id, key, priority), None)

    def set_default(self, table_id: int, action: ActionCall | None) -> None:
        _put_or_remove(self.defaults, table_id, action)

    def idle_ns(self, table_id: int, key: Key, priority: int) -> int:
        if self.idle is None:
            raise Unsupported("idle entries are not known")
        assert (table_id, key, priority) in self.entries
        return self.idle.get((table_id, key, priority), 0)

    def direct_counter(self, table_id: int, key: Key, priority: int) -> CounterData:
        if key == ():
            raise Unsupported("misses are not counted")
        assert (table_id, key, priority) in self.entries
        return self.direct_counters.get((table_id, key, priority), CounterData(0, 0))

    def set_direct_counter(self, table_id: int, key: Key, priority: int, data: CounterData) -> None:
        if key == ():
            raise Unsupported("misses are not counted")
        self.direct_counters[table_id, key, priority] = data

    def set_direct_meter(self, table_id: int, key: Key, priority: int, config: MeterConfig | None) -> None:
        _put_or_remove(self.direct_meters, (table_id, key, priority), config)

    def counter(self, counter_id: int, index: int) -> CounterData:
        return self.counters.get((counter_id, index), CounterData(0, 0))

    def set_counter(self, counter_id: int, index: int, data: CounterData) -> None:
        self.counters[counter_id, index] = data

    def set_meter(self, meter_id: int, index: int, config: MeterConfig | None) -> None:
        _put_or_remove(self.meters, (meter_id, index), config)

    def register(self, register_id: int, index: int) -> int:
        return self.registers.get((register_id, index), 0)

    def set_register(self, register_id: int, index: int, value: int) -> None:
        self.registers[register_id, index] = value

    def set_member(self, profile_id: int, member_id: int, action: ActionCall | None) -> None:
        _put_or_remove(self.members, (profile_id, member_id), action)

    def set_group(self, profile_id: int, group_id: int, members: Sequence[tuple[int, int]] | None) -> None:
        _put_or_remove(self.groups, (profile_id, group_id), None if members is None else tuple(members))

    def set_value_set(self, value_set_id: int, members: Sequence[Key]) -> None:
        self.value_sets[value_set_id] = tuple(members)

    def set_multicast_group(self, group_id: int, replicas: Sequence[Replica] | None) -> None:
        _put_or_remove(self.multicast, group_id, None if replicas is None else tuple(replicas))

    def set_clone_session(
        self, session_id: int, replicas: Sequence[Replica] | None, packet_length: int = 0
    ) -> None:
        _put_or_remove(
            self.clones, session_id, None if replicas is None else (tuple(replicas), packet_length)
        )

    def quiesce(self) -> None:
        pass

    def packet_out(self, frame: bytes) -> None:
        self.sent.append(frame)

    def on_packet_in(self, receive: Callable[[bytes], None]) -> None:
        self.packet_in = receive

    def on_digest(self, receive: Callable[[int, Sequence[bytes]], None]) -> None:
        self.digest = receive


def _put_or_remove(where: dict[Any, Any], key: Any, value: Any) -> None:
    if value is None:
        where.pop(key, None)
    else:
        where[key] = value
