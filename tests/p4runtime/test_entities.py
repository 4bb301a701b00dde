"""Everything a write can change besides table entries: P4Runtime §9.2 to §9.8."""

import pytest

from olafswitch.p4runtime.dataplane import (
    ActionCall,
    CounterData,
    Exact,
    GroupRef,
    MemberRef,
    MeterConfig,
    Replica,
    WeightedAction,
)
from tests.p4runtime.controller import PlainController, check_codes, parse_entity, texts_of
from tests.p4runtime.memory_plane import MemoryPlane

INVALID, MISSING, EXISTS = "INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS"
CALL = r"""action_id: 0x01000001 params { param_id: 1 value: "\x02" } params { param_id: 2 value: "\x03" }"""
OTHER = CALL.replace(r"\x02", r"\x05")
PROFILE = 0x11000001
SELECTED = r'table_id: 0x02000005 match { field_id: 1 exact { value: "\x09" } }'


def _member_update(id: int, call: str = CALL) -> str:
    return f"action_profile_member {{ action_profile_id: {PROFILE} member_id: {id} action {{ {call} }} }}"


def _group_update(id: int, *members: tuple[int, int], max_size: int = 0) -> str:
    text = " ".join(f"members {{ member_id: {member} weight: {weight} }}" for member, weight in members)
    return (
        f"action_profile_group {{ action_profile_id: {PROFILE} group_id: {id} {text} max_size: {max_size} }}"
    )


def _entry_update(action: str) -> str:
    return f"table_entry {{ {SELECTED} action {{ {action} }} }}"


def test_members_and_groups(primary: PlainController, plane: MemoryPlane) -> None:
    assert (
        primary.insert(
            _member_update(1),
            _member_update(2, OTHER),
            _group_update(1, (1, 1), (2, 2)),
            _entry_update("action_profile_group_id: 1"),
        )
        == ["OK"] * 4
    )
    assert plane.members[PROFILE, 2] == ActionCall(0x01000001, (5, 3))
    assert plane.groups == {(PROFILE, 1): ((1, 1), (2, 2))}
    assert plane.entries[0x02000005, (Exact(9),), 0] == GroupRef(1)
    assert primary.read("action_profile_group { }") == [parse_entity(_group_update(1, (1, 1), (2, 2)))]
    assert texts_of(primary.read("action_profile_member { }")) == texts_of(
        [parse_entity(_member_update(1)), parse_entity(_member_update(2, OTHER))]
    )
    assert len(primary.read(f"action_profile_member {{ action_profile_id: {PROFILE} member_id: 2 }}")) == 1
    (pointing,) = primary.read("table_entry { table_id: 0x02000005 }")
    assert pointing == parse_entity(_entry_update("action_profile_group_id: 1"))

    assert primary.delete(_group_update(1)) == ["FAILED_PRECONDITION"]
    assert primary.delete(_member_update(2)) == ["FAILED_PRECONDITION"]
    assert (
        primary.write(
            ("MODIFY", _entry_update("action_profile_member_id: 1")),
            ("MODIFY", _group_update(1, (1, 3))),
            ("DELETE", _member_update(2)),
            ("DELETE", _group_update(1)),
        )
        == ["OK"] * 4
    )
    assert plane.entries[0x02000005, (Exact(9),), 0] == MemberRef(1)
    assert primary.delete(_member_update(1)) == ["FAILED_PRECONDITION"]
    assert primary.delete(_entry_update(""), _member_update(1)) == ["OK", "OK"]
    assert (plane.members, plane.groups) == ({}, {})


def _wrong_update(text: str, code: str = INVALID, change: str = "INSERT") -> tuple[str, str, str]:
    """Return an update that is refused with ``code``."""
    return change, text, code


WRONG_PROFILES = {
    "unknown profile": _wrong_update(_member_update(3).replace(str(PROFILE), "12")),
    "member zero": _wrong_update(_member_update(0)),
    "same member": _wrong_update(_member_update(1), EXISTS),
    "member without action": _wrong_update(_member_update(3).replace(f"action {{ {CALL} }}", "")),
    "member with a bad action": _wrong_update(_member_update(1).replace("0x01000001", "9"), change="MODIFY"),
    "no such member": _wrong_update(_member_update(5), MISSING, change="MODIFY"),
    "deleting no member": _wrong_update(_member_update(5), MISSING, change="DELETE"),
    "same group": _wrong_update(_group_update(1, (1, 1)), EXISTS),
    "group zero": _wrong_update(_group_update(0, (1, 1))),
    "group of an unknown member": _wrong_update(_group_update(2, (5, 1)), MISSING),
    "weight zero": _wrong_update(_group_update(2, (1, 0))),
    "member twice": _wrong_update(_group_update(2, (1, 1), (1, 1))),
    "max_size too large": _wrong_update(_group_update(2, (1, 1), max_size=5)),
    "max_size changed": _wrong_update(_group_update(1, (1, 1), max_size=3), change="MODIFY"),
    "group too large": _wrong_update(_group_update(1, (1, 5)), "RESOURCE_EXHAUSTED", change="MODIFY"),
    "no such group": _wrong_update(_group_update(4, (1, 1)), MISSING, change="MODIFY"),
    "watch port": _wrong_update(
        _group_update(1, (1, 1)).replace("weight: 1", r'weight: 1 watch_port: "\x01"'),
        "UNIMPLEMENTED",
        change="MODIFY",
    ),
    "entry to no member": _wrong_update(_entry_update("action_profile_member_id: 7"), MISSING),
    "entry to no group": _wrong_update(_entry_update("action_profile_group_id: 7"), MISSING),
    "entry with an action": _wrong_update(_entry_update(f"action {{ {CALL} }}")),
    "one-shot next to members": _wrong_update(
        _entry_update(
            f"action_profile_action_set {{ action_profile_actions {{ action {{ {CALL} }} weight: 1 }} }}"
        )
    ),
}


@pytest.mark.parametrize("name", WRONG_PROFILES)
def test_wrong_profile_updates(primary: PlainController, plane: MemoryPlane, name: str) -> None:
    assert primary.insert(_member_update(1), _group_update(1, (1, 1))) == ["OK", "OK"]
    before = plane.copy_state()
    change, text, code = WRONG_PROFILES[name]
    assert primary.write((change, text)) == [code]
    assert plane.copy_state() == before


def test_a_full_profile(primary: PlainController) -> None:
    members = [("INSERT", _member_update(id)) for id in range(1, 10)]
    assert primary.write(*members) == ["OK"] * 8 + ["RESOURCE_EXHAUSTED"]


def test_one_shot_action_sets(primary: PlainController, plane: MemoryPlane) -> None:
    actions = f"action_profile_actions {{ action {{ {CALL} }} weight: 2 }}"
    text = _entry_update(f"action_profile_action_set {{ {actions} {actions} }}")
    assert primary.insert(text) == ["OK"]
    call = ActionCall(0x01000001, (2, 3))
    assert plane.entries[0x02000005, (Exact(9),), 0] == (WeightedAction(call, 2), WeightedAction(call, 2))
    assert primary.read("table_entry { table_id: 0x02000005 }") == [parse_entity(text)]
    assert primary.insert(_member_update(1)) == [INVALID]
    too_large = _entry_update(f"action_profile_action_set {{ {actions} {actions} {actions} }}")
    assert primary.modify(too_large) == [INVALID]
    assert primary.write(("DELETE", text), ("INSERT", _member_update(1))) == ["OK", "OK"]


def test_counters(primary: PlainController, plane: MemoryPlane) -> None:
    one = "counter_entry { counter_id: 0x12000001 index { index: 2 } data { packet_count: 3 byte_count: 9 } }"
    assert primary.modify(one) == ["OK"]
    assert plane.counters == {(0x12000001, 2): CounterData(3, 9)}
    assert primary.read("counter_entry { counter_id: 0x12000001 index { index: 2 } }") == [parse_entity(one)]
    assert len(primary.read("counter_entry { counter_id: 0x12000001 }")) == 4
    assert len(primary.read("counter_entry { }")) == 4
    (first,) = primary.read("counter_entry { counter_id: 0x12000001 index { } }")
    assert first.counter_entry.index.index == 0
    assert primary.modify("counter_entry { counter_id: 0x12000001 data { packet_count: 1 } }") == ["OK"]
    assert set(plane.counters.values()) == {CounterData(1, 0)}
    before = plane.copy_state()
    check_codes(
        primary,
        ("INSERT", one, INVALID),
        ("DELETE", one, INVALID),
        ("MODIFY", one.replace("index: 2", "index: 4"), "OUT_OF_RANGE"),
        ("MODIFY", one.replace("index: 2", "index: -1"), INVALID),
        ("MODIFY", one.replace("0x12000001", "1"), INVALID),
        ("MODIFY", one.replace("packet_count: 3", "packet_count: -3"), INVALID),
        ("MODIFY", "counter_entry { counter_id: 0x12000001 }", "OK"),
    )
    assert plane.copy_state() == before
    assert primary.read_codes(
        "counter_entry { counter_id: 0x12000001 index { index: 4 } }", "counter_entry { counter_id: 4 }"
    ) == ["OUT_OF_RANGE", INVALID]


def test_meters(primary: PlainController, plane: MemoryPlane) -> None:
    one = (
        "meter_entry { meter_id: 0x14000001 index { index: 1 } config { cir: 1 cburst: 2 pir: 3 pburst: 4 } }"
    )
    assert primary.modify(one) == ["OK"]
    assert plane.meters == {(0x14000001, 1): MeterConfig(1, 2, 3, 4)}
    everything = primary.read("meter_entry { }")
    assert len(everything) == 3
    assert [each for each in everything if each.meter_entry.HasField("config")] == [parse_entity(one)]
    check_codes(
        primary,
        ("INSERT", one, INVALID),
        ("MODIFY", one.replace("cir: 1", "cir: -1"), INVALID),
        ("MODIFY", one.replace("index: 1", "index: 3"), "OUT_OF_RANGE"),
        ("MODIFY", one.replace("pburst: 4", "pburst: 4 eburst: 5"), INVALID),
        ("MODIFY", one.replace("config", "counter_data { } config"), "UNIMPLEMENTED"),
    )
    assert primary.modify("meter_entry { meter_id: 0x14000001 }") == ["OK"]
    assert plane.meters == {}


def test_registers(primary: PlainController, plane: MemoryPlane) -> None:
    seen = r'register_entry { register_id: 0x16000001 index { index: 3 } data { bitstring: "\x01\x00" } }'
    negative = r'register_entry { register_id: 0x16000002 index { index: 1 } data { bitstring: "\xfd\x1d" } }'
    assert primary.modify(seen, negative) == ["OK", "OK"]
    assert plane.registers == {(0x16000001, 3): 256, (0x16000002, 1): 0xD1D}
    assert parse_entity(seen) in primary.read("register_entry { }")
    assert primary.read("register_entry { register_id: 0x16000002 index { index: 1 } }") == [
        parse_entity(negative)
    ]
    before = plane.copy_state()
    check_codes(
        primary,
        ("INSERT", seen, INVALID),
        ("MODIFY", seen.replace(r"\x01\x00", r"\x01\x00\x00\x00\x00\x00\x00"), "OUT_OF_RANGE"),
        ("MODIFY", seen.replace(r"\x01\x00", ""), "OUT_OF_RANGE"),
        ("MODIFY", seen.replace(r'bitstring: "\x01\x00"', "bool: true"), INVALID),
        ("MODIFY", "register_entry { register_id: 0x16000001 }", INVALID),
        ("MODIFY", seen.replace("index: 3", "index: 4"), "OUT_OF_RANGE"),
        ("MODIFY", negative.replace(r"\xfd", r"\x8d"), "OUT_OF_RANGE"),
    )
    assert plane.copy_state() == before


def _multicast_update(id: int, replicas: str = "replicas { egress_port: 1 instance: 2 }") -> str:
    group = f"multicast_group_id: {id} {replicas}"
    return f"packet_replication_engine_entry {{ multicast_group_entry {{ {group} }} }}"


def test_multicast_groups(primary: PlainController, plane: MemoryPlane) -> None:
    newer = _multicast_update(
        2, r'replicas { port: "\x05" instance: 1 } replicas { port: "\x05" } metadata: "m"'
    )
    assert primary.insert(_multicast_update(1), newer) == ["OK", "OK"]
    assert plane.multicast == {1: (Replica(1, 2),), 2: (Replica(5, 1), Replica(5, 0))}
    wildcard = parse_entity("packet_replication_engine_entry { multicast_group_entry { } }")
    assert texts_of(primary.read(wildcard)) == texts_of(
        [parse_entity(_multicast_update(1)), parse_entity(newer)]
    )
    assert primary.read(_multicast_update(2, "")) == [parse_entity(newer)]
    before = plane.copy_state()
    twice = "replicas { egress_port: 1 instance: 2 } replicas { egress_port: 1 instance: 2 }"
    check_codes(
        primary,
        ("INSERT", _multicast_update(1), EXISTS),
        ("INSERT", _multicast_update(0), INVALID),
        ("INSERT", _multicast_update(1 << 16), INVALID),
        ("INSERT", _multicast_update(3, twice), INVALID),
        ("INSERT", _multicast_update(3, "replicas { egress_port: 1 instance: 65536 }"), INVALID),
        ("INSERT", _multicast_update(3, r'replicas { port: "" }'), INVALID),
        ("MODIFY", _multicast_update(3), MISSING),
        ("DELETE", _multicast_update(3), MISSING),
        ("INSERT", "packet_replication_engine_entry { }", INVALID),
    )
    assert plane.copy_state() == before
    assert primary.write(("MODIFY", _multicast_update(1, "")), ("DELETE", _multicast_update(2, ""))) == [
        "OK",
        "OK",
    ]
    assert plane.multicast == {1: ()}


def _session_update(id: int, rest: str = "replicas { egress_port: 3 }") -> str:
    return f"packet_replication_engine_entry {{ clone_session_entry {{ session_id: {id} {rest} }} }}"


def test_clone_sessions(primary: PlainController, plane: MemoryPlane) -> None:
    truncating = _session_update(4, "replicas { egress_port: 3 } packet_length_bytes: 64")
    assert primary.insert(truncating) == ["OK"]
    assert plane.clones == {4: ((Replica(3, 0),), 64)}
    assert primary.read(_session_update(0, "")) == [parse_entity(truncating)]
    check_codes(
        primary,
        ("INSERT", _session_update(4), EXISTS),
        ("INSERT", _session_update(0), INVALID),
        ("INSERT", _session_update(65536 + 4), INVALID),
        ("INSERT", _session_update(5, "class_of_service: 1"), INVALID),
        ("INSERT", _session_update(5, "packet_length_bytes: -1"), INVALID),
        ("MODIFY", _session_update(5), MISSING),
        ("DELETE", _session_update(5), MISSING),
        ("MODIFY", _session_update(4), "OK"),
        ("DELETE", _session_update(4, ""), "OK"),
    )
    assert plane.clones == {}


def _value_set(*values: str) -> str:
    members = " ".join(
        f'members {{ match {{ field_id: 1 exact {{ value: "{value}" }} }} }}' for value in values
    )
    return f"value_set_entry {{ value_set_id: 0x03000001 {members} }}"


def test_value_sets(primary: PlainController, plane: MemoryPlane) -> None:
    two = _value_set(r"\x22\xf3", r"\x89\x3b")
    assert primary.modify(two) == ["OK"]
    assert plane.value_sets == {0x03000001: ((Exact(0x22F3),), (Exact(0x893B),))}
    assert primary.read("value_set_entry { }") == [parse_entity(two)]
    before = plane.copy_state()
    check_codes(
        primary,
        ("INSERT", two, INVALID),
        ("DELETE", two, INVALID),
        ("MODIFY", _value_set("a", "b", "c", "d"), "RESOURCE_EXHAUSTED"),
        ("MODIFY", _value_set("a", r"\x00a"), EXISTS),
        ("MODIFY", _value_set(r"\x01\x00\x00"), INVALID),
        ("MODIFY", "value_set_entry { value_set_id: 3 }", INVALID),
    )
    assert plane.copy_state() == before
    assert primary.modify(_value_set()) == ["OK"]
    assert plane.value_sets == {0x03000001: ()}


def test_rollback_of_every_entity(primary: PlainController, plane: MemoryPlane) -> None:
    counter = "counter_entry { counter_id: 0x12000001 index { index: 1 } data { packet_count: 3 } }"
    meter = "meter_entry { meter_id: 0x14000001 index { index: 1 } config { cir: 1 pir: 1 } }"
    register = r'register_entry { register_id: 0x16000001 index { } data { bitstring: "\x07" } }'
    setup = [
        ("INSERT", _member_update(1)),
        ("INSERT", _group_update(1, (1, 1))),
        ("INSERT", _multicast_update(1)),
        ("INSERT", _session_update(1)),
        ("MODIFY", counter),
        ("MODIFY", meter),
        ("MODIFY", register),
        ("MODIFY", _value_set("a")),
        ("INSERT", "digest_entry { digest_id: 0x17000001 config { max_list_size: 1 } }"),
    ]
    assert primary.write(*setup) == ["OK"] * 9
    kinds = "action_profile_member action_profile_group counter_entry meter_entry register_entry"
    kinds += " value_set_entry digest_entry"
    everything = [parse_entity(f"{kind} {{ }}") for kind in kinds.split()]
    before = plane.copy_state(), texts_of(primary.read(*everything))
    batch = [
        ("INSERT", _member_update(2)),
        ("MODIFY", _member_update(1, OTHER)),
        ("MODIFY", _group_update(1, (2, 1))),
        ("INSERT", _group_update(2, (1, 1), (2, 1))),
        ("DELETE", _multicast_update(1)),
        ("MODIFY", _session_update(1, "")),
        ("MODIFY", counter.replace("3", "4")),
        ("MODIFY", meter.replace("cir: 1", "cir: 0")),
        ("MODIFY", register.replace("7", "8")),
        ("MODIFY", _value_set("b", "c")),
        ("DELETE", "digest_entry { digest_id: 0x17000001 }"),
        ("DELETE", _member_update(9)),
    ]
    assert primary.write(*batch, atomicity=1) == ["ABORTED"] * 11 + [MISSING]
    assert (plane.copy_state(), texts_of(primary.read(*everything))) == before
