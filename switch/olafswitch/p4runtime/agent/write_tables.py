"""Writes of table entries with their direct counters and meters (P4Runtime §9.1), and of any update."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from olafswitch.p4runtime.agent.keys import Identity
from olafswitch.p4runtime.agent.refusals import (
    Code,
    Refusal,
    invalid_argument,
    not_implemented,
    permission_denied,
)
from olafswitch.p4runtime.agent.state import DefaultEntry, Forwarding, StoredEntry, TableState, Undo
from olafswitch.p4runtime.agent.write_arrays import (
    check_counter,
    check_meter,
    modify_counter,
    modify_meter,
    modify_register,
)
from olafswitch.p4runtime.agent.write_objects import (
    DELETE,
    DIGESTS,
    GROUPS,
    INSERT,
    MEMBERS,
    MODIFY,
    MULTICAST_GROUPS,
    SESSIONS,
    Apply,
    count_use,
    modify_value_set,
    put_value,
    read_action,
)
from olafswitch.p4runtime.dataplane import (
    CounterData,
    DeviceRefused,
    Key,
    MeterConfig,
    TableFull,
    Unsupported,
)
from olafswitch.p4runtime.plain import EntryRequest, counter_data, entry_request, meter_config
from olafswitch.p4runtime.protocol import p4runtime_pb2

# Writes of table entries and of their direct counters and meters (P4Runtime §9.1).


def insert_entry(forwarding: Forwarding, request: EntryRequest) -> Undo:
    state = forwarding.table_of(request.table_id)
    table = state.table
    if request.is_const or request.is_default:
        _refuse_fixed(request, "inserted")
    if table.is_const:
        raise permission_denied(f"table {table.name} is constant")
    if not table.fields:
        raise invalid_argument(f"table {table.name} has no key: it has only its default entry")
    key, identity = state.read_key(request)
    _check_extras(forwarding, state, request)
    if request.action is None:
        raise invalid_argument(f"table {table.name}: an entry needs an action")
    action = read_action(forwarding, state, request.action)
    priority = request.priority
    if (identity, priority) in state.entries:
        raise Refusal(Code.ALREADY_EXISTS, f"table {table.name} already has this entry")
    entry = StoredEntry(key, priority, action, request.metadata, request.controller_metadata)
    entry.idle_timeout_ns = request.idle_timeout_ns
    plane = forwarding.plane
    try:
        plane.insert(table.id, key, priority, action)
    except TableFull:
        full = f"table {table.name} is full: it has {len(state.entries)} entries"
        raise Refusal(Code.RESOURCE_EXHAUSTED, full) from None
    if request.counter or request.meter or request.idle_timeout_ns:
        try:
            _modify_direct(forwarding, state, entry, request.counter, request.meter)
            _check_idle(forwarding, request, key)
        except BaseException:
            plane.delete(table.id, key, priority)
            raise
        entry.meter = request.meter
    state.entries[identity, priority] = entry
    if entry.idle_timeout_ns:
        forwarding.idle.watch_entry(state, identity, entry)
    count_use(forwarding, table, action, +1)

    def undo() -> None:
        forwarding.idle.forget_entry(state, identity, entry)
        plane.delete(table.id, key, priority)
        del state.entries[identity, priority]
        count_use(forwarding, table, action, -1)

    return undo


def modify_entry(forwarding: Forwarding, request: EntryRequest) -> Undo:
    state = forwarding.table_of(request.table_id)
    if request.is_const:
        _refuse_fixed(request, "modified")
    if request.is_default:
        return _modify_default(forwarding, state, request)
    table = state.table
    entry, identity = state.find_entry(request)
    constant = table.is_const or entry.is_const
    if constant and request.action is not None:
        raise permission_denied(f"table {table.name}: the action of a constant entry cannot change")
    if constant and request.idle_timeout_ns:
        raise permission_denied(f"table {table.name}: a constant entry has no idle timeout")
    _check_extras(forwarding, state, request)
    _check_idle(forwarding, request, entry.key)
    old = entry
    action = old.action
    if request.action is not None:
        action = read_action(forwarding, state, request.action)
    undo_direct = _modify_direct(forwarding, state, old, request.counter, request.meter)
    changed = request.action is not None and action != old.action
    if changed:
        try:
            forwarding.plane.modify(table.id, old.key, old.priority, action)
        except BaseException:
            undo_direct()
            raise
    metadata = (old.metadata, old.controller_metadata)
    if not constant:
        metadata = (request.metadata, request.controller_metadata)
    new = StoredEntry(old.key, old.priority, action, *metadata, meter=request.meter, is_const=old.is_const)
    new.idle_timeout_ns = request.idle_timeout_ns
    _replace_entry(forwarding, state, identity, old, new)

    def undo() -> None:
        if changed:
            forwarding.plane.modify(table.id, old.key, old.priority, old.action)
        _replace_entry(forwarding, state, identity, new, old)
        undo_direct()

    return undo


def delete_entry(forwarding: Forwarding, request: EntryRequest) -> Undo:
    state = forwarding.table_of(request.table_id)
    if request.is_const or request.is_default:
        _refuse_fixed(request, "deleted")
    table = state.table
    if table.is_const:
        raise permission_denied(f"table {table.name} is constant")
    entry, identity = state.find_entry(request)
    if entry.is_const:
        raise permission_denied(f"table {table.name}: this entry is constant")
    counted = forwarding.count_of_entry(state, entry)
    forwarding.plane.delete(table.id, entry.key, entry.priority)
    del state.entries[identity, entry.priority]
    forwarding.idle.forget_entry(state, identity, entry)
    count_use(forwarding, table, entry.action, -1)

    def undo() -> None:
        forwarding.plane.insert(table.id, entry.key, entry.priority, entry.action)
        state.entries[identity, entry.priority] = entry
        forwarding.idle.watch_entry(state, identity, entry)
        count_use(forwarding, table, entry.action, +1)
        _modify_direct(forwarding, state, replace(entry, meter=None), counted, entry.meter)

    return undo


def modify_direct_counter(forwarding: Forwarding, request: EntryRequest, data: CounterData | None) -> Undo:
    """Set an entry's direct counter; without data nothing changes."""
    state = forwarding.table_of(request.table_id)
    if not state.table.counter_id:
        raise invalid_argument(f"table {state.table.name} has no direct counter")
    key, priority = state.address_of(request)
    if data is None:
        return _undo_nothing
    before = forwarding.plane.direct_counter(state.table.id, key, priority)
    put = partial(forwarding.plane.set_direct_counter, state.table.id, key, priority)
    return put_value(put, before, check_counter(data))


def modify_direct_meter(
    forwarding: Forwarding, request: EntryRequest, config: MeterConfig | None, excess: int
) -> Undo:
    """Set an entry's direct meter; without a configuration every packet is green."""
    state = forwarding.table_of(request.table_id)
    table = state.table
    if not table.meter_id:
        raise invalid_argument(f"table {table.name} has no direct meter")
    key, priority = state.address_of(request)
    check_meter(forwarding.program.meter_types[table.meter_id], config, excess)
    holder = state.default if request.is_default else state.find_entry(request)[0]

    def put(wanted: MeterConfig | None) -> None:
        forwarding.plane.set_direct_meter(table.id, key, priority, wanted)
        holder.meter = wanted

    return put_value(put, holder.meter, config)


def _modify_default(forwarding: Forwarding, state: TableState, request: EntryRequest) -> Undo:
    table = state.table
    state.check_default(request)
    if table.const_default_action:
        raise permission_denied(f"table {table.name}: the default action is constant")
    if table.profile_id:
        raise permission_denied(f"table {table.name} has an action profile: its default action is constant")
    _check_extras(forwarding, state, request)
    action = None
    if request.action is not None:
        if not isinstance(request.action, tuple):
            raise invalid_argument(f"table {table.name}: the default entry takes an action")
        action = state.calls.default_call(request.action)
    old = state.default
    undo_direct = _undo_nothing
    if request.counter or request.has_meter or old.meter:
        undo_direct = _modify_direct(forwarding, state, old, request.counter, request.meter)
    try:
        forwarding.plane.set_default(table.id, action)
    except BaseException:
        undo_direct()
        raise
    if action is None:
        state.default = DefaultEntry()
    else:
        state.default = DefaultEntry(action, request.metadata, request.controller_metadata, request.meter)

    def undo() -> None:
        forwarding.plane.set_default(table.id, old.action)
        state.default = old
        undo_direct()

    return undo


def _check_extras(forwarding: Forwarding, state: TableState, request: EntryRequest) -> None:
    """Check the direct resources and the idle timeout of a table entry. Raises Refusal."""
    table = state.table
    if request.idle_timeout_ns:
        if not table.idle_timeout:
            # The words that BMv2 answers, which public test suites compare.
            raise invalid_argument(
                "idle_timeout_ns must be set to 0 for tables which do not support idle timeout"
            )
        if request.idle_timeout_ns < 0:
            raise invalid_argument("an idle timeout cannot be negative")
    if request.counter is not None:
        if not table.counter_id:
            raise invalid_argument(f"table {table.name} has no direct counter")
        check_counter(request.counter)
    if (request.has_meter or request.has_meter_counter) and not table.meter_id:
        raise invalid_argument(f"table {table.name} has no direct meter")
    if request.has_meter_counter:
        raise not_implemented("this device does not count packets by meter colour")
    if request.has_meter:
        check_meter(forwarding.program.meter_types[table.meter_id], request.meter, request.excess_burst)


def _check_idle(forwarding: Forwarding, request: EntryRequest, key: Key) -> None:
    """Raise Unsupported where the device cannot tell how long entries are idle."""
    if request.idle_timeout_ns:
        forwarding.plane.idle_ns(request.table_id, key, request.priority)


def _refuse_fixed(request: EntryRequest, verb: str) -> None:
    if request.is_const:
        raise invalid_argument("is_const is the program's to set, not the client's")
    raise invalid_argument(f"a default entry cannot be {verb}, only modified")


def _modify_direct(
    forwarding: Forwarding,
    state: TableState,
    old: StoredEntry | DefaultEntry,
    counter: CounterData | None,
    meter: MeterConfig | None,
) -> Undo:
    """Set a MODIFY's direct resources; an unset meter goes back to its default."""
    table_id, plane = state.table.id, forwarding.plane
    key, priority = (old.key, old.priority) if isinstance(old, StoredEntry) else ((), 0)
    before = plane.direct_counter(table_id, key, priority) if counter is not None else None
    if counter is not None:
        plane.set_direct_counter(table_id, key, priority, counter)
    if meter != old.meter:
        plane.set_direct_meter(table_id, key, priority, meter)

    def undo() -> None:
        if before is not None:
            plane.set_direct_counter(table_id, key, priority, before)
        if meter != old.meter:
            plane.set_direct_meter(table_id, key, priority, old.meter)

    return undo


def _replace_entry(
    forwarding: Forwarding, state: TableState, identity: Identity, old: StoredEntry, new: StoredEntry
) -> None:
    state.entries[identity, old.priority] = new
    if old.idle_timeout_ns or new.idle_timeout_ns:
        forwarding.idle.watch_entry(state, identity, new)
    count_use(forwarding, state.table, new.action, +1)
    count_use(forwarding, state.table, old.action, -1)


def _undo_nothing() -> None:
    return None


# Applies one update of a batch, by its entity and type (P4Runtime §12).


def _direct_counter(forwarding: Forwarding, message: Any) -> Undo:
    data = counter_data(message.data) if message.HasField("data") else None
    return modify_direct_counter(forwarding, _direct_key(message), data)


def _direct_meter(forwarding: Forwarding, message: Any) -> Undo:
    if message.HasField("counter_data"):
        raise not_implemented("this device does not count packets by meter colour")
    config = meter_config(message.config) if message.HasField("config") else None
    return modify_direct_meter(forwarding, _direct_key(message), config, message.config.eburst)


def _direct_key(message: Any) -> EntryRequest:
    if not message.HasField("table_entry"):
        raise invalid_argument("the table entry is missing")
    return entry_request(message.table_entry)


_PLAIN = {INSERT: insert_entry, MODIFY: modify_entry, DELETE: delete_entry}
_BY_ENTITY: Mapping[str, Mapping[int, Apply]] = {
    "table_entry": {},  # plain_update has made those of a valid type plain
    "action_profile_member": MEMBERS,
    "action_profile_group": GROUPS,
    "counter_entry": {MODIFY: modify_counter},
    "meter_entry": {MODIFY: modify_meter},
    "register_entry": {MODIFY: modify_register},
    "direct_counter_entry": {MODIFY: _direct_counter},
    "direct_meter_entry": {MODIFY: _direct_meter},
    "value_set_entry": {MODIFY: modify_value_set},
    "digest_entry": DIGESTS,
    "multicast_group_entry": MULTICAST_GROUPS,
    "clone_session_entry": SESSIONS,
}


def plain_update(update: Any) -> Any:
    """Return a ``p4.v1.Update``, or (type, EntryRequest) if it is a table entry of a valid type."""
    if update.entity.WhichOneof("entity") == "table_entry" and update.type in _PLAIN:
        return update.type, entry_request(update.entity.table_entry)
    return update


def apply_update(forwarding: Forwarding, update: Any) -> Undo:
    """Apply an update of :func:`plain_update`. Raises Refusal, with nothing changed."""
    try:
        if isinstance(update, tuple):
            type, request = update
            if request.has_last_hit:
                # The words that BMv2 answers, which public test suites compare.
                raise invalid_argument("has_time_since_last_hit must not be set in WriteRequest")
            return _PLAIN[type](forwarding, request)
        kind, message = _split_entity(update.entity)
        applies = _BY_ENTITY[kind]
        if update.type not in applies:
            raise invalid_argument(f"a {kind} cannot be the object of {_type_name(update.type)}")
        return applies[update.type](forwarding, message)
    except Unsupported as error:
        raise not_implemented(str(error)) from None
    except DeviceRefused as error:
        raise Refusal(Code[error.code], str(error)) from None
    except Refusal:
        raise
    except Exception as error:
        raise Refusal(Code.INTERNAL, f"{error.__class__.__name__}: {error}") from error


def _split_entity(entity: Any) -> tuple[str, Any]:
    kind = entity.WhichOneof("entity")
    if kind is None:
        raise invalid_argument("the update has no entity")
    message = getattr(entity, kind)
    if kind == "packet_replication_engine_entry":
        kind = message.WhichOneof("type")
        if kind is None:
            raise invalid_argument(
                "the replication engine entry has neither multicast group nor clone session"
            )
        return kind, getattr(message, kind)
    if kind == "extern_entry":
        raise not_implemented("this device has no externs with a control plane of their own")
    return kind, message


def _type_name(type: int) -> str:
    known = p4runtime_pb2.Update.Type.DESCRIPTOR.values_by_number
    return known[type].name if type in known else f"update type {type}"
