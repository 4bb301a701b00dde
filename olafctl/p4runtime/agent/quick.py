"""Write requests read without protobuf, when they hold what they nearly always hold: table entries.

Whatever is not a plain table entry with a direct action goes to protobuf, so there is one truth about
malformed and rare messages; both ways give the same EntryRequest, which a test holds them to.
"""

from dataclasses import dataclass
from typing import Any

from p4.v1 import p4runtime_pb2

from olafctl.p4runtime.plain import EntryRequest, entry_request
from olafctl.p4runtime.quick_entry import quick_entry
from olafctl.p4runtime.wire import Unusual, fields, message, number, singular

PlainUpdate = tuple[int, EntryRequest]
"""(Update.Type, entry)."""


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
                halves = singular(value)
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
    """Raises Unusual for anything but a plain table entry."""
    parts = fields(data)
    if len(parts) != 2 or parts[0][0] != 1 or parts[1][0] != 2:
        raise Unusual
    kind, entity = parts[0][1], parts[1][1]
    if not isinstance(kind, int) or not 1 <= kind <= 3 or not isinstance(entity, bytes):
        raise Unusual
    return kind, quick_entry(entity)
