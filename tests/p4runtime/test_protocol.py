"""The bytes that the agent accepts as messages, and the classes of these messages."""

import random
import re
from importlib.metadata import requires
from typing import Any

import grpc
import pytest
from google.protobuf.internal import api_implementation

from olafswitch.p4runtime.protocol import Malformed, p4data_pb2, p4runtime_pb2, parse_message
from tests.p4runtime import messages
from tests.p4runtime.controller import SECONDS, PlainController

STRUCT, MEMBERS, DATA, REGISTER_ENTRY, ENTITY, UPDATES = 5, 1, 3, 11, 2, 4
"""The field numbers of P4Data, P4StructLike, RegisterEntry, Entity, Update and WriteRequest."""


def head(number: int, size: int) -> bytes:
    """Return the bytes before a nested message of ``size`` bytes."""
    length = bytearray()
    while size >= 0x80:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes((number << 3 | 2, *length, size))


def field(number: int, value: bytes) -> bytes:
    """Return a nested message's bytes inside another message."""
    return head(number, len(value)) + value


def nested(depth: int) -> bytes:
    """Return a P4Data of ``depth`` nested structs."""
    heads: list[bytes] = []
    size = 0
    for number in (MEMBERS, STRUCT) * depth:
        heads.append(head(number, size))
        size += len(heads[-1])
    return b"".join(reversed(heads))


def write_of(data: bytes) -> bytes:
    """Return a WriteRequest of the primary of device 1, which writes a register."""
    entity = field(REGISTER_ENTRY, b"\x08\x01" + field(DATA, data))
    return b"\x08\x01" + b"\x1a\x02\x10\x0a" + field(UPDATES, b"\x08\x02" + field(ENTITY, entity))


def test_protobuf_is_not_the_pure_python_one() -> None:
    assert api_implementation.Type() == "upb"


def test_protobuf_has_no_bound_above() -> None:
    needed = [each for each in requires("olafswitch") or () if "extra ==" not in each]
    (protobuf,) = (each for each in needed if re.match(r"protobuf\b", each))
    assert not re.search("<|==|~=", protobuf), protobuf
    assert not any("p4runtime-shell" in each for each in needed)


def test_nesting_has_a_limit() -> None:
    data = parse_message(p4data_pb2.P4Data, nested(20))
    for _ in range(20):
        (data,) = data.struct.members
    with pytest.raises(Malformed, match="not a P4Data"):
        parse_message(p4data_pb2.P4Data, nested(100))


@pytest.mark.parametrize("depth", [200, 10_000, 500_000])
def test_deeply_nested_messages_are_refused(primary: PlainController, depth: int) -> None:
    """The nesting is of values, or of groups, which no message here has."""
    groups = b"\x7b" * depth + b"\x7c" * depth
    reads = b"\x08\x01" + field(2, field(REGISTER_ENTRY, field(DATA, nested(depth))))
    for method, data in (
        ("Write", write_of(nested(depth))),
        ("Write", groups),
        ("Read", reads),
        ("Read", groups),
        ("SetForwardingPipelineConfig", groups),
        ("GetForwardingPipelineConfig", groups),
    ):
        kind = primary.channel.unary_stream if method == "Read" else primary.channel.unary_unary
        with pytest.raises(grpc.RpcError) as refused:
            answer: Any = kind(f"/p4.v1.P4Runtime/{method}")(data, timeout=SECONDS)
            list(answer)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "not a " in refused.value.details()
    assert primary.insert(messages.ENTRY) == ["OK"]


def test_a_shallow_one_is_not(primary: PlainController) -> None:
    call = primary.channel.unary_unary("/p4.v1.P4Runtime/Write")
    with pytest.raises(grpc.RpcError) as refused:
        call(write_of(nested(2)), timeout=SECONDS)
    assert refused.value.code() is grpc.StatusCode.UNKNOWN  # it was read: this device has no such register


def test_damaged_messages_parse_or_are_malformed() -> None:
    rng, broken = random.Random(3), 0
    for _ in range(300):
        data = messages.damage_bytes(rng, messages.write_request(rng, 10))
        try:
            parse_message(p4runtime_pb2.WriteRequest, data)
        except Malformed:
            broken += 1
    assert 0 < broken < 300
