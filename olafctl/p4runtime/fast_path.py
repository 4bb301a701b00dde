"""The protobuf fast path: p4runtime-shell pins protobuf 3.20, which takes 0.25 ms for each table entry.

That version runs in pure Python, and table entries are read and written by the thousand, so this file
reads and writes their bytes directly. It decodes only what a plain table entry holds; all other messages,
malformed ones too, go to protobuf. Both ways give the same :class:`~olafctl.p4runtime.plain.EntryRequest`:
``tests/p4runtime/test_fast_path.py`` compares them on random and damaged messages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from p4.v1 import p4runtime_pb2

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
    Optional,
    Range,
    Ternary,
)
from olafctl.p4runtime.plain import CallRequest, EntryRequest, FieldRequest, entry_request
from olafctl.p4runtime.program import Action, MatchKind, Program

_VARINT, _BYTES = 0, 2
_KINDS = {
    2: MatchKind.EXACT,
    3: MatchKind.TERNARY,
    4: MatchKind.LPM,
    6: MatchKind.RANGE,
    7: MatchKind.OPTIONAL,
}
_OPERANDS = {Exact: 2, Ternary: 3, Lpm: 4, Range: 6, Optional: 7}  # as numbered in FieldMatch
_SMALL = 1 << 16  # bytes that protobuf may decode before it is known whether the sender is primary

PlainUpdate = tuple[int, EntryRequest]
"""(Update.Type, entry)."""


class Unusual(Exception):
    """Bytes that are malformed, or that this file does not decode: protobuf decides."""


class Malformed(Exception):
    """The bytes are not a message of the expected type."""


@dataclass(slots=True)
class Request:
    """The outermost fields of a ``p4.v1.WriteRequest`` or ``p4.v1.SetForwardingPipelineConfigRequest``."""

    device_id: int
    role: str
    role_id: int
    election_id: int | None
    updates: list[bytes]
    """Of a WriteRequest: its ``p4.v1.Update`` messages, not decoded yet."""
    atomicity: int
    """Of a WriteRequest."""


# Requests


def request(kind: Any, data: bytes) -> Request:
    """The outermost fields of a message of ``kind``, at little cost: the sender may not be primary.

    Raises Malformed.
    """
    try:
        return _outermost(data)
    except Unusual:
        if len(data) > _SMALL:
            raise Malformed(f"not a {kind.DESCRIPTOR.name} that this device reads") from None
        return _thorough(parse(kind, data))


def update(data: bytes) -> Any:
    """A ``p4.v1.Update``: a PlainUpdate if it is a table entry of a known type. Raises Malformed."""
    try:
        return plain_update(data)
    except Unusual:
        return _plain_or_message(parse(p4runtime_pb2.Update, data))


def update_of(kind: int, entity: bytes) -> Any:
    """As :func:`update`, of the given Update.Type and serialised ``p4.v1.Entity``."""
    return update(number(1, kind) + message(2, entity))


def count(data: bytes, field: int) -> int:
    """How many values a message has for a repeated field. Raises Malformed."""
    try:
        return sum(each == field for each, _ in fields(data))
    except Unusual:
        if len(data) > _SMALL:
            raise Malformed("not a message that this device reads") from None
        return 0


def parse(kind: Any, data: bytes) -> Any:
    """A protobuf message from its bytes; whatever protobuf raises becomes Malformed."""
    try:
        return kind.FromString(data)
    except Exception as error:
        raise Malformed(f"not a {kind.DESCRIPTOR.name}: {error}") from None


def _outermost(data: bytes) -> Request:
    found = Request(0, "", 0, None, [], 0)
    updates = found.updates
    seen = set()
    for field, value in fields(data):
        if field == 4 and isinstance(value, bytes):
            updates.append(value)
            continue
        if field in seen:
            raise Unusual
        seen.add(field)
        match field, value:
            case 1, int():
                found.device_id = value
            case 2, int():
                found.role_id = value
            case 3, bytes():
                halves = singular(value)
                high, low = halves.pop(1, 0), halves.pop(2, 0)
                if halves or not isinstance(high, int) or not isinstance(low, int):
                    raise Unusual
                found.election_id = high << 64 | low
            case 4, int():
                pass  # a SetForwardingPipelineConfigRequest's action
            case 5, int():
                found.atomicity = value
            case 5, bytes():
                pass  # a SetForwardingPipelineConfigRequest's config
            case 6, bytes() if value.isascii():
                found.role = value.decode()
            case _:
                raise Unusual
    return found


def _thorough(message: Any) -> Request:
    election_id = None
    if message.HasField("election_id"):
        election_id = message.election_id.high << 64 | message.election_id.low
    updates, atomicity = [], 0
    if isinstance(message, p4runtime_pb2.WriteRequest):
        updates = [each.SerializeToString() for each in message.updates]
        atomicity = message.atomicity
    return Request(message.device_id, message.role, message.role_id, election_id, updates, atomicity)


def _plain_or_message(update: Any) -> Any:
    if update.entity.WhichOneof("entity") == "table_entry" and 1 <= update.type <= 3:
        return update.type, entry_request(update.entity.table_entry)
    return update


def plain_update(data: bytes) -> PlainUpdate:
    """Raises Unusual for anything but a plain table entry."""
    parts = fields(data)
    if len(parts) != 2 or parts[0][0] != 1 or parts[1][0] != 2:
        raise Unusual
    kind, entity = parts[0][1], parts[1][1]
    if not isinstance(kind, int) or not 1 <= kind <= 3 or not isinstance(entity, bytes):
        raise Unusual
    return kind, table_entry(entity)


# Table entries


def table_entry(entity: bytes) -> EntryRequest:
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


def field_match(field_id: int, match: Match) -> bytes:
    """A FieldMatch; ``match`` is not None, which is expressed by leaving the field out."""
    assert match is not None
    if isinstance(match, Exact | Optional):
        operands = message(1, encode(match.value))
    elif isinstance(match, Lpm):
        operands = message(1, encode(match.value)) + number(2, match.prefix_len)
    elif isinstance(match, Ternary):
        operands = message(1, encode(match.value)) + message(2, encode(match.mask))
    else:
        operands = message(1, encode(match.low)) + message(2, encode(match.high))
    return number(1, field_id) + message(_OPERANDS[type(match)], operands)


def action_call(action: Action, values: Sequence[int]) -> bytes:
    """An Action with its parameters' values, in the P4Info's order."""
    return number(1, action.id) + b"".join(
        message(4, number(2, param.id) + message(3, encode(value)))
        for param, value in zip(action.params, values, strict=True)
    )


def table_action(program: Program, action: ActionSpec) -> bytes:
    """A TableAction."""
    if isinstance(action, ActionCall):
        known = program.actions.get(action.action_id)  # of a @hidden action only the id is known
        return message(1, action_call(known, action.params) if known else number(1, action.action_id))
    if isinstance(action, MemberRef):
        return number(2, action.member_id)
    if isinstance(action, GroupRef):
        return number(3, action.group_id)
    actions = (
        message(
            1,
            message(1, action_call(program.actions[each.action.action_id], each.action.params))
            + number(2, each.weight),
        )
        for each in action
    )
    return message(4, b"".join(actions))


# Protocol Buffers' wire format


def fields(data: bytes) -> list[tuple[int, int | bytes]]:
    """(field number, value) of a message, in order; nested messages as bytes. Raises Unusual."""
    found: list[tuple[int, int | bytes]] = []
    at, end = 0, len(data)
    try:
        while at < end:
            tag = data[at]
            at += 1
            if tag & 0x80:
                tag, at = _more(data, at, tag)
            size = data[at]
            at += 1
            if size & 0x80:
                size, at = _more(data, at, size)
            kind = tag & 7
            if kind == _BYTES:
                stop = at + size
                if stop > end:
                    raise Unusual
                found.append((tag >> 3, data[at:stop]))
                at = stop
            elif kind == _VARINT:
                found.append((tag >> 3, size))
            else:
                raise Unusual
    except IndexError:
        raise Unusual from None
    return found


def singular(data: bytes) -> dict[int, int | bytes]:
    """The fields of a message that has each at most once. Raises Unusual."""
    parts = fields(data)
    found = dict(parts)
    if len(found) != len(parts):
        raise Unusual
    return found


def varint(value: int) -> bytes:
    """An unsigned integer in base 128, least significant first."""
    if value < 0x80:
        return bytes((value,))
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def number(field: int, value: int) -> bytes:
    """An unsigned scalar field; nothing for 0, as proto3 has it."""
    return varint(field << 3 | _VARINT) + varint(value) if value else b""


def signed(field: int, value: int) -> bytes:
    """An int32 or int64 field."""
    return number(field, value & (1 << 64) - 1)


def text(field: int, value: bytes) -> bytes:
    """A bytes field; nothing for the empty string, as proto3 has it."""
    return message(field, value) if value else b""


def message(field: int, value: bytes) -> bytes:
    """A nested message, which is there even when empty."""
    return varint(field << 3 | _BYTES) + varint(len(value)) + value


def _more(data: bytes, at: int, value: int) -> tuple[int, int]:
    """A varint that goes on at ``at`` after its first byte, and where it ends."""
    value &= 0x7F
    shift = 7
    while True:
        part = data[at]
        at += 1
        value |= (part & 0x7F) << shift
        if part < 0x80:
            if value >> 64:
                raise Unusual
            return value, at
        shift += 7
        if shift > 63:
            raise Unusual
