"""Encode the state of a device as bytes of answers to reads.

Each entity is its own ReadResponse. The joined bytes of several are one ReadResponse of them all.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from olafswitch.p4runtime import values
from olafswitch.p4runtime.agent import p4data
from olafswitch.p4runtime.agent.state import DefaultEntry, DigestConfig, StoredEntry
from olafswitch.p4runtime.dataplane import ActionCall, CounterData, Key, MeterConfig
from olafswitch.p4runtime.program import Array, ProgramInfo, TableInfo, ValueSetInfo
from olafswitch.p4runtime.protocol import p4runtime_pb2

Encode = Callable[[], bytes]
"""Returns one selected entity as a ReadResponse; the encoded state does not change any more."""


def decode_entities(encoded: Iterable[bytes]) -> Any:
    """Return the ``p4.v1.Entity`` messages of encoded entities."""
    return p4runtime_pb2.ReadResponse.FromString(b"".join(encoded)).entities


def table_entry(
    program: ProgramInfo,
    table: TableInfo,
    entry: StoredEntry,
    count: CounterData | None = None,
    meter: MeterConfig | None = None,
    idle_ns: int | None = None,
) -> bytes:
    """Return an entry, with its counter, meter and idle time where given."""
    if entry.encoded is None:
        answer = p4runtime_pb2.ReadResponse()
        message = answer.entities.add().table_entry
        put_key(message, table, entry)
        values.put_action(message.action, program, entry.action)
        put_remarks(message, entry)
        message.is_const = entry.is_const or table.is_const
        entry.encoded = answer.SerializeToString()
    if count is None and meter is None and idle_ns is None:
        return entry.encoded
    further = _direct_fields(count, meter)
    if idle_ns is not None:
        further["time_since_last_hit"] = {"elapsed_ns": idle_ns}
    answer = p4runtime_pb2.ReadResponse.FromString(entry.encoded)
    answer.entities[0].table_entry.MergeFrom(p4runtime_pb2.TableEntry(**further))
    return bytes(answer.SerializeToString())


def put_key(message: Any, table: TableInfo, entry: StoredEntry) -> None:
    """Put an entry's table, match and priority, which name it, into a TableEntry."""
    message.table_id = table.id
    message.priority = entry.priority
    for field, match in zip(table.fields, entry.key, strict=True):
        if match is not None:
            values.put_match(message.match.add(), field.id, match)


def put_remarks(message: Any, entry: StoredEntry) -> None:
    """Put an entry's remarks, which only the controller uses, into a TableEntry."""
    message.controller_metadata = entry.controller_metadata
    message.idle_timeout_ns = entry.idle_timeout_ns
    message.metadata = entry.metadata


def default_entry(
    program: ProgramInfo,
    table: TableInfo,
    default: DefaultEntry,
    count: CounterData | None = None,
    meter: MeterConfig | None = None,
) -> bytes:
    """Return a table's default entry; its action is left out where it is not known."""
    message = p4runtime_pb2.TableEntry(
        table_id=table.id,
        is_default_action=True,
        controller_metadata=default.controller_metadata,
        metadata=default.metadata,
        is_const=bool(table.const_default_action),
        **_direct_fields(count, meter),
    )
    action = default.action or table.initial_default
    if action:
        values.put_action(message.action, program, action)
    return _encode_entity(table_entry=message)


def direct_counter(table: TableInfo, holder: StoredEntry | DefaultEntry, data: CounterData) -> bytes:
    """Return a DirectCounterEntry."""
    return _encode_entity(
        direct_counter_entry={"table_entry": _entry_address(table, holder), "data": _counter_fields(data)}
    )


def direct_meter(table: TableInfo, holder: StoredEntry | DefaultEntry, config: MeterConfig | None) -> bytes:
    """Return a DirectMeterEntry, without its configuration if it is the default."""
    return _encode_entity(
        direct_meter_entry={"table_entry": _entry_address(table, holder), **_meter_fields("config", config)}
    )


def counter_entry(counter_id: int, index: int, data: CounterData) -> bytes:
    """Return a CounterEntry."""
    # An index that is not set at all means every index.
    entry = {"counter_id": counter_id, "index": {"index": index}, "data": _counter_fields(data)}
    return _encode_entity(counter_entry=entry)


def meter_entry(meter_id: int, index: int, config: MeterConfig | None) -> bytes:
    """Return a MeterEntry, without its configuration if it is the default."""
    return _encode_entity(
        meter_entry={"meter_id": meter_id, "index": {"index": index}, **_meter_fields("config", config)}
    )


def register_entry(types: Any, register: Array, index: int, value: int) -> bytes:
    """Return a RegisterEntry; ``types`` is the P4Info's type_info. Raises Refusal."""
    data = p4data.encode_integer(types, register.type_spec, value)
    return _encode_entity(
        register_entry={"register_id": register.id, "index": {"index": index}, "data": data}
    )


def encode_member(program: ProgramInfo, profile_id: int, member_id: int, call: ActionCall) -> bytes:
    """Return an ActionProfileMember."""
    message = p4runtime_pb2.ActionProfileMember(action_profile_id=profile_id, member_id=member_id)
    values.put_call(message.action, program.actions[call.action_id], call.params)
    return _encode_entity(action_profile_member=message)


def encode_group(profile_id: int, group_id: int, max_size: int, members: Sequence[tuple[int, int]]) -> bytes:
    """Return an ActionProfileGroup; ``members`` are (member id, weight)."""
    rows = [{"member_id": member_id, "weight": weight} for member_id, weight in members]
    fields = {"action_profile_id": profile_id, "group_id": group_id, "max_size": max_size, "members": rows}
    return _encode_entity(action_profile_group=fields)


def value_set(value_set: ValueSetInfo, members: Sequence[Key]) -> bytes:
    """Return a ValueSetEntry."""
    message = p4runtime_pb2.ValueSetEntry()
    values.put_value_set(message, value_set, members)
    return _encode_entity(value_set_entry=message)


def encode_replicas(kind: str, written: bytes) -> bytes:
    """Return a MulticastGroupEntry or a CloneSessionEntry, by its field's name, as it was written."""
    engine = p4runtime_pb2.PacketReplicationEngineEntry()
    getattr(engine, kind).ParseFromString(written)
    return _encode_entity(packet_replication_engine_entry=engine)


def encode_digest(digest_id: int, config: DigestConfig) -> bytes:
    """Return a DigestEntry."""
    return _encode_entity(digest_entry={"digest_id": digest_id, "config": vars(config)})


def _encode_entity(**kind: Any) -> bytes:
    """Return a ReadResponse of one Entity."""
    encoded: bytes = p4runtime_pb2.ReadResponse(entities=[kind]).SerializeToString()
    return encoded


def _entry_address(table: TableInfo, holder: StoredEntry | DefaultEntry) -> Any:
    """Return a TableEntry with the fields that name an entry, or the default entry."""
    message = p4runtime_pb2.TableEntry(table_id=table.id, is_default_action=isinstance(holder, DefaultEntry))
    if isinstance(holder, StoredEntry):
        put_key(message, table, holder)
    return message


def _direct_fields(count: CounterData | None, meter: MeterConfig | None) -> dict[str, Any]:
    """Return the counter and meter of an entry, as fields of its TableEntry."""
    counted = {} if count is None else {"counter_data": _counter_fields(count)}
    return counted | _meter_fields("meter_config", meter)


def _counter_fields(data: CounterData) -> dict[str, int]:
    return {"byte_count": data.bytes, "packet_count": data.packets}


def _meter_fields(field: str, config: MeterConfig | None) -> dict[str, Any]:
    """Return a meter's configuration as a field; no field stands for the default configuration."""
    return {field: vars(config)} if config else {}
