"""Reads of table entries and of their direct counters and meters (P4Runtime §9.1.6, §9.1.7)."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from olafswitch.p4runtime.agent.read import encode
from olafswitch.p4runtime.agent.read.encode import Encode
from olafswitch.p4runtime.agent.state.forwarding import Forwarding
from olafswitch.p4runtime.agent.state.refusal import invalid, not_found, unimplemented
from olafswitch.p4runtime.agent.state.tables import DefaultEntry, Entry, TableState
from olafswitch.p4runtime.dataplane import DEFAULT_ENTRY, ActionCall
from olafswitch.p4runtime.limits import Budget
from olafswitch.p4runtime.plain import EntryRequest, entry_request


def table_entries(forwarding: Forwarding, message: Any, budget: Budget) -> Iterator[Encode]:
    """The entries that a TableEntry selects, with the direct resources that it asks for."""
    request = entry_request(message)
    if request.has_last_hit and request.table_id:
        _check_idle_timeout(forwarding, request)
    program, plane = forwarding.program, forwarding.plane
    for state in _tables(forwarding, request):
        table = state.table
        if request.is_default:
            yield _default(forwarding, state, request)
            continue
        counted = request.counter is not None and table.counter_id
        timed = request.has_last_hit and table.idle_timeout
        for entry in _selected(state, request, budget):
            count = plane.direct_counter(table.id, entry.key, entry.priority) if counted else None
            idle_ns = plane.idle_ns(table.id, entry.key, entry.priority) if timed else None
            meter = entry.meter if request.has_meter else None
            yield partial(encode.table_entry, program, table, entry, count, meter, idle_ns)


def direct_counters(forwarding: Forwarding, message: Any, budget: Budget) -> Iterator[Encode]:
    """The direct counters of the entries that a DirectCounterEntry's table entry selects."""
    for state, holder in _direct(forwarding, message, "counter", budget):
        key = (holder.key, holder.priority) if isinstance(holder, Entry) else (DEFAULT_ENTRY, 0)
        data = forwarding.plane.direct_counter(state.table.id, *key)
        yield partial(encode.direct_counter, state.table, holder, data)


def direct_meters(forwarding: Forwarding, message: Any, budget: Budget) -> Iterator[Encode]:
    """The direct meters of the entries that a DirectMeterEntry's table entry selects."""
    if message.HasField("counter_data"):
        raise unimplemented("this device does not count packets by meter colour")
    for state, holder in _direct(forwarding, message, "meter", budget):
        yield partial(encode.direct_meter, state.table, holder, holder.meter)


def _direct(
    forwarding: Forwarding, message: Any, what: str, budget: Budget
) -> Iterator[tuple[TableState, Entry | DefaultEntry]]:
    """The entries whose direct counter or meter is selected."""
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
            state.check_default(request)
            yield state, state.default
            continue
        found = list(_selected(state, request, budget))
        if request.match and not found:
            raise not_found(f"table {table.name} has no such entry")
        for entry in found:
            yield state, entry


def _tables(forwarding: Forwarding, request: EntryRequest) -> list[TableState]:
    if request.table_id:
        return [forwarding.table(request.table_id)]
    if request.match or request.priority or request.action or request.metadata or request.controller_metadata:
        raise invalid("a read of all tables has no other filter")
    return list(forwarding.tables.values())


def _selected(state: TableState, request: EntryRequest, budget: Budget) -> Iterator[Entry]:
    action_id = _wanted_action(state, request)
    if request.match:
        _, identity = state.keys.read(request.match)
        if request.priority or not state.table.has_priority:
            entry = state.entries.get((identity, request.priority))
            candidates = [entry] if entry else []
        else:
            budget.spend(len(state.entries))
            candidates = [entry for (key, _), entry in state.entries.items() if key == identity]
    else:
        budget.spend(len(state.entries))
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


def _default(forwarding: Forwarding, state: TableState, request: EntryRequest) -> Encode:
    key, priority = state.address(request)
    default = state.default
    count = None
    if request.counter is not None and state.table.counter_id:
        count = forwarding.plane.direct_counter(state.table.id, key, priority)
    meter = default.meter if request.has_meter else None
    return partial(encode.default_entry, forwarding.program, state.table, default, count, meter)


def _check_idle_timeout(forwarding: Forwarding, request: EntryRequest) -> None:
    table = forwarding.table(request.table_id).table
    if not table.idle_timeout:
        raise invalid(f"table {table.name} has no idle timeout")
