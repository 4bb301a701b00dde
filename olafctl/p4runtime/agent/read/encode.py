"""Entities as bytes of ``p4.v1.Entity``, without protobuf where wildcard reads send them by the thousand."""

from collections.abc import Callable, Sequence
from typing import Any

from p4.v1 import p4runtime_pb2

from olafctl.p4runtime import fast_path
from olafctl.p4runtime.agent.state import p4data
from olafctl.p4runtime.agent.state.tables import DefaultEntry, Entry
from olafctl.p4runtime.dataplane import ActionCall, CounterData, Key, MeterConfig
from olafctl.p4runtime.program import Array, Program, Table, ValueSet

Encode = Callable[[], bytes]
"""Gives one selected entity as the bytes of a ``p4.v1.Entity``; what it encodes does not change any more."""

_TABLE_ENTRY = 2  # in Entity; the numbers below are those of p4runtime.proto


def priority(entry: Entry) -> bytes:
    """A TableEntry's ``priority``, to be appended."""
    return fast_path.number(4, entry.priority)


def remarks(entry: Entry) -> bytes:
    """What a TableEntry says for the controller's use alone, to be appended."""
    return (
        fast_path.number(5, entry.controller_metadata)
        + fast_path.number(9, entry.idle_timeout_ns)
        + fast_path.text(11, entry.metadata)
    )


def entity(entry: bytes) -> bytes:
    """The Entity of a TableEntry message."""
    return fast_path.message(_TABLE_ENTRY, entry)


def table_entry(program: Program, table: Table, entry: Entry) -> bytes:
    """The TableEntry of an entry, without counters and meters."""
    if entry.encoded is None:
        entry.encoded = b"".join(
            (
                entry_key(table, entry),
                fast_path.message(3, fast_path.table_action(program, entry.action)),
                priority(entry),
                remarks(entry),
                fast_path.number(13, entry.is_const or table.is_const),
            )
        )
    return entry.encoded


def entry_key(table: Table, entry: Entry) -> bytes:
    """A TableEntry with the table and the match only."""
    matches = zip(table.fields, entry.key, strict=True)
    return fast_path.number(1, table.id) + b"".join(
        fast_path.message(2, fast_path.field_match(field.id, match))
        for field, match in matches
        if match is not None
    )


def default_entry(program: Program, table: Table, default: DefaultEntry) -> bytes:
    """The TableEntry of a table's default entry; its action is left out where it is not known."""
    action = default.action or table.initial_default
    return b"".join(
        (
            fast_path.number(1, table.id),
            fast_path.message(3, fast_path.table_action(program, action)) if action else b"",
            fast_path.number(5, default.controller_metadata),
            fast_path.number(8, True),
            fast_path.text(11, default.metadata),
            fast_path.number(13, bool(table.const_default_action)),
        )
    )


def with_counter(data: CounterData) -> bytes:
    """A TableEntry's ``counter_data``, to be appended."""
    return fast_path.message(7, counter(data))


def with_last_hit(idle_ns: int) -> bytes:
    """A TableEntry's ``time_since_last_hit``, to be appended."""
    return fast_path.message(10, fast_path.number(1, idle_ns))


def with_meter(config: MeterConfig | None) -> bytes:
    """A TableEntry's ``meter_config``, to be appended; nothing for the default configuration."""
    return fast_path.message(6, meter(config)) if config else b""


def counter(data: CounterData) -> bytes:
    return fast_path.number(1, data.bytes) + fast_path.number(2, data.packets)


def meter(config: MeterConfig) -> bytes:
    values = (config.cir, config.cburst, config.pir, config.pburst)
    return b"".join(fast_path.number(1 + place, value) for place, value in enumerate(values))


def counter_entry(counter_id: int, index: int, data: CounterData) -> bytes:
    """The Entity of a CounterEntry."""
    return _element(7, counter_id, index, fast_path.message(3, counter(data)))


def meter_entry(meter_id: int, index: int, config: MeterConfig | None) -> bytes:
    """The Entity of a MeterEntry."""
    return _element(5, meter_id, index, fast_path.message(3, meter(config)) if config else b"")


def register_entry(types: Any, register: Array, index: int, value: int) -> bytes:
    """The Entity of a RegisterEntry; ``types`` is the P4Info's type_info. Raises Refusal."""
    data = p4data.encode_integer(types, register.type_spec, value)
    return _element(11, register.id, index, fast_path.message(3, data.SerializeToString()))


def _element(field: int, id: int, index: int, value: bytes) -> bytes:
    """CounterEntry, MeterEntry and RegisterEntry number their fields alike: id, index, value."""
    return fast_path.message(
        field, fast_path.number(1, id) + fast_path.message(2, fast_path.number(1, index)) + value
    )


def member(program: Program, profile_id: int, member_id: int, call: ActionCall) -> bytes:
    """The Entity of an ActionProfileMember."""
    action = fast_path.action_call(program.actions[call.action_id], call.params)
    entry = p4runtime_pb2.ActionProfileMember(
        action_profile_id=profile_id, member_id=member_id, action=p4runtime_pb2.Action.FromString(action)
    )
    return _serialized(p4runtime_pb2.Entity(action_profile_member=entry))


def group(profile_id: int, group_id: int, max_size: int, members: Sequence[tuple[int, int]]) -> bytes:
    """The Entity of an ActionProfileGroup; ``members`` are (member id, weight)."""
    entry = p4runtime_pb2.ActionProfileGroup(
        action_profile_id=profile_id, group_id=group_id, max_size=max_size
    )
    for member_id, weight in members:
        entry.members.add(member_id=member_id, weight=weight)
    return _serialized(p4runtime_pb2.Entity(action_profile_group=entry))


def value_set(value_set: ValueSet, members: Sequence[Key]) -> bytes:
    """The Entity of a ValueSetEntry."""
    entry = p4runtime_pb2.ValueSetEntry(value_set_id=value_set.id)
    for key in members:
        added = entry.members.add()
        for field, match in zip(value_set.fields, key, strict=True):
            if match is not None:
                encoded = fast_path.field_match(field.id, match)
                added.match.append(p4runtime_pb2.FieldMatch.FromString(encoded))
    return _serialized(p4runtime_pb2.Entity(value_set_entry=entry))


def _serialized(message: p4runtime_pb2.Entity) -> bytes:
    encoded: bytes = message.SerializeToString()
    return encoded
