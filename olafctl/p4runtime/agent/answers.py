"""Table entries as the bytes of ``p4.v1.Entity``: what wildcard reads send by the thousand."""

from p4.v1 import p4runtime_pb2

from olafctl.p4runtime import encoding, wire
from olafctl.p4runtime.agent.entries import DefaultEntry, Entry
from olafctl.p4runtime.dataplane import ActionCall, CounterData, Match, MeterConfig
from olafctl.p4runtime.program import Program, Table

_TABLE_ENTRY = 2  # in Entity; the numbers below are those of p4runtime.proto


def priority(entry: Entry) -> bytes:
    """A TableEntry's ``priority``, to be appended."""
    return wire.number(4, entry.priority)


def remarks(entry: Entry) -> bytes:
    """What a TableEntry says for the controller's use alone, to be appended."""
    return (
        wire.number(5, entry.controller_metadata)
        + wire.number(9, entry.idle_timeout_ns)
        + wire.text(11, entry.metadata)
    )


def entity(entry: bytes) -> bytes:
    """The Entity of a TableEntry message."""
    return wire.message(_TABLE_ENTRY, entry)


def table_entry(program: Program, table: Table, entry: Entry) -> bytes:
    """The TableEntry of an entry, without counters and meters."""
    if entry.encoded is None:
        entry.encoded = b"".join(
            (
                entry_key(table, entry),
                wire.message(3, encoding.table_action(program, entry.action)),
                priority(entry),
                remarks(entry),
                wire.number(13, entry.is_const or table.is_const),
            )
        )
    return entry.encoded


def entry_key(table: Table, entry: Entry) -> bytes:
    """A TableEntry with the table and the match only."""
    matches = zip(table.fields, entry.key, strict=True)
    return wire.number(1, table.id) + b"".join(
        wire.message(2, encoding.field_match(field.id, match))
        for field, match in matches
        if match is not None
    )


def default_entry(program: Program, table: Table, default: DefaultEntry) -> bytes:
    """The TableEntry of a table's default entry; its action is left out where nobody knows it."""
    action = default.action or table.initial_default
    return b"".join(
        (
            wire.number(1, table.id),
            wire.message(3, encoding.table_action(program, action)) if action else b"",
            wire.number(5, default.controller_metadata),
            wire.number(8, True),
            wire.text(11, default.metadata),
            wire.number(13, bool(table.const_default_action)),
        )
    )


def with_counter(data: CounterData) -> bytes:
    """A TableEntry's ``counter_data``, to be appended."""
    return wire.message(7, counter(data))


def with_last_hit(idle_ns: int) -> bytes:
    """A TableEntry's ``time_since_last_hit``, to be appended."""
    return wire.message(10, wire.number(1, idle_ns))


def with_meter(config: MeterConfig | None) -> bytes:
    """A TableEntry's ``meter_config``, to be appended; nothing for the default configuration."""
    return wire.message(6, meter(config)) if config else b""


def counter(data: CounterData) -> bytes:
    return wire.number(1, data.bytes) + wire.number(2, data.packets)


def meter(config: MeterConfig) -> bytes:
    values = (config.cir, config.cburst, config.pir, config.pburst)
    return b"".join(wire.number(1 + place, value) for place, value in enumerate(values))


def match_message(field_id: int, match: Match) -> p4runtime_pb2.FieldMatch:
    """A FieldMatch as protobuf, for the rarer messages."""
    return p4runtime_pb2.FieldMatch.FromString(encoding.field_match(field_id, match))


def call_message(program: Program, call: ActionCall) -> p4runtime_pb2.Action:
    """An Action as protobuf, for the rarer messages."""
    return p4runtime_pb2.Action.FromString(encoding.action_call(program.actions[call.action_id], call.params))
