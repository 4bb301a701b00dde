"""Table entries as the bytes of ``p4.v1.Entity``: what wildcard reads send by the thousand."""

from p4.v1 import p4runtime_pb2

from olafctl.p4runtime import wire
from olafctl.p4runtime.agent.entries import DefaultEntry, Entry
from olafctl.p4runtime.bytestrings import encode
from olafctl.p4runtime.dataplane import (
    ActionCall,
    ActionSpec,
    CounterData,
    Exact,
    GroupRef,
    Lpm,
    Match,
    MemberRef,
    MeterConfig,
    Optional,
    Range,
    Ternary,
)
from olafctl.p4runtime.program import Program, Table

_TABLE_ENTRY = 2  # in Entity; the numbers below are those of p4runtime.proto
_OPERANDS = {Exact: 2, Ternary: 3, Lpm: 4, Range: 6, Optional: 7}


def priority(entry: Entry) -> bytes:
    """A TableEntry's ``priority``, to be appended."""
    return wire.number(4, entry.priority)


def entity(entry: bytes) -> bytes:
    """The Entity of a TableEntry message."""
    return wire.message(_TABLE_ENTRY, entry)


def table_entry(program: Program, table: Table, entry: Entry) -> bytes:
    """The TableEntry of an entry, without counters and meters."""
    if entry.encoded is None:
        entry.encoded = b"".join(
            (
                entry_key(table, entry),
                wire.message(3, _action(program, entry.action)),
                priority(entry),
                wire.number(5, entry.controller_metadata),
                wire.text(11, entry.metadata),
                wire.number(13, entry.is_const or table.is_const),
            )
        )
    return entry.encoded


def entry_key(table: Table, entry: Entry) -> bytes:
    """A TableEntry with the table and the match only."""
    matches = zip(table.fields, entry.key, strict=True)
    return wire.number(1, table.id) + b"".join(
        wire.message(2, wire.number(1, field.id) + _match(match))
        for field, match in matches
        if match is not None
    )


def default_entry(program: Program, table: Table, default: DefaultEntry) -> bytes:
    """The TableEntry of a table's default entry; its action is left out where nobody knows it."""
    action = default.action or table.initial_default
    return b"".join(
        (
            wire.number(1, table.id),
            wire.message(3, _action(program, action)) if action else b"",
            wire.number(5, default.controller_metadata),
            wire.number(8, True),
            wire.text(11, default.metadata),
            wire.number(13, bool(table.const_default_action)),
        )
    )


def with_counter(data: CounterData) -> bytes:
    """A TableEntry's ``counter_data``, to be appended."""
    return wire.message(7, counter(data))


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
    return p4runtime_pb2.FieldMatch.FromString(wire.number(1, field_id) + _match(match))


def call_message(program: Program, call: ActionCall) -> p4runtime_pb2.Action:
    """An Action as protobuf, for the rarer messages."""
    return p4runtime_pb2.Action.FromString(_call(program, call))


def _match(match: Match) -> bytes:
    assert match is not None
    if isinstance(match, Exact | Optional):
        operands = wire.message(1, encode(match.value))
    elif isinstance(match, Lpm):
        operands = wire.message(1, encode(match.value)) + wire.number(2, match.prefix_len)
    elif isinstance(match, Ternary):
        operands = wire.message(1, encode(match.value)) + wire.message(2, encode(match.mask))
    else:
        operands = wire.message(1, encode(match.low)) + wire.message(2, encode(match.high))
    return wire.message(_OPERANDS[type(match)], operands)


def _action(program: Program, action: ActionSpec) -> bytes:
    if isinstance(action, ActionCall):
        return wire.message(1, _call(program, action))
    if isinstance(action, MemberRef):
        return wire.number(2, action.member_id)
    if isinstance(action, GroupRef):
        return wire.number(3, action.group_id)
    actions = (
        wire.message(1, wire.message(1, _call(program, each.action)) + wire.number(2, each.weight))
        for each in action
    )
    return wire.message(4, b"".join(actions))


def _call(program: Program, call: ActionCall) -> bytes:
    params = zip(program.actions[call.action_id].params, call.params, strict=True)
    return wire.number(1, call.action_id) + b"".join(
        wire.message(4, wire.number(2, param.id) + wire.message(3, encode(value))) for param, value in params
    )
