"""Write requests read without protobuf, when they hold what they nearly always hold: table entries.

Whatever is not a plain table entry with a direct action goes to protobuf, so there is one truth about
malformed and rare messages; both ways give the same EntryRequest, which a test holds them to.
"""

from dataclasses import dataclass
from typing import Any

from p4.v1 import p4runtime_pb2

from olafctl.p4runtime.agent.requests import CallRequest, EntryRequest, FieldRequest, entry_request
from olafctl.p4runtime.dataplane import CounterData
from olafctl.p4runtime.program import MatchKind
from olafctl.p4runtime.wire import Unusual, fields, message, number

PlainUpdate = tuple[int, EntryRequest]
"""(Update.Type, entry)."""

_KINDS = {
    2: MatchKind.EXACT,
    3: MatchKind.TERNARY,
    4: MatchKind.LPM,
    6: MatchKind.RANGE,
    7: MatchKind.OPTIONAL,
}


class Malformed(Exception):
    """The bytes are not a message of the expected type."""


@dataclass(slots=True)
class WriteRequest:
    """A ``p4.v1.WriteRequest``; each update is plain or a ``p4.v1.Update``."""

    device_id: int
    role: str
    role_id: int
    election_id: int | None
    updates: list[Any]
    atomicity: int


def write_request(data: bytes) -> WriteRequest:
    """Raises Malformed."""
    try:
        return _quick(data)
    except Unusual:
        return _thorough(data)


def _quick(data: bytes) -> WriteRequest:
    request = WriteRequest(0, "", 0, None, [], 0)
    updates = request.updates
    seen = set()
    for field, value in fields(data):
        if field == 4 and isinstance(value, bytes):
            try:
                updates.append(plain_update(value))
            except Unusual:
                updates.append(_plain_or_message(parse(p4runtime_pb2.Update, value)))
            continue
        if field in seen:
            raise Unusual
        seen.add(field)
        match field, value:
            case 1, int():
                request.device_id = value
            case 2, int():
                request.role_id = value
            case 3, bytes():
                halves = _singular(value)
                high, low = halves.pop(1, 0), halves.pop(2, 0)
                if halves or not isinstance(high, int) or not isinstance(low, int):
                    raise Unusual
                request.election_id = high << 64 | low
            case 5, int():
                request.atomicity = value
            case 6, bytes() if value.isascii():
                request.role = value.decode()
            case _:
                raise Unusual
    return request


def _thorough(data: bytes) -> WriteRequest:
    request = parse(p4runtime_pb2.WriteRequest, data)
    election_id = None
    if request.HasField("election_id"):
        election_id = request.election_id.high << 64 | request.election_id.low
    updates = [_plain_or_message(each) for each in request.updates]
    return WriteRequest(
        request.device_id, request.role, request.role_id, election_id, updates, request.atomicity
    )


def _plain_or_message(update: Any) -> Any:
    if update.entity.WhichOneof("entity") == "table_entry" and 1 <= update.type <= 3:
        return update.type, entry_request(update.entity.table_entry)
    return update


def parse(kind: Any, data: bytes) -> Any:
    """A protobuf message from its bytes; whatever protobuf raises becomes Malformed."""
    try:
        return kind.FromString(data)
    except Exception as error:
        raise Malformed(f"not a {kind.DESCRIPTOR.name}: {error}") from None


def update(kind: int, entity: bytes) -> Any:
    """An update of the given type and Entity message, plain where it can be."""
    data = number(1, kind) + message(2, entity)
    try:
        return plain_update(data)
    except Unusual:
        return _plain_or_message(parse(p4runtime_pb2.Update, data))


def plain_update(data: bytes) -> PlainUpdate:
    """Raises Unusual for anything but a table entry of ids, matches, action, priority and metadata."""
    parts = fields(data)
    if len(parts) != 2 or parts[0][0] != 1 or parts[1][0] != 2:
        raise Unusual
    kind, entity = parts[0][1], _only(parts[1][1], 2)
    if not isinstance(kind, int) or not 1 <= kind <= 3:
        raise Unusual
    entry = EntryRequest(0)
    previous = 0
    for field, value in fields(entity):
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
    return kind, entry


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
    parts = _singular(data)
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


def _singular(data: bytes) -> dict[int, int | bytes]:
    parts = fields(data)
    found = dict(parts)
    if len(found) != len(parts):
        raise Unusual
    return found
