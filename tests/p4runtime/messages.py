"""Random P4Runtime requests, half of them valid: for the fast path and for fuzzing."""

import random
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from olafswitch.p4runtime.protocol import p4runtime_pb2
from tests.p4runtime.controller import parse_entity, parse_update

ENTRY = r"""table_entry { table_id: 0x02000001
    match { field_id: 1 exact { value: "\x0a" } } match { field_id: 2 exact { value: "\x01" } }
    action { action { action_id: 0x01000001
        params { param_id: 1 value: "\x02" } params { param_id: 2 value: "\x03" } } } }"""
NOTHING = "action { action { action_id: 0x01000002 } }"
TERNARY = r"""table_id: 0x02000003 priority: 7
    match { field_id: 1 ternary { value: "\x01\x20" mask: "\x0f\xf0" } }
    match { field_id: 2 range { low: "\x05" high: "\x01\x00" } }
    match { field_id: 3 optional { value: "a" } }"""
LPM = r'table_id: 0x02000002 match { field_id: 1 lpm { value: "\x0a\x00\x00\x00" prefix_len: 8 } }'
_ENTITIES = (
    ENTRY,
    ENTRY.replace("action {", 'metadata: "m" counter_data { packet_count: 3 } action {', 1),
    f"table_entry {{ {TERNARY} {NOTHING} }}",
    f"table_entry {{ {LPM} {NOTHING} }}",
    f"table_entry {{ table_id: 0x02000003 is_default_action: true {NOTHING} }}",
    "table_entry { table_id: 0x02000001 }",
    "action_profile_member { action_profile_id: 0x11000001 member_id: 1 action { action_id: 0x01000001 } }",
    "action_profile_group { action_profile_id: 0x11000001 group_id: 1 members { member_id: 1 weight: 1 } }",
    "counter_entry { counter_id: 0x12000001 index { index: 2 } data { packet_count: 3 } }",
    "meter_entry { meter_id: 0x14000001 index { index: 1 } config { cir: 1 pir: 1 } }",
    r'register_entry { register_id: 0x16000001 index { index: 3 } data { bitstring: "\x01" } }',
    "direct_counter_entry { table_entry { table_id: 0x02000001 } }",
    "direct_meter_entry { table_entry { table_id: 0x02000001 } config { } }",
    """packet_replication_engine_entry {
        multicast_group_entry { multicast_group_id: 1 replicas { egress_port: 1 } } }""",
    """packet_replication_engine_entry {
        clone_session_entry { session_id: 1 replicas { egress_port: 1 } } }""",
    """value_set_entry { value_set_id: 0x03000001
        members { match { field_id: 1 exact { value: "a" } } } }""",
    "digest_entry { digest_id: 0x17000001 config { max_list_size: 1 } }",
    "extern_entry { extern_type_id: 129 }",
)
_SEEDS = [(change, text) for change in ("INSERT", "MODIFY", "DELETE") for text in _ENTITIES]
_NUMBERS = (0, 1, 2, 7, 127, 128, 255, 256, 65535, 65536, (1 << 31) - 1)
_IDS = (0x02000001, 0x02000003, 0x02000005, 0x01000001, 0x11000001, 0x12000001)


def write_request(rng: random.Random, election_id: int) -> bytes:
    """Return a WriteRequest of a few updates, some of them changed at random."""
    request = p4runtime_pb2.WriteRequest(device_id=1)
    request.election_id.low = election_id
    for _ in range(rng.randint(1, 4)):
        change = parse_update(*rng.choice(_SEEDS))
        if rng.random() < 0.7:
            scramble_message(rng, change)
        request.updates.append(change)
    if rng.random() < 0.1:
        request.atomicity = rng.randint(0, 3)
    return bytes(request.SerializeToString())


def read_request(rng: random.Random) -> bytes:
    request = p4runtime_pb2.ReadRequest(device_id=1)
    for _ in range(rng.randint(1, 3)):
        query = parse_entity(rng.choice(_SEEDS)[1])
        scramble_message(rng, query)
        request.entities.append(query)
    return bytes(request.SerializeToString())


def stream_request(rng: random.Random) -> bytes:
    request = p4runtime_pb2.StreamMessageRequest()
    kind = rng.randint(0, 3)
    if kind == 0:
        request.packet.payload = rng.randbytes(rng.randint(0, 64))
        request.packet.metadata.add(metadata_id=1, value=b"\x01")
        request.packet.metadata.add(metadata_id=2, value=b"\x00")
    elif kind == 1:
        request.digest_ack.digest_id = 0x17000001
    elif kind == 2:
        request.arbitration.device_id = 1
        request.arbitration.election_id.low = rng.randint(0, 9)
    else:
        request.other.type_url = "type.example/nothing"
    scramble_message(rng, request)
    return bytes(request.SerializeToString())


def damage_bytes(rng: random.Random, data: bytes) -> bytes:
    """Return the bytes of a message with a few of them changed, lost or added."""
    broken = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(broken) + 1)
        match rng.randint(0, 3):
            case 0 if place < len(broken):
                broken[place] = rng.randrange(256)
            case 1:
                del broken[place : place + rng.randint(1, 8)]
            case 2:
                broken[place:place] = rng.randbytes(rng.randint(1, 4))
            case _:
                del broken[place:]
    return bytes(broken)


def scramble_message(rng: random.Random, message: Any) -> None:
    """Change a field or two of a message, or of one inside it, to other values of their type."""
    for field, value in list(message.ListFields()):
        if rng.random() < 0.15:
            message.ClearField(field.name)
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            for each in value if field.is_repeated else [value]:
                scramble_message(rng, each)
            if field.is_repeated and rng.random() < 0.1:
                value.add().CopyFrom(value[0])
        elif rng.random() < 0.15 and not field.is_repeated:
            setattr(message, field.name, _other_value(rng, field))


def _other_value(rng: random.Random, field: Any) -> Any:
    if field.type == FieldDescriptor.TYPE_BYTES:
        return rng.randbytes(rng.choice((0, 1, 1, 2, 4, 16)))
    if field.type == FieldDescriptor.TYPE_STRING:
        return rng.choice(("", "a", "é" * 3))
    if field.type == FieldDescriptor.TYPE_BOOL:
        return rng.random() < 0.5
    if field.type == FieldDescriptor.TYPE_ENUM:
        return rng.randint(0, 4)
    value = rng.choice(_NUMBERS + _IDS)
    signed = field.type in (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64)
    return -value if signed and rng.random() < 0.3 else value
