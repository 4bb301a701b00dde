"""Reads: each request of a batch selects entities, with wildcards at every level (P4Runtime §13).

A read happens in two steps. Selecting copies the state that is read and needs the device's lock, so that the
answer shows no write half done (P4Runtime, "Parallelism of Read and Write Requests"). Encoding takes much
longer and needs no lock: other calls are served meanwhile.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from olafswitch.p4runtime.agent import encode
from olafswitch.p4runtime.agent.encode import Encode
from olafswitch.p4runtime.agent.refusals import Code, Refusal, invalid_argument, not_found, not_implemented
from olafswitch.p4runtime.agent.state import (
    DefaultEntry,
    Forwarding,
    ProfileState,
    StoredEntry,
    TableState,
    find_indexed,
)
from olafswitch.p4runtime.dataplane import DEFAULT_ENTRY, ActionCall, DeviceRefused, Unsupported
from olafswitch.p4runtime.limits import Budget, TooMany
from olafswitch.p4runtime.plain import EntryRequest, entry_request
from olafswitch.p4runtime.program import Array


def table_entries(forwarding: Forwarding, message: Any, budget: Budget) -> Iterator[Encode]:
    """Yield the entries that a TableEntry selects, with the direct resources that it asks for."""
    request = entry_request(message)
    if request.has_last_hit and request.table_id:
        _check_idle_timeout(forwarding, request)
    program, plane = forwarding.program, forwarding.plane
    for state in _selected_tables(forwarding, request):
        table = state.table
        if request.is_default:
            yield _default_entry(forwarding, state, request)
            continue
        counted = request.counter is not None and table.counter_id
        timed = request.has_last_hit and table.idle_timeout
        for entry in _select_entries(state, request, budget):
            count = plane.direct_counter(table.id, entry.key, entry.priority) if counted else None
            idle_ns = plane.idle_ns(table.id, entry.key, entry.priority) if timed else None
            meter = entry.meter if request.has_meter else None
            yield partial(encode.table_entry, program, table, entry, count, meter, idle_ns)


def direct_counters(forwarding: Forwarding, message: Any, budget: Budget) -> Iterator[Encode]:
    """Yield the direct counters of the entries that a DirectCounterEntry's table entry selects."""
    for state, holder in _select_direct(forwarding, message, "counter", budget):
        key = (holder.key, holder.priority) if isinstance(holder, StoredEntry) else (DEFAULT_ENTRY, 0)
        data = forwarding.plane.direct_counter(state.table.id, *key)
        yield partial(encode.direct_counter, state.table, holder, data)


def direct_meters(forwarding: Forwarding, message: Any, budget: Budget) -> Iterator[Encode]:
    """Yield the direct meters of the entries that a DirectMeterEntry's table entry selects."""
    if message.HasField("counter_data"):
        raise not_implemented("this device does not count packets by meter colour")
    for state, holder in _select_direct(forwarding, message, "meter", budget):
        yield partial(encode.direct_meter, state.table, holder, holder.meter)


def _select_direct(
    forwarding: Forwarding, message: Any, what: str, budget: Budget
) -> Iterator[tuple[TableState, StoredEntry | DefaultEntry]]:
    """Yield the entries whose direct counter or meter is selected."""
    if not message.HasField("table_entry"):
        raise invalid_argument("the table entry is missing")
    request = entry_request(message.table_entry)
    for state in _selected_tables(forwarding, request):
        table = state.table
        if not (table.counter_id if what == "counter" else table.meter_id):
            if request.table_id:
                raise invalid_argument(f"table {table.name} has no direct {what}")
            continue
        if request.is_default:
            state.check_default(request)
            yield state, state.default
            continue
        found = list(_select_entries(state, request, budget))
        if request.match and not found:
            raise not_found(f"table {table.name} has no such entry")
        for entry in found:
            yield state, entry


def _selected_tables(forwarding: Forwarding, request: EntryRequest) -> list[TableState]:
    if request.table_id:
        return [forwarding.table_of(request.table_id)]
    if request.match or request.priority or request.action or request.metadata or request.controller_metadata:
        raise invalid_argument("a read of all tables has no other filter")
    return list(forwarding.tables.values())


def _select_entries(state: TableState, request: EntryRequest, budget: Budget) -> Iterator[StoredEntry]:
    action_id = _wanted_action(state, request)
    if request.match:
        _, identity = state.keys.read_key(request.match)
        if request.priority or not state.table.has_priority:
            entry = state.entries.get((identity, request.priority))
            candidates = [entry] if entry else []
        else:
            budget.spend_entities(len(state.entries))
            candidates = [entry for (key, _), entry in state.entries.items() if key == identity]
    else:
        budget.spend_entities(len(state.entries))
        candidates = list(state.entries.values())
    for entry in candidates:
        if (
            (not request.priority or entry.priority == request.priority)
            and (not request.metadata or entry.metadata == request.metadata)
            and request.controller_metadata in (0, entry.controller_metadata)
            and (not action_id or _calls_action(entry, action_id))
        ):
            yield entry


def _wanted_action(state: TableState, request: EntryRequest) -> int:
    """Return the id of the action by which entries are filtered; 0 for all."""
    if request.action is None:
        return 0
    if not isinstance(request.action, tuple):
        raise not_implemented("entries can be selected by action, not by member or group")
    action_id = request.action[0]
    if action_id and action_id not in state.table.actions:
        raise invalid_argument(f"table {state.table.name} has no action {action_id:#x}")
    return action_id


def _calls_action(entry: StoredEntry, action_id: int) -> bool:
    return isinstance(entry.action, ActionCall) and entry.action.action_id == action_id


def _default_entry(forwarding: Forwarding, state: TableState, request: EntryRequest) -> Encode:
    key, priority = state.address_of(request)
    default = state.default
    count = None
    if request.counter is not None and state.table.counter_id:
        count = forwarding.plane.direct_counter(state.table.id, key, priority)
    meter = default.meter if request.has_meter else None
    return partial(encode.default_entry, forwarding.program, state.table, default, count, meter)


def _check_idle_timeout(forwarding: Forwarding, request: EntryRequest) -> None:
    table = forwarding.table_of(request.table_id).table
    if not table.idle_timeout:
        raise invalid_argument(f"table {table.name} has no idle timeout")


@dataclass(frozen=True)
class Selection:
    """The entities that one request of a batch selected."""

    encoders: list[Encode]

    def encode_entities(self) -> Iterator[bytes]:
        """Return each entity as the bytes of a ReadResponse."""
        return (encode() for encode in self.encoders)


def select_entities(forwarding: Forwarding, entity: Any, budget: Budget) -> Selection:
    """Return the entities that a ``p4.v1.Entity`` of a ReadRequest selects. Raises Refusal, TooMany."""
    kind = entity.WhichOneof("entity")
    if kind is None:
        raise invalid_argument("the request has no entity")
    if kind == "extern_entry":
        raise not_implemented("this device has no externs with a control plane of their own")
    encoders: list[Encode] = []
    try:
        for encoder in _SELECT[kind](forwarding, getattr(entity, kind), budget):
            budget.spend_entities(1)
            encoders.append(encoder)
    except Unsupported as error:
        raise not_implemented(str(error)) from None
    except DeviceRefused as error:
        raise Refusal(Code[error.code], str(error)) from None
    except (Refusal, TooMany):
        raise
    except Exception as error:
        raise Refusal(Code.INTERNAL, f"{error.__class__.__name__}: {error}") from error
    return Selection(encoders)


def _select_counters(forwarding: Forwarding, request: Any, budget: Budget) -> Iterator[Encode]:
    for counter, index in _select_elements(
        forwarding.program.counters, request.counter_id, request, "counter"
    ):
        yield partial(encode.counter_entry, counter.id, index, forwarding.plane.counter(counter.id, index))


def _select_meters(forwarding: Forwarding, request: Any, budget: Budget) -> Iterator[Encode]:
    if request.HasField("counter_data"):
        raise not_implemented("this device does not count packets by meter colour")
    for meter, index in _select_elements(forwarding.program.meters, request.meter_id, request, "meter"):
        yield partial(encode.meter_entry, meter.id, index, forwarding.meters.get((meter.id, index)))


def _select_registers(forwarding: Forwarding, request: Any, budget: Budget) -> Iterator[Encode]:
    registers = forwarding.program.registers
    types = forwarding.program.p4info.type_info
    for register, index in _select_elements(registers, request.register_id, request, "register"):
        value = forwarding.plane.register(register.id, index)
        yield partial(encode.register_entry, types, register, index, value)


def _select_elements(
    arrays: dict[int, Array], id: int, request: Any, what: str
) -> Iterator[tuple[Array, int]]:
    if id:
        array, indices = find_indexed(arrays, id, request, what)
        yield from ((array, index) for index in indices)
    else:
        yield from ((array, index) for array in arrays.values() for index in range(array.size))


def _select_members(forwarding: Forwarding, request: Any, budget: Budget) -> Iterator[Encode]:
    program = forwarding.program
    for profile in _select_profiles(forwarding, request.action_profile_id):
        for member_id, member in profile.members.items():
            if request.member_id in (0, member_id):
                yield partial(encode.encode_member, program, profile.profile.id, member_id, member.action)


def _select_groups(forwarding: Forwarding, request: Any, budget: Budget) -> Iterator[Encode]:
    for profile in _select_profiles(forwarding, request.action_profile_id):
        for group_id, group in profile.groups.items():
            if request.group_id in (0, group_id):
                yield partial(
                    encode.encode_group, profile.profile.id, group_id, group.max_size, group.members
                )


def _select_profiles(forwarding: Forwarding, profile_id: int) -> list[ProfileState]:
    if profile_id == 0:
        return list(forwarding.profiles.values())
    if profile_id not in forwarding.profiles:
        raise invalid_argument(f"the program has no action profile {profile_id:#x}")
    return [forwarding.profiles[profile_id]]


def _select_replication(forwarding: Forwarding, request: Any, budget: Budget) -> Iterator[Encode]:
    kind = request.WhichOneof("type")
    if kind == "multicast_group_entry":
        kept, id = forwarding.multicast_groups, request.multicast_group_entry.multicast_group_id
    elif kind == "clone_session_entry":
        kept, id = forwarding.clone_sessions, request.clone_session_entry.session_id
    else:
        raise invalid_argument("the replication engine entry has neither multicast group nor clone session")
    for found_id, found in kept.items():
        if id in (0, found_id):
            yield partial(encode.encode_replicas, kind, found.message)


def _value_sets(forwarding: Forwarding, request: Any, budget: Budget) -> Iterator[Encode]:
    if request.value_set_id and request.value_set_id not in forwarding.value_sets:
        raise invalid_argument(f"the program has no value set {request.value_set_id:#x}")
    for id, members in forwarding.value_sets.items():
        if request.value_set_id in (0, id):
            yield partial(encode.value_set, forwarding.program.value_sets[id], members)


def _select_digests(forwarding: Forwarding, request: Any, budget: Budget) -> Iterator[Encode]:
    if request.digest_id and request.digest_id not in forwarding.program.digests:
        raise invalid_argument(f"the program has no digest {request.digest_id:#x}")
    for id, config in forwarding.digests.items():
        if request.digest_id in (0, id):
            yield partial(encode.encode_digest, id, config)


_SELECT: Mapping[str, Callable[[Forwarding, Any, Budget], Iterator[Encode]]] = {
    "table_entry": table_entries,
    "direct_counter_entry": direct_counters,
    "direct_meter_entry": direct_meters,
    "action_profile_member": _select_members,
    "action_profile_group": _select_groups,
    "counter_entry": _select_counters,
    "meter_entry": _select_meters,
    "register_entry": _select_registers,
    "packet_replication_engine_entry": _select_replication,
    "value_set_entry": _value_sets,
    "digest_entry": _select_digests,
}
