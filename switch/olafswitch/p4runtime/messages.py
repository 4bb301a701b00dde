"""Convert named entities to P4Runtime messages and back, through the P4Info.

A name that the P4Info does not have, or a value too wide for its field, raises ValueError with a sentence.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from olafswitch.p4runtime import bytestrings, values
from olafswitch.p4runtime import dataplane as dp
from olafswitch.p4runtime.entities import CloneSession, DefaultAction, Entity, MulticastGroup, TableEntry
from olafswitch.p4runtime.plain import EntryRequest, FieldRequest, entry_request
from olafswitch.p4runtime.program import ActionInfo, MatchField, MatchKind, ProgramInfo, TableInfo


def put_entity(message: Any, program: ProgramInfo, entity: Entity) -> None:
    """Fill a ``p4.v1.Entity`` with a named entity. Raises ValueError."""
    match entity:
        case TableEntry():
            _put_entry(message.table_entry, program, entity)
        case DefaultAction():
            table = _find_table(program, entity.table)
            message.table_entry.table_id = table.id
            message.table_entry.is_default_action = True
            if entity.action:
                _put_call(message.table_entry, table, entity.action, entity.params)
        case MulticastGroup():
            group = message.packet_replication_engine_entry.multicast_group_entry
            group.multicast_group_id = entity.group_id
            _put_replicas(group, entity.replicas)
        case CloneSession():
            session = message.packet_replication_engine_entry.clone_session_entry
            session.session_id = entity.session_id
            session.packet_length_bytes = entity.packet_length
            _put_replicas(session, entity.replicas)


def counted_from_entity(program: ProgramInfo, entity: Any) -> tuple[Entity, dp.CounterData | None]:
    """Return the named entity of a ``p4.v1.Entity``, and a table entry's direct counter if it has one.

    Raises ValueError for what has no typed form.
    """
    if entity.WhichOneof("entity") != "table_entry":
        return _read_replication(entity), None
    plain = entry_request(entity.table_entry)
    return _named_entry(program, plain), plain.counter


def _read_replication(message: Any) -> Entity:
    engine = message.packet_replication_engine_entry
    match engine.WhichOneof("type"):
        case "multicast_group_entry":
            group = engine.multicast_group_entry
            return MulticastGroup(group.multicast_group_id, _read_replicas(group.replicas))
        case "clone_session_entry":
            session = engine.clone_session_entry
            return CloneSession(
                session.session_id, _read_replicas(session.replicas), session.packet_length_bytes
            )
        case _:
            raise ValueError(f"an entity of kind {message.WhichOneof('entity')} has no typed form")


def _named_entry(program: ProgramInfo, plain: EntryRequest) -> TableEntry | DefaultAction:
    table = program.tables.get(plain.table_id)
    if table is None:
        raise ValueError(f"the switch has a table {plain.table_id:#x} that the P4Info does not")
    action, params, member, group = "", dict[str, int](), 0, 0
    match plain.action:
        case dp.MemberRef(member_id):
            member = member_id
        case dp.GroupRef(group_id):
            group = group_id
        case list():
            raise ValueError(f"table {table.alias}: one-shot action sets have no typed form")
        case (action_id, sent):
            called = program.actions.get(action_id)
            if called is None:
                raise ValueError(f"the switch has an action {action_id:#x} that the P4Info does not")
            given = dict(sent)
            action = called.alias
            params = {param.name: int.from_bytes(given[param.id], "big") for param in called.params}
    if plain.is_default:
        return DefaultAction(table.alias, action, params)
    names = {field.id: field.name for field in table.fields}
    matches = {names[each[0]]: read_match(each) for each in plain.match}
    return TableEntry(table.alias, matches, action, params, plain.priority, member, group)


def _put_entry(message: Any, program: ProgramInfo, entry: TableEntry) -> None:
    table = _find_table(program, entry.table)
    message.table_id = table.id
    for field in table.fields:
        match = entry.match.get(field.name)
        if match is not None:
            values.put_match(message.match.add(), field.id, check_match(field, match))
        elif field.kind is MatchKind.EXACT:
            raise ValueError(f"table {table.alias}: the exact key field {field.name} is missing")
    known = [field.name for field in table.fields]
    if unknown := [name for name in entry.match if name not in known]:
        raise ValueError(f"table {table.alias} has no key field {unknown[0]} (known: {', '.join(known)})")
    if entry.action:
        _put_call(message, table, entry.action, entry.params)
    elif entry.member:
        message.action.action_profile_member_id = entry.member
    elif entry.group:
        message.action.action_profile_group_id = entry.group
    message.priority = entry.priority


def check_match(field: MatchField, match: dp.Match | int) -> dp.Match:
    """Return a match that is of the field's kind and fits its width. Raises ValueError otherwise."""
    if field.kind is MatchKind.OPTIONAL and isinstance(match, dp.Exact):
        match = dp.Optional(match.value)
    if isinstance(match, int) or not isinstance(match, field.kind.match):
        raise ValueError(f"key field {field.name} is {field.kind.name.lower()}; {match} is not such a match")
    for each in (match.value,) if isinstance(match, dp.Lpm) else vars(match).values():
        check_width(each, field.bits, f"key field {field.name}")
    if isinstance(match, dp.Lpm) and not 0 <= match.prefix_len <= field.bits:
        what = f"a prefix of {match.prefix_len} bits, of {field.bits}"
        raise ValueError(f"key field {field.name}: {what}")
    return match


def read_match(request: FieldRequest) -> dp.Match:
    _, kind, first, second = request
    if kind is None:
        raise ValueError("a match of an unknown kind has no typed form")
    operands = [int.from_bytes(first, "big")]
    if second is not None:
        operands.append(second if kind is MatchKind.LPM else int.from_bytes(second, "big"))
    match: dp.Match = kind.match(*operands)
    return match


def _put_call(message: Any, table: TableInfo, name: str, params: Mapping[str, int]) -> None:
    """Set the action that a TableEntry calls."""
    action = find_action(table, name)
    values.put_call(message.action.action, action, check_params(action, params))


def check_params(action: ActionInfo, params: Mapping[str, int]) -> list[int]:
    """Return an action's parameters in the P4Info's order.

    Raises ValueError where one is missing, unknown or does not fit its width.
    """
    if len(params) != len(action.params) or any(param.name not in params for param in action.params):
        known = ", ".join(param.name for param in action.params) or "none"
        given = ", ".join(params) or "none"
        raise ValueError(f"action {action.alias} has the parameters {known}; given were {given}")
    for param in action.params:
        check_width(params[param.name], param.bits, f"parameter {param.name}")
    return [params[param.name] for param in action.params]


def _put_replicas(message: Any, replicas: Iterable[dp.Replica]) -> None:
    # egress_port is the deprecated field: every server takes it, and older servers take nothing else.
    for replica in replicas:
        message.replicas.add(egress_port=replica.egress_port, instance=replica.instance)


def _read_replicas(message: Any) -> list[dp.Replica]:
    return [
        dp.Replica(
            int.from_bytes(each.port, "big") if each.WhichOneof("port_kind") == "port" else each.egress_port,
            each.instance,
        )
        for each in message
    ]


def check_width(value: int, bits: int, what: str) -> None:
    """Raise ValueError where ``value`` is negative or has more than ``bits`` bits."""
    if value < 0 or value >> bits:
        raise ValueError(f"{what}: {bytestrings.show_value(value)} does not fit in {bits} bits")


def _find_table(program: ProgramInfo, name: str) -> TableInfo:
    try:
        return program.table_named(name)
    except KeyError as error:
        raise ValueError(error.args[0]) from None


def find_action(table: TableInfo, name: str) -> ActionInfo:
    """Return the action of ``table`` by its full name, its alias or its last part. Raises ValueError."""
    matching = [action for action in table.actions.values() if name in (action.alias, action.name)]
    matching = matching or [action for action in table.actions.values() if action.name.endswith(f".{name}")]
    if len(matching) != 1:
        known = ", ".join(action.alias for action in table.actions.values()) or "none"
        raise ValueError(f"table {table.alias} has no action {name} (known: {known})")
    return matching[0]


def plain_values(data: Any) -> tuple[int, ...]:
    """Return the integers of a ``p4.v1.P4Data`` of bit strings, in order. Raises ValueError for others."""
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
