"""Reads of table entries and of their direct counters and meters (P4Runtime §9.1.6, §9.1.7)."""

from collections.abc import Iterator
from typing import Any

from olafctl.p4runtime import wire
from olafctl.p4runtime.agent import answers
from olafctl.p4runtime.agent.entries import DefaultEntry, Entry, TableState
from olafctl.p4runtime.agent.forwarding import Forwarding
from olafctl.p4runtime.agent.refusal import invalid, not_found, unimplemented
from olafctl.p4runtime.agent.tables import address, table_state
from olafctl.p4runtime.dataplane import ActionCall
from olafctl.p4runtime.plain import EntryRequest, entry_request


def table_entries(forwarding: Forwarding, message: Any) -> Iterator[bytes]:
    """The entries that a TableEntry selects, with the direct resources that it asks for."""
    request = entry_request(message)
    if request.has_last_hit and request.table_id:
        _check_idle_timeout(forwarding, request)
    for state in _tables(forwarding, request):
        if request.is_default:
            yield answers.entity(_default(forwarding, state, request))
            continue
        for entry in _selected(state, request):
            encoded = answers.table_entry(forwarding.program, state.table, entry)
            if request.counter is not None and state.table.counter_id:
                plane = forwarding.plane
                data = plane.direct_counter(state.table.id, entry.key, entry.priority)
                encoded += answers.with_counter(data)
            if request.has_meter:
                encoded += answers.with_meter(entry.meter)
            if request.has_last_hit and state.table.idle_timeout:
                idle = forwarding.plane.idle_ns(state.table.id, entry.key, entry.priority)
                encoded += answers.with_last_hit(idle)
            yield answers.entity(encoded)


def direct_counters(forwarding: Forwarding, message: Any) -> Iterator[bytes]:
    """The direct counters of the entries that a DirectCounterEntry's table entry selects."""
    for state, holder, encoded in _direct(forwarding, message, "counter"):
        key = (holder.key, holder.priority) if isinstance(holder, Entry) else ((), 0)
        data = forwarding.plane.direct_counter(state.table.id, *key)
        yield wire.message(8, wire.message(1, encoded) + wire.message(2, answers.counter(data)))


def direct_meters(forwarding: Forwarding, message: Any) -> Iterator[bytes]:
    """The direct meters of the entries that a DirectMeterEntry's table entry selects."""
    if message.HasField("counter_data"):
        raise unimplemented("this device does not count packets by meter colour")
    for _, holder, encoded in _direct(forwarding, message, "meter"):
        config = wire.message(2, answers.meter(holder.meter)) if holder.meter else b""
        yield wire.message(6, wire.message(1, encoded) + config)


def _direct(
    forwarding: Forwarding, message: Any, what: str
) -> Iterator[tuple[TableState, Entry | DefaultEntry, bytes]]:
    """(table, entry, the key's TableEntry message)."""
    if not message.HasField("table_entry"):
        raise invalid("the table entry is missing")
    request = entry_request(message.table_entry)
    for state in _tables(forwarding, request):
        table = state.table
        if not (table.counter_id if what == "counter" else table.meter_id):
            if request.table_id:
                raise invalid(f"table {table.name} has no direct {what}")
            continue
        if request.is_default:
            address(state, request)
            yield state, state.default, wire.number(1, table.id) + wire.number(8, True)
            continue
        found = list(_selected(state, request))
        if request.match and not found:
            raise not_found(f"table {table.name} has no such entry")
        for entry in found:
            encoded = answers.entry_key(table, entry) + answers.priority(entry)
            yield state, entry, encoded


def _tables(forwarding: Forwarding, request: EntryRequest) -> list[TableState]:
    if request.table_id:
        return [table_state(forwarding, request.table_id)]
    if request.match or request.priority or request.action or request.metadata or request.controller_metadata:
        raise invalid("a read of all tables has no other filter")
    return list(forwarding.tables.values())


def _selected(state: TableState, request: EntryRequest) -> Iterator[Entry]:
    action_id = _wanted_action(state, request)
    if request.match:
        _, identity = state.keys.read(request.match)
        if request.priority or not state.table.has_priority:
            entry = state.entries.get((identity, request.priority))
            candidates = [entry] if entry else []
        else:
            candidates = [entry for (key, _), entry in state.entries.items() if key == identity]
    else:
        candidates = list(state.entries.values())
    for entry in candidates:
        if (
            (not request.priority or entry.priority == request.priority)
            and (not request.metadata or entry.metadata == request.metadata)
            and request.controller_metadata in (0, entry.controller_metadata)
            and (not action_id or _calls(entry, action_id))
        ):
            yield entry


def _wanted_action(state: TableState, request: EntryRequest) -> int:
    """The action id that entries are filtered by; 0 for all."""
    if request.action is None:
        return 0
    if not isinstance(request.action, tuple):
        raise unimplemented("entries can be selected by action, not by member or group")
    action_id = request.action[0]
    if action_id and action_id not in state.table.actions:
        raise invalid(f"table {state.table.name} has no action {action_id:#x}")
    return action_id


def _calls(entry: Entry, action_id: int) -> bool:
    return isinstance(entry.action, ActionCall) and entry.action.action_id == action_id


def _default(forwarding: Forwarding, state: TableState, request: EntryRequest) -> bytes:
    key, priority = address(state, request)
    encoded = answers.default_entry(forwarding.program, state.table, state.default)
    if request.counter is not None and state.table.counter_id:
        data = forwarding.plane.direct_counter(state.table.id, key, priority)
        encoded += answers.with_counter(data)
    if request.has_meter:
        encoded += answers.with_meter(state.default.meter)
    return encoded


def _check_idle_timeout(forwarding: Forwarding, request: EntryRequest) -> None:
    table = table_state(forwarding, request.table_id).table
    if not table.idle_timeout:
        raise invalid(f"table {table.name} has no idle timeout")
