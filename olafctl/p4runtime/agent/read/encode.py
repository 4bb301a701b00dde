"""What a device holds, as bytes of answers to reads.

Each entity is a ReadResponse of its own. The bytes of several, put together, are the one of them all.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from olafctl.p4runtime import values
from olafctl.p4runtime.agent.state import p4data
from olafctl.p4runtime.agent.state.forwarding import DigestConfig
from olafctl.p4runtime.agent.state.tables import DefaultEntry, Entry
from olafctl.p4runtime.dataplane import ActionCall, CounterData, Key, MeterConfig
from olafctl.p4runtime.program import Array, Program, Table, ValueSet
from olafctl.p4runtime.protocol import p4runtime_pb2

Encode = Callable[[], bytes]
"""Gives one selected entity as a ReadResponse; what it encodes does not change any more."""


def entities(encoded: Iterable[bytes]) -> Any:
    """The ``p4.v1.Entity`` messages of encoded entities."""
    return p4runtime_pb2.ReadResponse.FromString(b"".join(encoded)).entities


def table_entry(
    program: Program,
    table: Table,
    entry: Entry,
    count: CounterData | None = None,
    meter: MeterConfig | None = None,
    idle_ns: int | None = None,
) -> bytes:
    """An entry, with what else is known of it."""
    if entry.encoded is None:
        answer, entity = _answer()
        message = entity.table_entry
        put_key(message, table, entry)
        values.put_action(message.action, program, entry.action)
        put_remarks(message, entry)
        message.is_const = entry.is_const or table.is_const
        entry.encoded = _serialized(answer)
    if count is None and meter is None and idle_ns is None:
        return entry.encoded
    answer = p4runtime_pb2.ReadResponse.FromString(entry.encoded)
    message = answer.entities[0].table_entry
    _put_direct(message, count, meter)
    if idle_ns is not None:
        message.time_since_last_hit.SetInParent()
        message.time_since_last_hit.elapsed_ns = idle_ns
    return _serialized(answer)


def put_key(message: Any, table: Table, entry: Entry) -> None:
    """Put an entry's table, match and priority, which name it, into a TableEntry."""
    message.table_id = table.id
    message.priority = entry.priority
    for field, match in zip(table.fields, entry.key, strict=True):
        if match is not None:
            values.put_match(message.match.add(), field.id, match)


def put_remarks(message: Any, entry: Entry) -> None:
    """Put what an entry says for the controller's use alone into a TableEntry."""
    message.controller_metadata = entry.controller_metadata
    message.idle_timeout_ns = entry.idle_timeout_ns
    message.metadata = entry.metadata


def default_entry(
    program: Program,
    table: Table,
    default: DefaultEntry,
    count: CounterData | None = None,
    meter: MeterConfig | None = None,
) -> bytes:
    """A table's default entry; its action is left out where it is not known."""
    answer, entity = _answer()
    message = entity.table_entry
    message.table_id = table.id
    message.is_default_action = True
    message.controller_metadata = default.controller_metadata
    message.metadata = default.metadata
    message.is_const = bool(table.const_default_action)
    action = default.action or table.initial_default
    if action:
        values.put_action(message.action, program, action)
    _put_direct(message, count, meter)
    return _serialized(answer)


def direct_counter(table: Table, holder: Entry | DefaultEntry, data: CounterData) -> bytes:
    """A DirectCounterEntry."""
    answer, entity = _answer()
    _put_address(entity.direct_counter_entry.table_entry, table, holder)
    _put_counter(entity.direct_counter_entry.data, data)
    return _serialized(answer)


def direct_meter(table: Table, holder: Entry | DefaultEntry, config: MeterConfig | None) -> bytes:
    """A DirectMeterEntry, without its configuration if that is the default one."""
    answer, entity = _answer()
    _put_address(entity.direct_meter_entry.table_entry, table, holder)
    if config:
        _put_meter(entity.direct_meter_entry.config, config)
    return _serialized(answer)


def counter_entry(counter_id: int, index: int, data: CounterData) -> bytes:
    """A CounterEntry."""
    answer, entity = _answer()
    entity.counter_entry.counter_id = counter_id
    _put_index(entity.counter_entry, index)
    _put_counter(entity.counter_entry.data, data)
    return _serialized(answer)


def meter_entry(meter_id: int, index: int, config: MeterConfig | None) -> bytes:
    """A MeterEntry, without its configuration if that is the default one."""
    answer, entity = _answer()
    entity.meter_entry.meter_id = meter_id
    _put_index(entity.meter_entry, index)
    if config:
        _put_meter(entity.meter_entry.config, config)
    return _serialized(answer)


def register_entry(types: Any, register: Array, index: int, value: int) -> bytes:
    """A RegisterEntry; ``types`` is the P4Info's type_info. Raises Refusal."""
    answer, entity = _answer()
    entity.register_entry.register_id = register.id
    _put_index(entity.register_entry, index)
    entity.register_entry.data.CopyFrom(p4data.encode_integer(types, register.type_spec, value))
    return _serialized(answer)


def member(program: Program, profile_id: int, member_id: int, call: ActionCall) -> bytes:
    """An ActionProfileMember."""
    answer, entity = _answer()
    message = entity.action_profile_member
    message.action_profile_id, message.member_id = profile_id, member_id
    values.put_call(message.action, program.actions[call.action_id], call.params)
    return _serialized(answer)


def group(profile_id: int, group_id: int, max_size: int, members: Sequence[tuple[int, int]]) -> bytes:
    """An ActionProfileGroup; ``members`` are (member id, weight)."""
    answer, entity = _answer()
    message = entity.action_profile_group
    message.action_profile_id, message.group_id, message.max_size = profile_id, group_id, max_size
    for member_id, weight in members:
        message.members.add(member_id=member_id, weight=weight)
    return _serialized(answer)


def value_set(value_set: ValueSet, members: Sequence[Key]) -> bytes:
    """A ValueSetEntry."""
    answer, entity = _answer()
    message = entity.value_set_entry
    message.value_set_id = value_set.id
    for key in members:
        added = message.members.add()
        for field, match in zip(value_set.fields, key, strict=True):
            if match is not None:
                values.put_match(added.match.add(), field.id, match)
    return _serialized(answer)


def replicas(kind: str, written: bytes) -> bytes:
    """A MulticastGroupEntry or a CloneSessionEntry, by its field's name, as it was written."""
    answer, entity = _answer()
    getattr(entity.packet_replication_engine_entry, kind).ParseFromString(written)
    return _serialized(answer)


def digest(digest_id: int, config: DigestConfig) -> bytes:
    """A DigestEntry."""
    answer, entity = _answer()
    message = entity.digest_entry
    message.digest_id = digest_id
    message.config.max_timeout_ns = config.max_timeout_ns
    message.config.max_list_size = config.max_list_size
    message.config.ack_timeout_ns = config.ack_timeout_ns
    return _serialized(answer)


def _answer() -> tuple[Any, Any]:
    """A ReadResponse, and its one Entity to be filled."""
    answer = p4runtime_pb2.ReadResponse()
    return answer, answer.entities.add()


def _serialized(answer: Any) -> bytes:
    encoded: bytes = answer.SerializeToString()
    return encoded


def _put_address(message: Any, table: Table, holder: Entry | DefaultEntry) -> None:
    """Put what names an entry, or the default entry, into a TableEntry."""
    if isinstance(holder, DefaultEntry):
        message.table_id = table.id
        message.is_default_action = True
    else:
        put_key(message, table, holder)


def _put_direct(message: Any, count: CounterData | None, meter: MeterConfig | None) -> None:
    """Put what is read with an entry into its TableEntry; no meter is the default configuration."""
    if count is not None:
        _put_counter(message.counter_data, count)
    if meter:
        _put_meter(message.meter_config, meter)


def _put_counter(message: Any, data: CounterData) -> None:
    message.SetInParent()  # it is there even when both are 0
    message.byte_count, message.packet_count = data.bytes, data.packets


def _put_meter(message: Any, config: MeterConfig) -> None:
    message.SetInParent()
    message.cir, message.cburst, message.pir, message.pburst = (
        config.cir,
        config.cburst,
        config.pir,
        config.pburst,
    )


def _put_index(message: Any, index: int) -> None:
    message.index.SetInParent()  # without it, every index is meant
    message.index.index = index
