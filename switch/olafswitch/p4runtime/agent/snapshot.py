"""The state of a pipeline while it is saved, and a device's state as updates that restore it."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from olafswitch.p4runtime import dataplane as dp
from olafswitch.p4runtime.agent import encode
from olafswitch.p4runtime.agent.read import select_entities
from olafswitch.p4runtime.agent.state import Forwarding, TableState
from olafswitch.p4runtime.agent.write_objects import DELETE, INSERT, MODIFY
from olafswitch.p4runtime.agent.write_tables import apply_update, plain_update
from olafswitch.p4runtime.dataplane import CounterData, Unsupported
from olafswitch.p4runtime.limits import Budget
from olafswitch.p4runtime.program import ProgramInfo
from olafswitch.p4runtime.protocol import p4runtime_pb2

# The state of a pipeline that is saved and not committed: it only counts what tables can hold.


def _ignore_write(*_: Any, **__: Any) -> None:
    """Accept a write that the agent's own state remembers, and that takes no room."""


class SavedPlane:
    """A plane that takes every write that a device with the same table sizes would; it stores counters."""

    def __init__(self, program: ProgramInfo, replication: dp.ReplicationLimits) -> None:
        self.replication = replication
        self._sizes = {id: table.size for id, table in program.tables.items()}
        self._held: Counter[int] = Counter()
        self.counters: dict[tuple[int, int], dp.CounterData] = {}
        self.direct_counters: dict[tuple[int, dp.Key, int], dp.CounterData] = {}
        self.registers: dict[tuple[int, int], int] = {}

    def insert(self, table_id: int, key: dp.Key, priority: int, action: dp.ActionSpec) -> None:
        if self._sizes[table_id] and self._held[table_id] >= self._sizes[table_id]:
            raise dp.TableFull
        self._held[table_id] += 1

    def delete(self, table_id: int, key: dp.Key, priority: int) -> None:
        self._held[table_id] -= 1
        self.direct_counters.pop((table_id, key, priority), None)

    def idle_ns(self, table_id: int, key: dp.Key, priority: int) -> int:
        return 0

    def direct_counter(self, table_id: int, key: dp.Key, priority: int) -> dp.CounterData:
        return self.direct_counters.get((table_id, key, priority), dp.CounterData(0, 0))

    def set_direct_counter(self, table_id: int, key: dp.Key, priority: int, data: dp.CounterData) -> None:
        self.direct_counters[table_id, key, priority] = data

    def counter(self, counter_id: int, index: int) -> dp.CounterData:
        return self.counters.get((counter_id, index), dp.CounterData(0, 0))

    def set_counter(self, counter_id: int, index: int, data: dp.CounterData) -> None:
        self.counters[counter_id, index] = data

    def register(self, register_id: int, index: int) -> int:
        return self.registers.get((register_id, index), 0)

    def set_register(self, register_id: int, index: int, value: int) -> None:
        self.registers[register_id, index] = value

    modify = set_default = set_direct_meter = set_meter = staticmethod(_ignore_write)
    set_member = set_group = set_value_set = staticmethod(_ignore_write)
    set_multicast_group = set_clone_session = quiesce = staticmethod(_ignore_write)


# A device's forwarding state as updates that make it again: for a commit of saved state, and to keep

_BEFORE_TABLES = (
    ("action_profile_member", INSERT),
    ("action_profile_group", INSERT),
    ("value_set_entry", MODIFY),
    ("digest_entry", INSERT),
)


def take_snapshot(forwarding: Forwarding) -> list[Any]:
    """Return updates for :func:`apply_update`, in an order in which each finds the objects it refers to.

    Counters and registers that the device cannot read are not among them.
    """
    updates = []
    for kind, change in _BEFORE_TABLES:
        updates += _select_updates(forwarding, change, p4runtime_pb2.Entity(**{kind: {}}))
    updates += _make_updates(MODIFY, _changed_elements(forwarding))
    for kind in ("multicast_group_entry", "clone_session_entry"):
        query = p4runtime_pb2.Entity(packet_replication_engine_entry={kind: {}})
        updates += _select_updates(forwarding, INSERT, query)
    for state in forwarding.tables.values():
        updates += _table_updates(forwarding, state)
    return updates


def _select_updates(forwarding: Forwarding, change: int, query: Any) -> list[Any]:
    return _make_updates(change, select_entities(forwarding, query, Budget()).encode_entities())


def _make_updates(change: int, encoded: Iterable[bytes]) -> list[Any]:
    return [_make_update(change, entity) for entity in encode.decode_entities(encoded)]


def _make_update(change: int, entity: Any) -> Any:
    return plain_update(p4runtime_pb2.Update(type=change, entity=entity))


def _changed_elements(forwarding: Forwarding) -> Iterator[bytes]:
    """Yield the counters, meters and registers that differ from their state after a commit."""
    program, plane = forwarding.program, forwarding.plane
    for counter in program.counters.values():
        with suppress(Unsupported):
            for index in range(counter.size):
                data = plane.counter(counter.id, index)
                if data != CounterData(0, 0):
                    yield encode.counter_entry(counter.id, index, data)
    for (meter_id, index), config in forwarding.meters.items():
        yield encode.meter_entry(meter_id, index, config)
    for register in program.registers.values():
        with suppress(Unsupported):
            for index in range(register.size):
                value = plane.register(register.id, index)
                if value:
                    yield encode.register_entry(program.p4info.type_info, register, index, value)


def restore_snapshot(forwarding: Forwarding, updates: list[Any]) -> None:
    """Bring a fresh forwarding state, with the program's own entries, to a snapshot. Raises Refusal."""
    wanted = {id: set[Any]() for id in forwarding.tables}
    for update in updates:
        if isinstance(update, tuple) and not update[1].is_default:
            kind, request = update
            state = forwarding.tables.get(request.table_id)
            if state is not None:
                identity = state.keys.read_key(request.match)[1], request.priority
                wanted[request.table_id].add(identity)
                if kind == INSERT and identity in state.entries:
                    update = (MODIFY, request)
        apply_update(forwarding, update)
    for state in forwarding.tables.values():
        _remove_unwanted(forwarding, state, wanted[state.table.id])


def _remove_unwanted(forwarding: Forwarding, state: TableState, wanted: set[Any]) -> None:
    for identity, entry in list(state.entries.items()):
        if identity not in wanted and not (entry.is_const or state.table.is_const):
            gone = p4runtime_pb2.Entity()
            encode.put_key(gone.table_entry, state.table, entry)
            apply_update(forwarding, _make_update(DELETE, gone))


def _table_updates(forwarding: Forwarding, state: TableState) -> list[Any]:
    """Return the table's entries and default; constant entries come with the program."""
    table, program = state.table, forwarding.program
    entries = [
        encode.table_entry(program, table, entry, forwarding.count_of_entry(state, entry), entry.meter)
        for entry in state.entries.values()
        if not entry.is_const and not table.is_const
    ]
    updates = _make_updates(INSERT, entries)
    if state.default.action is not None:
        default = encode.default_entry(program, table, state.default, meter=state.default.meter)
        updates += _make_updates(MODIFY, [default])
    return updates
