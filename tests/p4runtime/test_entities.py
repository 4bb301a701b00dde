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
from tests.p4runtime.controller import Controller, entity, texts, update
from tests.p4runtime.memory_plane import MemoryPlane

INVALID, MISSING, EXISTS = "INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS"
CALL = r"""action_id: 0x01000001 params { param_id: 1 value: "\x02" } params { param_id: 2 value: "\x03" }"""
OTHER = CALL.replace(r"\x02", r"\x05")
PROFILE = 0x11000001
SELECTED = r'table_id: 0x02000005 match { field_id: 1 exact { value: "\x09" } }'


def _member(id: int, call: str = CALL) -> str:
    return f"action_profile_member {{ action_profile_id: {PROFILE} member_id: {id} action {{ {call} }} }}"


def _group(id: int, *members: tuple[int, int], max_size: int = 0) -> str:
    text = " ".join(f"members {{ member_id: {member} weight: {weight} }}" for member, weight in members)
    return (
        f"action_profile_group {{ action_profile_id: {PROFILE} group_id: {id} {text} max_size: {max_size} }}"
    )


def _entry(action: str) -> str:
    return f"table_entry {{ {SELECTED} action {{ {action} }} }}"


def test_members_and_groups(primary: Controller, plane: MemoryPlane) -> None:
    assert (
        primary.write(
            update("INSERT", _member(1)),
            update("INSERT", _member(2, OTHER)),
            update("INSERT", _group(1, (1, 1), (2, 2))),
            update("INSERT", _entry("action_profile_group_id: 1")),
        )
        == ["OK"] * 4
    )
    assert plane.members[PROFILE, 2] == ActionCall(0x01000001, (5, 3))
    assert plane.groups == {(PROFILE, 1): ((1, 1), (2, 2))}
    assert plane.entries[0x02000005, (Exact(9),), 0] == GroupRef(1)
    assert primary.read(entity("action_profile_group { }")) == [entity(_group(1, (1, 1), (2, 2)))]
    assert texts(primary.read(entity("action_profile_member { }"))) == texts(
        [entity(_member(1)), entity(_member(2, OTHER))]
    )
    assert (
        len(primary.read(entity(f"action_profile_member {{ action_profile_id: {PROFILE} member_id: 2 }}")))
        == 1
    )
    (pointing,) = primary.read(entity("table_entry { table_id: 0x02000005 }"))
    assert pointing == entity(_entry("action_profile_group_id: 1"))

    assert primary.write(update("DELETE", _group(1))) == ["FAILED_PRECONDITION"]
    assert primary.write(update("DELETE", _member(2))) == ["FAILED_PRECONDITION"]
    assert (
        primary.write(
            update("MODIFY", _entry("action_profile_member_id: 1")),
            update("MODIFY", _group(1, (1, 3))),
            update("DELETE", _member(2)),
            update("DELETE", _group(1)),
        )
        == ["OK"] * 4
    )
    assert plane.entries[0x02000005, (Exact(9),), 0] == MemberRef(1)
    assert primary.write(update("DELETE", _member(1))) == ["FAILED_PRECONDITION"]
    assert primary.write(update("DELETE", _entry("")), update("DELETE", _member(1))) == ["OK", "OK"]
    assert (plane.members, plane.groups) == ({}, {})


def _wrong(text: str, code: str = INVALID, change: str = "INSERT") -> tuple[str, str, str]:
    """Return an update that is refused with ``code``."""
    return change, text, code


WRONG_PROFILES = {
    "unknown profile": _wrong(_member(3).replace(str(PROFILE), "12")),
    "member zero": _wrong(_member(0)),
    "same member": _wrong(_member(1), EXISTS),
    "member without action": _wrong(_member(3).replace(f"action {{ {CALL} }}", "")),
    "member with a bad action": _wrong(_member(1).replace("0x01000001", "9"), change="MODIFY"),
    "no such member": _wrong(_member(5), MISSING, change="MODIFY"),
    "deleting no member": _wrong(_member(5), MISSING, change="DELETE"),
    "same group": _wrong(_group(1, (1, 1)), EXISTS),
    "group zero": _wrong(_group(0, (1, 1))),
    "group of an unknown member": _wrong(_group(2, (5, 1)), MISSING),
    "weight zero": _wrong(_group(2, (1, 0))),
    "member twice": _wrong(_group(2, (1, 1), (1, 1))),
    "max_size too large": _wrong(_group(2, (1, 1), max_size=5)),
    "max_size changed": _wrong(_group(1, (1, 1), max_size=3), change="MODIFY"),
    "group too large": _wrong(_group(1, (1, 5)), "RESOURCE_EXHAUSTED", change="MODIFY"),
    "no such group": _wrong(_group(4, (1, 1)), MISSING, change="MODIFY"),
    "watch port": _wrong(
        _group(1, (1, 1)).replace("weight: 1", r'weight: 1 watch_port: "\x01"'),
        "UNIMPLEMENTED",
        change="MODIFY",
    ),
    "entry to no member": _wrong(_entry("action_profile_member_id: 7"), MISSING),
    "entry to no group": _wrong(_entry("action_profile_group_id: 7"), MISSING),
    "entry with an action": _wrong(_entry(f"action {{ {CALL} }}")),
    "one-shot next to members": _wrong(
        _entry(f"action_profile_action_set {{ action_profile_actions {{ action {{ {CALL} }} weight: 1 }} }}")
    ),
}


@pytest.mark.parametrize("name", WRONG_PROFILES)
def test_wrong_profile_updates(primary: Controller, plane: MemoryPlane, name: str) -> None:
    assert primary.write(update("INSERT", _member(1)), update("INSERT", _group(1, (1, 1)))) == ["OK", "OK"]
    before = plane.state()
    change, text, code = WRONG_PROFILES[name]
    assert primary.write(update(change, text)) == [code]
    assert plane.state() == before


def test_a_full_profile(primary: Controller) -> None:
    members = [update("INSERT", _member(id)) for id in range(1, 10)]
    assert primary.write(*members) == ["OK"] * 8 + ["RESOURCE_EXHAUSTED"]


def test_one_shot_action_sets(primary: Controller, plane: MemoryPlane) -> None:
    actions = f"action_profile_actions {{ action {{ {CALL} }} weight: 2 }}"
    text = _entry(f"action_profile_action_set {{ {actions} {actions} }}")
    assert primary.write(update("INSERT", text)) == ["OK"]
    call = ActionCall(0x01000001, (2, 3))
    assert plane.entries[0x02000005, (Exact(9),), 0] == (WeightedAction(call, 2), WeightedAction(call, 2))
    assert primary.read(entity("table_entry { table_id: 0x02000005 }")) == [entity(text)]
    assert primary.write(update("INSERT", _member(1))) == [INVALID]
    too_large = _entry(f"action_profile_action_set {{ {actions} {actions} {actions} }}")
    assert primary.write(update("MODIFY", too_large)) == [INVALID]
    assert primary.write(update("DELETE", text), update("INSERT", _member(1))) == ["OK", "OK"]


def test_counters(primary: Controller, plane: MemoryPlane) -> None:
    one = "counter_entry { counter_id: 0x12000001 index { index: 2 } data { packet_count: 3 byte_count: 9 } }"
    assert primary.write(update("MODIFY", one)) == ["OK"]
    assert plane.counters == {(0x12000001, 2): CounterData(3, 9)}
    assert primary.read(entity("counter_entry { counter_id: 0x12000001 index { index: 2 } }")) == [
        entity(one)
    ]
    assert len(primary.read(entity("counter_entry { counter_id: 0x12000001 }"))) == 4
    assert len(primary.read(entity("counter_entry { }"))) == 4
    (first,) = primary.read(entity("counter_entry { counter_id: 0x12000001 index { } }"))
    assert first.counter_entry.index.index == 0
    assert primary.write(
        update("MODIFY", "counter_entry { counter_id: 0x12000001 data { packet_count: 1 } }")
    ) == ["OK"]
    assert set(plane.counters.values()) == {CounterData(1, 0)}
    before = plane.state()
    assert primary.write(
        update("INSERT", one),
        update("DELETE", one),
        update("MODIFY", one.replace("index: 2", "index: 4")),
        update("MODIFY", one.replace("index: 2", "index: -1")),
        update("MODIFY", one.replace("0x12000001", "1")),
        update("MODIFY", one.replace("packet_count: 3", "packet_count: -3")),
        update("MODIFY", "counter_entry { counter_id: 0x12000001 }"),
    ) == [INVALID, INVALID, "OUT_OF_RANGE", INVALID, INVALID, INVALID, "OK"]
    assert plane.state() == before
    assert primary.read_codes(
        entity("counter_entry { counter_id: 0x12000001 index { index: 4 } }"),
        entity("counter_entry { counter_id: 4 }"),
    ) == ["OUT_OF_RANGE", INVALID]


def test_meters(primary: Controller, plane: MemoryPlane) -> None:
    one = (
        "meter_entry { meter_id: 0x14000001 index { index: 1 } config { cir: 1 cburst: 2 pir: 3 pburst: 4 } }"
    )
    assert primary.write(update("MODIFY", one)) == ["OK"]
    assert plane.meters == {(0x14000001, 1): MeterConfig(1, 2, 3, 4)}
    everything = primary.read(entity("meter_entry { }"))
    assert len(everything) == 3
    assert [each for each in everything if each.meter_entry.HasField("config")] == [entity(one)]
    assert primary.write(
        update("INSERT", one),
        update("MODIFY", one.replace("cir: 1", "cir: -1")),
        update("MODIFY", one.replace("index: 1", "index: 3")),
        update("MODIFY", one.replace("pburst: 4", "pburst: 4 eburst: 5")),
        update("MODIFY", one.replace("config", "counter_data { } config")),
    ) == [INVALID, INVALID, "OUT_OF_RANGE", INVALID, "UNIMPLEMENTED"]
    assert primary.write(update("MODIFY", "meter_entry { meter_id: 0x14000001 }")) == ["OK"]
    assert plane.meters == {}


def test_registers(primary: Controller, plane: MemoryPlane) -> None:
    seen = r'register_entry { register_id: 0x16000001 index { index: 3 } data { bitstring: "\x01\x00" } }'
    negative = r'register_entry { register_id: 0x16000002 index { index: 1 } data { bitstring: "\xfd\x1d" } }'
    assert primary.write(update("MODIFY", seen), update("MODIFY", negative)) == ["OK", "OK"]
    assert plane.registers == {(0x16000001, 3): 256, (0x16000002, 1): 0xD1D}
    assert entity(seen) in primary.read(entity("register_entry { }"))
    assert primary.read(entity("register_entry { register_id: 0x16000002 index { index: 1 } }")) == [
        entity(negative)
    ]
    before = plane.state()
    assert primary.write(
        update("INSERT", seen),
        update("MODIFY", seen.replace(r"\x01\x00", r"\x01\x00\x00\x00\x00\x00\x00")),
        update("MODIFY", seen.replace(r"\x01\x00", "")),
        update("MODIFY", seen.replace(r'bitstring: "\x01\x00"', "bool: true")),
        update("MODIFY", "register_entry { register_id: 0x16000001 }"),
        update("MODIFY", seen.replace("index: 3", "index: 4")),
        update("MODIFY", negative.replace(r"\xfd", r"\x8d")),
    ) == [INVALID, "OUT_OF_RANGE", "OUT_OF_RANGE", INVALID, INVALID, "OUT_OF_RANGE", "OUT_OF_RANGE"]
    assert plane.state() == before


def _multicast(id: int, replicas: str = "replicas { egress_port: 1 instance: 2 }") -> str:
    group = f"multicast_group_id: {id} {replicas}"
    return f"packet_replication_engine_entry {{ multicast_group_entry {{ {group} }} }}"


def test_multicast_groups(primary: Controller, plane: MemoryPlane) -> None:
    newer = _multicast(2, r'replicas { port: "\x05" instance: 1 } replicas { port: "\x05" } metadata: "m"')
    assert primary.write(update("INSERT", _multicast(1)), update("INSERT", newer)) == ["OK", "OK"]
    assert plane.multicast == {1: (Replica(1, 2),), 2: (Replica(5, 1), Replica(5, 0))}
    wildcard = entity("packet_replication_engine_entry { multicast_group_entry { } }")
    assert texts(primary.read(wildcard)) == texts([entity(_multicast(1)), entity(newer)])
    assert primary.read(entity(_multicast(2, ""))) == [entity(newer)]
    before = plane.state()
    twice = "replicas { egress_port: 1 instance: 2 } replicas { egress_port: 1 instance: 2 }"
    assert primary.write(
        update("INSERT", _multicast(1)),
        update("INSERT", _multicast(0)),
        update("INSERT", _multicast(1 << 16)),
        update("INSERT", _multicast(3, twice)),
        update("INSERT", _multicast(3, "replicas { egress_port: 1 instance: 65536 }")),
        update("INSERT", _multicast(3, r'replicas { port: "" }')),
        update("MODIFY", _multicast(3)),
        update("DELETE", _multicast(3)),
        update("INSERT", "packet_replication_engine_entry { }"),
    ) == [EXISTS, INVALID, INVALID, INVALID, INVALID, INVALID, MISSING, MISSING, INVALID]
    assert plane.state() == before
    assert primary.write(update("MODIFY", _multicast(1, "")), update("DELETE", _multicast(2, ""))) == [
        "OK",
        "OK",
    ]
    assert plane.multicast == {1: ()}


def _session(id: int, rest: str = "replicas { egress_port: 3 }") -> str:
    return f"packet_replication_engine_entry {{ clone_session_entry {{ session_id: {id} {rest} }} }}"


def test_clone_sessions(primary: Controller, plane: MemoryPlane) -> None:
    truncating = _session(4, "replicas { egress_port: 3 } packet_length_bytes: 64")
    assert primary.write(update("INSERT", truncating)) == ["OK"]
    assert plane.clones == {4: ((Replica(3, 0),), 64)}
    assert primary.read(entity(_session(0, ""))) == [entity(truncating)]
    assert primary.write(
        update("INSERT", _session(4)),
        update("INSERT", _session(0)),
        update("INSERT", _session(65536 + 4)),
        update("INSERT", _session(5, "class_of_service: 1")),
        update("INSERT", _session(5, "packet_length_bytes: -1")),
        update("MODIFY", _session(5)),
        update("DELETE", _session(5)),
        update("MODIFY", _session(4)),
        update("DELETE", _session(4, "")),
    ) == [EXISTS, INVALID, INVALID, INVALID, INVALID, MISSING, MISSING, "OK", "OK"]
    assert plane.clones == {}


def _value_set(*values: str) -> str:
    members = " ".join(
        f'members {{ match {{ field_id: 1 exact {{ value: "{value}" }} }} }}' for value in values
    )
    return f"value_set_entry {{ value_set_id: 0x03000001 {members} }}"


def test_value_sets(primary: Controller, plane: MemoryPlane) -> None:
    two = _value_set(r"\x22\xf3", r"\x89\x3b")
    assert primary.write(update("MODIFY", two)) == ["OK"]
    assert plane.value_sets == {0x03000001: ((Exact(0x22F3),), (Exact(0x893B),))}
    assert primary.read(entity("value_set_entry { }")) == [entity(two)]
    before = plane.state()
    assert primary.write(
        update("INSERT", two),
        update("DELETE", two),
        update("MODIFY", _value_set("a", "b", "c", "d")),
        update("MODIFY", _value_set("a", r"\x00a")),
        update("MODIFY", _value_set(r"\x01\x00\x00")),
        update("MODIFY", "value_set_entry { value_set_id: 3 }"),
    ) == [INVALID, INVALID, "RESOURCE_EXHAUSTED", EXISTS, INVALID, INVALID]
    assert plane.state() == before
    assert primary.write(update("MODIFY", _value_set())) == ["OK"]
    assert plane.value_sets == {0x03000001: ()}


def test_rollback_of_every_entity(primary: Controller, plane: MemoryPlane) -> None:
    counter = "counter_entry { counter_id: 0x12000001 index { index: 1 } data { packet_count: 3 } }"
    meter = "meter_entry { meter_id: 0x14000001 index { index: 1 } config { cir: 1 pir: 1 } }"
    register = r'register_entry { register_id: 0x16000001 index { } data { bitstring: "\x07" } }'
    setup = [
        update("INSERT", _member(1)),
        update("INSERT", _group(1, (1, 1))),
        update("INSERT", _multicast(1)),
        update("INSERT", _session(1)),
        update("MODIFY", counter),
        update("MODIFY", meter),
        update("MODIFY", register),
        update("MODIFY", _value_set("a")),
        update("INSERT", "digest_entry { digest_id: 0x17000001 config { max_list_size: 1 } }"),
    ]
    assert primary.write(*setup) == ["OK"] * 9
    kinds = "action_profile_member action_profile_group counter_entry meter_entry register_entry"
    kinds += " value_set_entry digest_entry"
    everything = [entity(f"{kind} {{ }}") for kind in kinds.split()]
    before = plane.state(), texts(primary.read(*everything))
    batch = [
        update("INSERT", _member(2)),
        update("MODIFY", _member(1, OTHER)),
        update("MODIFY", _group(1, (2, 1))),
        update("INSERT", _group(2, (1, 1), (2, 1))),
        update("DELETE", _multicast(1)),
        update("MODIFY", _session(1, "")),
        update("MODIFY", counter.replace("3", "4")),
        update("MODIFY", meter.replace("cir: 1", "cir: 0")),
        update("MODIFY", register.replace("7", "8")),
        update("MODIFY", _value_set("b", "c")),
        update("DELETE", "digest_entry { digest_id: 0x17000001 }"),
        update("DELETE", _member(9)),
    ]
    assert primary.write(*batch, atomicity=1) == ["ABORTED"] * 11 + [MISSING]
    assert (plane.state(), texts(primary.read(*everything))) == before
