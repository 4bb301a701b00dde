"""Table entries read without protobuf: for the agent's writes and the session's reads."""

from olafctl.p4runtime.dataplane import CounterData
from olafctl.p4runtime.plain import CallRequest, EntryRequest, FieldRequest
from olafctl.p4runtime.program import MatchKind
from olafctl.p4runtime.wire import Unusual, fields, singular

_KINDS = {
    2: MatchKind.EXACT,
    3: MatchKind.TERNARY,
    4: MatchKind.LPM,
    6: MatchKind.RANGE,
    7: MatchKind.OPTIONAL,
}


def quick_entry(entity: bytes) -> EntryRequest:
    """The table entry of a serialised ``p4.v1.Entity``.

    Raises Unusual for anything but a table entry of ids, matches, direct action, priority, counter and
    metadata.
    """
    entry = EntryRequest(0)
    previous = 0
    for field, value in fields(_only(entity, 2)):
        if field <= previous and field != 2:
            raise Unusual
        previous = field
        if field == 2 and isinstance(value, bytes):
            entry.match.append(_match(value))
        elif field == 1 and isinstance(value, int) and value < 1 << 32:
            entry.table_id = value
        elif field == 3 and isinstance(value, bytes):
            entry.action = _call(_only(value, 1))
        elif field == 4 and isinstance(value, int) and value < 1 << 31:
            entry.priority = value
        elif field == 7 and isinstance(value, bytes):
            entry.counter = _counter(value)
        elif field == 11 and isinstance(value, bytes):
            entry.metadata = value
        else:
            raise Unusual
    return entry


def _match(data: bytes) -> FieldRequest:
    parts = fields(data)
    if len(parts) != 2 or parts[0][0] != 1:
        raise Unusual
    field_id, (kind_number, operands) = parts[0][1], parts[1]
    kind = _KINDS.get(kind_number)
    if kind is None or not isinstance(operands, bytes) or not isinstance(field_id, int) or field_id >> 32:
        raise Unusual
    if kind is MatchKind.EXACT or kind is MatchKind.OPTIONAL:
        return field_id, kind, _only(operands, 1), None
    given = fields(operands)
    if len(given) != 2 or given[0][0] != 1 or given[1][0] != 2:
        raise Unusual
    first, second = given[0][1], given[1][1]
    wanted = int if kind is MatchKind.LPM else bytes
    if not isinstance(first, bytes) or not isinstance(second, wanted):
        raise Unusual
    if isinstance(second, int) and second >> 31:
        raise Unusual
    return field_id, kind, first, second


def _call(data: bytes) -> CallRequest:
    action_id = 0
    params: list[tuple[int, bytes]] = []
    for field, value in fields(data):
        if field == 4 and isinstance(value, bytes):
            param = fields(value)
            if len(param) != 2 or param[0][0] != 2 or param[1][0] != 3:
                raise Unusual
            param_id, string = param[0][1], param[1][1]
            if not isinstance(param_id, int) or param_id >> 32 or not isinstance(string, bytes):
                raise Unusual
            params.append((param_id, string))
        elif field == 1 and isinstance(value, int) and value < 1 << 32 and not action_id:
            action_id = value
        else:
            raise Unusual
    return action_id, params


def _counter(data: bytes) -> CounterData:
    parts = singular(data)
    size, packets = parts.pop(1, 0), parts.pop(2, 0)
    if parts or not isinstance(size, int) or not isinstance(packets, int) or (size | packets) >> 63:
        raise Unusual
    return CounterData(packets, size)


def _only(data: int | bytes, number: int) -> bytes:
    """The one field, nested or bytes, of a message that has nothing else."""
    if not isinstance(data, bytes):
        raise Unusual
    parts = fields(data)
    if len(parts) != 1 or parts[0][0] != number or not isinstance(parts[0][1], bytes):
        raise Unusual
    return parts[0][1]
