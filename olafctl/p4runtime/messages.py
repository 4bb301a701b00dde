"""Named entities to P4Runtime messages and back, through the P4Info.

What has no name in the P4Info, or a value too wide for its field, raises ValueError with a sentence.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from olafctl.p4runtime import bytestrings, encoding, wire
from olafctl.p4runtime.dataplane import Exact, Lpm, Match, Optional, Range, Replica, Ternary
from olafctl.p4runtime.entities import CloneSession, DefaultAction, Entity, MulticastGroup, TableEntry
from olafctl.p4runtime.program import Action, MatchField, MatchKind, Program, Table


def to_update(program: Program, change: int, entity: Entity) -> bytes:
    """The ``p4.v1.Update`` of a named entity; ``change`` is its Update.Type. Raises ValueError."""
    return wire.number(1, change) + wire.message(2, _entity(program, entity))


def _entity(program: Program, entity: Entity) -> bytes:
    match entity:
        case TableEntry():
            return wire.message(2, _entry(program, entity))
        case DefaultAction():
            table = _table(program, entity.table)
            action = _call(table, entity.action, entity.params) if entity.action else b""
            return wire.message(2, wire.number(1, table.id) + action + wire.number(8, True))
        case MulticastGroup():
            group = wire.number(1, entity.group_id) + _replica_bytes(entity.replicas)
            return wire.message(9, wire.message(1, group))
        case CloneSession():
            length = wire.number(4, entity.packet_length)
            session = wire.number(1, entity.session_id) + _replica_bytes(entity.replicas) + length
            return wire.message(9, wire.message(2, session))


def from_entity(program: Program, message: Any) -> Entity:
    """The named entity of a ``p4.v1.Entity``. Raises ValueError for what has no typed form."""
    kind = message.WhichOneof("entity")
    if kind == "table_entry":
        return from_table_entry(program, message.table_entry)
    if kind == "packet_replication_engine_entry":
        engine = message.packet_replication_engine_entry
        if engine.HasField("multicast_group_entry"):
            group = engine.multicast_group_entry
            return MulticastGroup(group.multicast_group_id, _replicas(group.replicas))
        session = engine.clone_session_entry
        return CloneSession(session.session_id, _replicas(session.replicas), session.packet_length_bytes)
    raise ValueError(f"an entity of kind {kind} has no typed form")


def from_table_entry(program: Program, message: Any) -> TableEntry | DefaultAction:
    """The named entry of a ``p4.v1.TableEntry``. Raises ValueError."""
    table = program.tables.get(message.table_id)
    if table is None:
        raise ValueError(f"the switch has a table {message.table_id:#x} that the P4Info does not")
    action = ""
    params: dict[str, int] = {}
    kind = message.action.WhichOneof("type")
    if kind == "action":
        action, params = _action_from(program, message.action.action)
    elif kind == "action_profile_action_set":
        raise ValueError(f"table {table.alias}: one-shot action sets have no typed form")
    if message.is_default_action:
        return DefaultAction(table.alias, action, params)
    fields = {field.id: field for field in table.fields}
    return TableEntry(
        table.alias,
        {fields[match.field_id].name: _match_from(match) for match in message.match},
        action,
        params,
        message.priority,
        message.action.action_profile_member_id,
        message.action.action_profile_group_id,
    )


def _entry(program: Program, entry: TableEntry) -> bytes:
    table = _table(program, entry.table)
    parts = [wire.number(1, table.id)]
    for field in table.fields:
        match = entry.match.get(field.name)
        if match is not None:
            parts.append(wire.message(2, encoding.field_match(field.id, _checked(field, match))))
        elif field.kind is MatchKind.EXACT:
            raise ValueError(f"table {table.alias}: the exact key field {field.name} is missing")
    known = [field.name for field in table.fields]
    if unknown := [name for name in entry.match if name not in known]:
        raise ValueError(f"table {table.alias} has no key field {unknown[0]} (known: {', '.join(known)})")
    if entry.action:
        parts.append(_call(table, entry.action, entry.params))
    elif entry.member:
        parts.append(wire.message(3, wire.number(2, entry.member)))
    elif entry.group:
        parts.append(wire.message(3, wire.number(3, entry.group)))
    parts.append(wire.signed(4, entry.priority))
    return b"".join(parts)


def _checked(field: MatchField, match: Match | int) -> Match:
    """A match that is of the field's kind and fits its width."""
    numbers: tuple[int, ...]
    match (field.kind, match):
        case (MatchKind.EXACT, Exact(value)):
            numbers = (value,)
        case (MatchKind.OPTIONAL, Exact(value) | Optional(value)):
            numbers, match = (value,), Optional(value)
        case (MatchKind.LPM, Lpm(value, _)):
            numbers = (value,)
        case (MatchKind.TERNARY, Ternary(value, mask)):
            numbers = (value, mask)
        case (MatchKind.RANGE, Range(low, high)):
            numbers = (low, high)
        case _:
            raise ValueError(
                f"key field {field.name} is {field.kind.name.lower()}; {match} is not such a match"
            )
    for each in numbers:
        _fits(each, field.bits, f"key field {field.name}")
    assert not isinstance(match, int)
    return match


def _match_from(message: Any) -> Match:
    def number(value: bytes) -> int:
        return int.from_bytes(value, "big")

    match message.WhichOneof("field_match_type"):
        case "exact":
            return Exact(number(message.exact.value))
        case "lpm":
            return Lpm(number(message.lpm.value), message.lpm.prefix_len)
        case "ternary":
            return Ternary(number(message.ternary.value), number(message.ternary.mask))
        case "range":
            return Range(number(message.range.low), number(message.range.high))
        case "optional":
            return Optional(number(message.optional.value))
        case kind:
            raise ValueError(f"a match of kind {kind} has no typed form")


def _call(table: Table, name: str, params: Mapping[str, int]) -> bytes:
    """The TableAction field of a TableEntry."""
    action = _action(table, name)
    if len(params) != len(action.params) or any(param.name not in params for param in action.params):
        known = ", ".join(param.name for param in action.params) or "none"
        given = ", ".join(params) or "none"
        raise ValueError(f"action {action.alias} has the parameters {known}; given were {given}")
    for param in action.params:
        _fits(params[param.name], param.bits, f"parameter {param.name}")
    values = [params[param.name] for param in action.params]
    return wire.message(3, wire.message(1, encoding.action_call(action, values)))


def _action_from(program: Program, message: Any) -> tuple[str, dict[str, int]]:
    action = program.actions.get(message.action_id)
    if action is None:
        raise ValueError(f"the switch has an action {message.action_id:#x} that the P4Info does not")
    names = {param.id: param.name for param in action.params}
    return action.alias, {names[each.param_id]: int.from_bytes(each.value, "big") for each in message.params}


def _replica_bytes(replicas: Iterable[Replica]) -> bytes:
    # egress_port is the deprecated field: every server takes it, and older ones take nothing else.
    return b"".join(
        wire.message(2, wire.number(1, replica.egress_port) + wire.number(2, replica.instance))
        for replica in replicas
    )


def _replicas(message: Any) -> list[Replica]:
    return [
        Replica(
            int.from_bytes(each.port, "big") if each.WhichOneof("port_kind") == "port" else each.egress_port,
            each.instance,
        )
        for each in message
    ]


def _fits(value: int, bits: int, what: str) -> None:
    if value < 0 or value >> bits:
        raise ValueError(f"{what}: {bytestrings.shown(value)} does not fit in {bits} bits")


def _table(program: Program, name: str) -> Table:
    try:
        return program.table_named(name)
    except KeyError as error:
        raise ValueError(error.args[0]) from None


def _action(table: Table, name: str) -> Action:
    matching = [action for action in table.actions.values() if name in (action.alias, action.name)]
    if not matching:
        known = ", ".join(action.alias for action in table.actions.values()) or "none"
        raise ValueError(f"table {table.alias} has no action {name} (known: {known})")
    return matching[0]


def plain_values(data: Any) -> tuple[int, ...]:
    """The integers of a ``p4.v1.P4Data`` of bit strings, in order. Raises ValueError for other types."""
    match data.WhichOneof("data"):
        case "bitstring":
            return (int.from_bytes(data.bitstring, "big"),)
        case "bool":
            return (int(data.bool),)
        case "struct":
            return tuple(value for member in data.struct.members for value in plain_values(member))
        case "tuple":
            return tuple(value for member in data.tuple.members for value in plain_values(member))
        case kind:
            raise ValueError(f"a value of kind {kind} has no typed form")
