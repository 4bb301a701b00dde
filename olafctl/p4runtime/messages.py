"""Named entities to P4Runtime messages and back, through the P4Info.

What has no name in the P4Info, or a value too wide for its field, raises ValueError with a sentence.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from p4.v1 import p4runtime_pb2

from olafctl.p4runtime import bytestrings, fast_path
from olafctl.p4runtime.dataplane import (
    CounterData,
    Exact,
    GroupRef,
    Lpm,
    Match,
    MemberRef,
    Optional,
    Range,
    Replica,
    Ternary,
)
from olafctl.p4runtime.entities import CloneSession, DefaultAction, Entity, MulticastGroup, TableEntry
from olafctl.p4runtime.plain import EntryRequest, FieldRequest, entry_request
from olafctl.p4runtime.program import Action, MatchField, MatchKind, Program, Table


def to_update(program: Program, change: int, entity: Entity) -> bytes:
    """The ``p4.v1.Update`` of a named entity; ``change`` is its Update.Type. Raises ValueError."""
    return fast_path.number(1, change) + fast_path.message(2, to_entity(program, entity))


def to_entity(program: Program, entity: Entity) -> bytes:
    """The ``p4.v1.Entity`` of a named entity. Raises ValueError."""
    match entity:
        case TableEntry():
            return fast_path.message(2, _entry(program, entity))
        case DefaultAction():
            table = _table(program, entity.table)
            action = _call(table, entity.action, entity.params) if entity.action else b""
            return fast_path.message(2, fast_path.number(1, table.id) + action + fast_path.number(8, True))
        case MulticastGroup():
            group = fast_path.number(1, entity.group_id) + _replica_bytes(entity.replicas)
            return fast_path.message(9, fast_path.message(1, group))
        case CloneSession():
            length = fast_path.number(4, entity.packet_length)
            session = fast_path.number(1, entity.session_id) + _replica_bytes(entity.replicas) + length
            return fast_path.message(9, fast_path.message(2, session))


def counted_from_entity(program: Program, entity: bytes) -> tuple[Entity, CounterData | None]:
    """The named entity of a serialised ``p4.v1.Entity``, and a table entry's direct counter if it has one.

    Raises ValueError for what has no typed form.
    """
    try:
        plain = fast_path.table_entry(entity)
    except fast_path.Unusual:
        message = p4runtime_pb2.Entity.FromString(entity)
        if message.WhichOneof("entity") != "table_entry":
            return _replication(message), None
        plain = entry_request(message.table_entry)
    return _named_entry(program, plain), plain.counter


def _replication(message: Any) -> Entity:
    engine = message.packet_replication_engine_entry
    match engine.WhichOneof("type"):
        case "multicast_group_entry":
            group = engine.multicast_group_entry
            return MulticastGroup(group.multicast_group_id, _replicas(group.replicas))
        case "clone_session_entry":
            session = engine.clone_session_entry
            return CloneSession(session.session_id, _replicas(session.replicas), session.packet_length_bytes)
        case _:
            raise ValueError(f"an entity of kind {message.WhichOneof('entity')} has no typed form")


def _named_entry(program: Program, plain: EntryRequest) -> TableEntry | DefaultAction:
    table = program.tables.get(plain.table_id)
    if table is None:
        raise ValueError(f"the switch has a table {plain.table_id:#x} that the P4Info does not")
    action, params, member, group = "", dict[str, int](), 0, 0
    match plain.action:
        case MemberRef(member_id):
            member = member_id
        case GroupRef(group_id):
            group = group_id
        case list():
            raise ValueError(f"table {table.alias}: one-shot action sets have no typed form")
        case (action_id, values):
            called = program.actions.get(action_id)
            if called is None:
                raise ValueError(f"the switch has an action {action_id:#x} that the P4Info does not")
            given = dict(values)
            action = called.alias
            params = {param.name: int.from_bytes(given[param.id], "big") for param in called.params}
    if plain.is_default:
        return DefaultAction(table.alias, action, params)
    names = {field.id: field.name for field in table.fields}
    matches = {names[each[0]]: _match_from(each) for each in plain.match}
    return TableEntry(table.alias, matches, action, params, plain.priority, member, group)


def _entry(program: Program, entry: TableEntry) -> bytes:
    table = _table(program, entry.table)
    parts = [fast_path.number(1, table.id)]
    for field in table.fields:
        match = entry.match.get(field.name)
        if match is not None:
            parts.append(fast_path.message(2, fast_path.field_match(field.id, _checked(field, match))))
        elif field.kind is MatchKind.EXACT:
            raise ValueError(f"table {table.alias}: the exact key field {field.name} is missing")
    known = [field.name for field in table.fields]
    if unknown := [name for name in entry.match if name not in known]:
        raise ValueError(f"table {table.alias} has no key field {unknown[0]} (known: {', '.join(known)})")
    if entry.action:
        parts.append(_call(table, entry.action, entry.params))
    elif entry.member:
        parts.append(fast_path.message(3, fast_path.number(2, entry.member)))
    elif entry.group:
        parts.append(fast_path.message(3, fast_path.number(3, entry.group)))
    parts.append(fast_path.signed(4, entry.priority))
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


def _match_from(request: FieldRequest) -> Match:
    _, kind, first, second = request
    value = int.from_bytes(first, "big")
    match kind:
        case MatchKind.EXACT:
            return Exact(value)
        case MatchKind.OPTIONAL:
            return Optional(value)
        case MatchKind.LPM:
            return Lpm(value, second)
        case MatchKind.TERNARY:
            return Ternary(value, int.from_bytes(second, "big"))
        case MatchKind.RANGE:
            return Range(value, int.from_bytes(second, "big"))
        case None:
            raise ValueError("a match of an unknown kind has no typed form")


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
    return fast_path.message(3, fast_path.message(1, fast_path.action_call(action, values)))


def _replica_bytes(replicas: Iterable[Replica]) -> bytes:
    # egress_port is the deprecated field: every server takes it, and older ones take nothing else.
    return b"".join(
        fast_path.message(2, fast_path.number(1, replica.egress_port) + fast_path.number(2, replica.instance))
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
