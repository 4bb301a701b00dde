"""Protocol Buffers' wire format, for the two messages that come by the thousand.

The pinned protobuf is pure Python and takes a quarter of a millisecond for a table entry. These few
functions read and write the same bytes; whoever uses them leaves everything unusual to protobuf.
"""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Unusual(Exception):
    """Bytes that are malformed, or merely not what the quick reader expects: let protobuf judge them."""


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
            if kind == BYTES:
                stop = at + size
                if stop > end:
                    raise Unusual
                found.append((tag >> 3, data[at:stop]))
                at = stop
            elif kind == VARINT:
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
    return varint(field << 3 | VARINT) + varint(value) if value else b""


def signed(field: int, value: int) -> bytes:
    """An int32 or int64 field."""
    return number(field, value & (1 << 64) - 1)


def text(field: int, value: bytes) -> bytes:
    """A bytes field; nothing for the empty string, as proto3 has it."""
    return message(field, value) if value else b""


def message(field: int, value: bytes) -> bytes:
    """A nested message, which is there even when empty."""
    return varint(field << 3 | BYTES) + varint(len(value)) + value


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
