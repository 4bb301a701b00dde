"""Named entities to P4Runtime messages and back, through the P4Info.

What has no name in the P4Info, or a value too wide for its field, raises ValueError with a sentence.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from p4.v1 import p4runtime_pb2

from olafctl.p4runtime import bytestrings
from olafctl.p4runtime.dataplane import Exact, Lpm, Match, Optional, Range, Replica, Ternary
from olafctl.p4runtime.entities import CloneSession, DefaultAction, Entity, MulticastGroup, TableEntry
from olafctl.p4runtime.program import Action, MatchField, MatchKind, Program, Table


def to_entity(program: Program, entity: Entity) -> Any:
    """The ``p4.v1.Entity`` of a named entity. Raises ValueError."""
    message = p4runtime_pb2.Entity()
    match entity:
        case TableEntry():
            _put_entry(program, entity, message.table_entry)
        case DefaultAction():
            table = _table(program, entity.table)
            message.table_entry.table_id = table.id
            message.table_entry.is_default_action = True
            if entity.action:
                _put_action(table, entity.action, entity.params, message.table_entry.action.action)
        case MulticastGroup():
            group = message.packet_replication_engine_entry.multicast_group_entry
            group.multicast_group_id = entity.group_id
            _put_replicas(entity.replicas, group.replicas)
        case CloneSession():
            session = message.packet_replication_engine_entry.clone_session_entry
            session.session_id = entity.session_id
            session.packet_length_bytes = entity.packet_length
            _put_replicas(entity.replicas, session.replicas)
    return message


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


def _put_entry(program: Program, entry: TableEntry, message: Any) -> None:
    table = _table(program, entry.table)
    message.table_id = table.id
    message.priority = entry.priority
    left = dict(entry.match)
    for field in table.fields:
        match = left.pop(field.name, None)
        if match is not None:
            _put_match(field, match, message.match.add())
        elif field.kind is MatchKind.EXACT:
            raise ValueError(f"table {table.alias}: the exact key field {field.name} is missing")
    if left:
        known = ", ".join(field.name for field in table.fields)
        raise ValueError(f"table {table.alias} has no key field {', '.join(left)} (known: {known})")
    if entry.action:
        _put_action(table, entry.action, entry.params, message.action.action)
    elif entry.member:
        message.action.action_profile_member_id = entry.member
    elif entry.group:
        message.action.action_profile_group_id = entry.group


def _put_match(field: MatchField, match: Match | int, message: Any) -> None:
    message.field_id = field.id
    match (field.kind, match):
        case (MatchKind.EXACT, Exact(value)):
            message.exact.value = _bytes(value, field.bits, field.name)
        case (MatchKind.OPTIONAL, Exact(value) | Optional(value)):
            message.optional.value = _bytes(value, field.bits, field.name)
        case (MatchKind.LPM, Lpm(value, prefix_len)):
            message.lpm.value = _bytes(value, field.bits, field.name)
            message.lpm.prefix_len = prefix_len
        case (MatchKind.TERNARY, Ternary(value, mask)):
            message.ternary.value = _bytes(value, field.bits, field.name)
            message.ternary.mask = _bytes(mask, field.bits, field.name)
        case (MatchKind.RANGE, Range(low, high)):
            message.range.low = _bytes(low, field.bits, field.name)
            message.range.high = _bytes(high, field.bits, field.name)
        case _:
            raise ValueError(
                f"key field {field.name} is {field.kind.name.lower()}; {match} is not such a match"
            )


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


def _put_action(table: Table, name: str, params: Mapping[str, int], message: Any) -> None:
    action = _action(table, name)
    missing = {param.name for param in action.params} ^ set(params)
    if missing:
        known = ", ".join(param.name for param in action.params) or "none"
        raise ValueError(
            f"action {action.alias}: {', '.join(sorted(missing))} missing or unknown (it has: {known})"
        )
    message.action_id = action.id
    for param in action.params:
        message.params.add(param_id=param.id, value=_bytes(params[param.name], param.bits, param.name))


def _action_from(program: Program, message: Any) -> tuple[str, dict[str, int]]:
    action = program.actions.get(message.action_id)
    if action is None:
        raise ValueError(f"the switch has an action {message.action_id:#x} that the P4Info does not")
    names = {param.id: param.name for param in action.params}
    return action.alias, {names[each.param_id]: int.from_bytes(each.value, "big") for each in message.params}


def _put_replicas(replicas: Iterable[Replica], message: Any) -> None:
    for replica in replicas:
        # The deprecated field: every server up to 1.5 takes it, and older ones take nothing else.
        message.add(egress_port=replica.egress_port, instance=replica.instance)


def _replicas(message: Any) -> list[Replica]:
    return [
        Replica(
            int.from_bytes(each.port, "big") if each.WhichOneof("port_kind") == "port" else each.egress_port,
            each.instance,
        )
        for each in message
    ]


def _bytes(value: int, bits: int, what: str) -> bytes:
    if value < 0 or value >> bits:
        raise ValueError(f"{what}: {bytestrings.shown(value)} does not fit in {bits} bits")
    return bytestrings.encode(value)


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
