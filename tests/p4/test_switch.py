"""The changes that a control plane can make to a switch, and their effects on packets."""

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from olafswitch.p4.compiler import compile_program, compile_text
from olafswitch.p4.switch.native import Handle, NativeSwitch
from olafswitch.p4.syntax.preprocess import preprocess_text
from olafswitch.p4runtime.dataplane import (
    ActionCall,
    CounterData,
    Exact,
    GroupRef,
    Lpm,
    MemberRef,
    MeterConfig,
    Replica,
    TableFull,
    Ternary,
    WeightedAction,
)
from tests.p4 import parts
from tests.p4.switches import PROGRAMS, Device


@pytest.fixture(scope="module")
def externs() -> Device:
    return Device("externs")


def _make_body(what: int, index: int = 0, value: int = 0) -> bytes:
    return bytes([what, index]) + value.to_bytes(4, "big") + bytes(2)


def _read_value(frame: bytes) -> int:
    return int.from_bytes(frame[2:6], "big")


def test_direct_counter_and_meter(externs: Device) -> None:
    switch, table = externs.switch, externs.id("tables", "direct_")
    key = (Exact(3),)
    switch.insert(table, key, 0, externs.call("colour"))
    switch.set_direct_meter(table, key, 0, MeterConfig(cir=1, cburst=8, pir=1, pburst=16))
    colours = [_read_value(switch.process(0, _make_body(8, 3), now_ns=0)[0][1]) for _ in range(4)]
    assert colours == [0, 1, 2, 2]
    # 8 bytes a second fill both buckets again; time is the packets'
    assert _read_value(switch.process(0, _make_body(8, 3), now_ns=20 * 10**9)[0][1]) == 0
    switch.set_direct_meter(table, key, 0, None)
    assert _read_value(switch.process(0, _make_body(8, 3), now_ns=0)[0][1]) == 0
    assert switch.direct_counter(table, key, 0).packets == 6
    switch.set_direct_counter(table, key, 0, CounterData(41, 0))
    switch.process(0, _make_body(8, 3))
    assert switch.direct_counter(table, key, 0).packets == 42
    switch.delete(table, key, 0)
    switch.process(0, _make_body(8, 3))


def _compute_csum16(data: bytes) -> int:
    total = sum(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))
    return ~(total % 0xFFFF or 0xFFFF) & 0xFFFF


@pytest.mark.parametrize(("what", "length", "left"), [(23, 14, 14), (23, 8, 8), (23, 99, 16), (24, 99, 14)])
def test_a_checksum_of_the_payload_covers_what_truncate_left(
    externs: Device, what: int, length: int, left: int
) -> None:
    """BMv2 cuts the payload to that length until the headers are in front of it again."""
    payload, head = bytes(range(1, 17)), bytes([what, length, 0, 0, 0, 5])
    frame = head + _compute_csum16(head + payload[:left]).to_bytes(2, "big") + payload
    cut = min(length, 14) if what == 24 else length
    assert externs.switch.process(0, head + bytes(2) + payload) == [(0, frame[:cut])]


def test_a_truncated_packet_is_recirculated_and_multicast_whole() -> None:
    """BMv2 does the same, where v1model leaves it open."""
    body = """s.egress_spec = 1; if (s.instance_type == 4) { h.h.v = 9; } else { truncate(2); }
        if (h.h.v == 1) { s.mcast_grp = 7; }"""
    text = parts.parts_text(state="packet.extract(h.h);", body=body).replace(
        "inout standard_metadata_t s) { apply { } }",
        "inout standard_metadata_t s) { apply {"
        " if (h.h.v == 3) { recirculate_preserving_field_list(0); } } }",
    )
    program = compile_text(preprocess_text(text, "case.p4"), optimize="-O0")
    switch = NativeSwitch(optimize="-O0")
    switch.commit(switch.prepare(program.p4info, program.device_config))
    switch.set_multicast_group(7, [Replica(2, 1), Replica(3, 2)])
    sent = {first: switch.process(0, bytes([first]) + b"whole") for first in (1, 3, 5)}
    assert sent == {1: [(2, b"\1whole"), (3, b"\1whole")], 3: [(1, b"\x09whole")], 5: [(1, b"\5w")]}
    switch.close()


def test_a_header_that_metadata_keep_is_not_read_from_the_frame_that_comes_back() -> None:
    text = parts.parts_text(
        state="packet.extract(h.h);",
        body="s.egress_spec = 1; if (s.instance_type == 4) { h.h = m.kept; m.m = 1; } m.kept = h.h;",
    )
    text = text.replace("bool flag; }", "@field_list(1) byte_t kept; }").replace(
        "inout standard_metadata_t s) { apply { } }",
        "inout standard_metadata_t s) { apply { if (m.m == 0) {"
        " h.h.v = 9; recirculate_preserving_field_list(1); } } }",
    )
    program = compile_text(preprocess_text(text, "case.p4"), optimize="-O0")
    switch = NativeSwitch(optimize="-O0")
    switch.commit(switch.prepare(program.p4info, program.device_config))
    assert switch.process(0, b"\5rest") == [(1, b"\5rest")]
    switch.close()


def test_fields_that_share_bytes_with_written_ones_leave_as_they_came() -> None:
    r = random.Random(1)
    types, members, state, body, came, wanted = "", "", "", "s.egress_spec = 1;", "", ""
    for k in range(16):
        widths = [r.choice((1, 3, 7, 8, 12, 16, 33, 48)) for _ in range(r.randrange(1, 6))]
        widths.append(8 - sum(widths) % 8)
        types += f"header t{k} {{ {' '.join(f'bit<{width}> f{at};' for at, width in enumerate(widths))} }}\n"
        members += f"t{k} a{k}; t{k} b{k}; "
        state += f"packet.extract(h.a{k});"
        body += f"h.b{k}.setValid();"
        changed, made = "", ""
        for at, width in enumerate(widths):
            old, new, written = r.getrandbits(width), r.getrandbits(width), r.random() < 0.5
            body += f"h.a{k}.f{at} = {new}; h.b{k}.f{at} = {new};" if written else ""
            came += f"{old:0{width}b}"
            changed += f"{new if written else old:0{width}b}"
            made += f"{new if written else 0:0{width}b}"
        wanted += changed + made
    text = parts.parts_text(top=types, state=state, body=body)
    struct = "struct headers_t { byte_t h; byte_t[2] s; either_t u; }"
    text = text.replace(struct, "").replace(types, f"{types}struct headers_t {{ {members}}}\n")
    program = compile_text(preprocess_text(text, "case.p4"), optimize="-O0")
    switch = NativeSwitch(optimize="-O0")
    switch.commit(switch.prepare(program.p4info, program.device_config))
    frame, left = (int(bits, 2).to_bytes(len(bits) // 8, "big") for bits in (came, wanted))
    assert switch.process(0, frame + b"rest") == [(1, left + b"rest")]
    switch.close()


def test_truncate_to_nothing(externs: Device) -> None:
    assert externs.switch.process(0, bytes([23, 0]) + bytes(20)) == [(0, b"")]


def test_indirect_meter_counts_packets(externs: Device) -> None:
    switch, meter = externs.switch, externs.id("meters", "metered")
    switch.set_meter(meter, 2, MeterConfig(cir=1, cburst=1, pir=1, pburst=2))
    assert [_read_value(switch.process(0, _make_body(7, 2), now_ns=0)[0][1]) for _ in range(3)] == [0, 1, 2]
    assert [_read_value(switch.process(0, _make_body(7, 1), now_ns=0)[0][1]) for _ in range(3)] == [0, 0, 0]


def test_registers_of_several_words(externs: Device) -> None:
    wide = externs.id("registers", "wide")
    externs.switch.set_register(wide, 0, (1 << 99) + 5)
    assert externs.switch.register(wide, 0) == (1 << 99) + 5
    externs.switch.process(0, _make_body(11, 0))
    assert externs.switch.register(wide, 0) == (1 << 99) + 5 + (1 << 90) + 1


def test_random_stays_within_its_bounds(externs: Device) -> None:
    seen = Counter(_read_value(externs.switch.process(0, _make_body(12))[0][1]) for _ in range(300))
    assert set(seen) == {5, 6, 7} and min(seen.values()) > 50


def test_digest(externs: Device) -> None:
    got: list[tuple[int, Sequence[bytes]]] = []
    externs.switch.on_digest(lambda number, fields: got.append((number, fields)))
    externs.switch.process(0, _make_body(10, 7, 0x0102))
    assert got == [(externs.id("digests", "news_t"), [b"\x07", b"\x01\x02"])]


def test_members_groups_and_one_shots(externs: Device) -> None:
    switch, table = externs.switch, externs.id("tables", "spread")
    profile = externs.id("action_profiles", "ways")
    for member in (1, 2, 3):
        switch.set_member(profile, member, externs.call("out_by", member))
    switch.set_group(profile, 9, [(1, 1), (2, 2)])
    switch.insert(table, (Exact(1),), 0, MemberRef(3))
    switch.insert(table, (Exact(2),), 0, GroupRef(9))
    shot = (WeightedAction(externs.call("out_by", 5), 1), WeightedAction(externs.call("out_by", 6), 1))
    switch.insert(table, (Exact(3),), 0, shot)

    def ports(index: int) -> Counter[int]:
        return Counter(switch.process(0, _make_body(9, index, value))[0][0] for value in range(30))

    assert ports(1) == {3: 30}
    assert ports(2) == {1: 10, 2: 20}
    assert ports(3) == {5: 15, 6: 15}
    switch.set_member(profile, 3, externs.call("out_by", 8))
    assert ports(1) == {8: 30}
    switch.set_group(profile, 9, [])
    assert ports(2) == {0: 30}
    for index in (1, 2, 3):
        switch.delete(table, (Exact(index),), 0)
    assert ports(3) == {0: 30}


def test_a_full_table_says_so_and_stays(externs: Device) -> None:
    switch, table = externs.switch, externs.id("tables", "spread")
    action = (WeightedAction(externs.call("out_by", 4), 1),)
    for index in range(8):
        switch.insert(table, (Exact(index),), 0, action)
    with pytest.raises(TableFull):
        switch.insert(table, (Exact(8),), 0, action)
    assert switch.process(0, _make_body(9, 7))[0][0] == 4
    assert switch.process(0, _make_body(9, 8))[0][0] == 0
    for index in range(8):
        switch.delete(table, (Exact(index),), 0)


def test_default_action_and_the_programs_own() -> None:
    device = Device("tables")
    table = device.id("tables", "exact_")
    frame = bytes([1, 0, 0, 0, 0])
    device.switch.set_default(table, device.call("mark", 0x44))
    assert device.switch.process(0, frame)[0][1][0] == 0x44
    device.switch.set_default(table, None)
    assert device.switch.process(0, frame)[0][1][0] == 0x11
    device.switch.close()


def test_initial_entries_in_the_control_planes_terms() -> None:
    device = Device("tables")
    own = device.id("tables", "MyIngress.own")
    entries = [e for e in device.switch.initial_entries(device.pipeline) if e.table_id == own]
    assert [e.priority for e in entries] == sorted((e.priority for e in entries), reverse=True)
    assert entries[0].key[0] == Ternary(0x1000, 0xF000) and entries[0].key[1] is None
    assert entries[2].action == ActionCall(device.id("actions", "mark"), (3,))
    assert all(e.is_const for e in entries)
    lpm = device.id("tables", "lpm_")
    device.switch.insert(lpm, (Exact(1), Lpm(0, 0)), 0, device.call("mark", 1))
    device.switch.modify(lpm, (Exact(1), Lpm(0, 0)), 0, device.call("mark", 2))
    assert device.switch.process(0, bytes([2, 0, 1, 9, 9]))[0][1][0] == 2
    device.switch.close()


def test_every_copy_of_a_large_group_leaves() -> None:
    device = Device("traffic")
    replicas = [Replica(number % 400 + 1, number) for number in range(1, 1001)]
    device.switch.set_multicast_group(7, replicas)
    frames = device.switch.process(0, bytes([1]) + bytes(6))
    assert [(port, int.from_bytes(frame[-2:], "big")) for port, frame in frames] == [
        (replica.egress_port, replica.instance) for replica in replicas
    ]
    device.switch.close()


def test_copies_whose_headers_differ_in_length_have_one_payload() -> None:
    """The copies share the payload's memory, as long as nothing is written over it."""
    text = parts.parts_text(state="packet.extract(h.h);", body="s.mcast_grp = 7;").replace(
        "inout standard_metadata_t s) { apply { } }",
        "inout standard_metadata_t s) { apply { h.h.v = (bit<8>) s.egress_rid;"
        " if (h.h.v & 1 == 1) { h.s[0].setValid(); h.s[0].v = h.h.v; } } }",
    )
    program = compile_text(preprocess_text(text, "case.p4"), optimize="-O0")
    switch = NativeSwitch(optimize="-O0")
    switch.commit(switch.prepare(program.p4info, program.device_config))
    copies, payload = (2, 4, 1, 3, 2, 1, 4), bytes(range(9, 200))
    switch.set_multicast_group(7, [Replica(number, copy) for number, copy in enumerate(copies)])
    for _ in range(2):
        payload = payload[::-1]
        frames = [frame for _, frame in switch.process(0, b"\x00" + payload)]
        assert frames == [bytes([copy] * (1 + copy % 2)) + payload for copy in copies]
    switch.close()


@pytest.mark.parametrize("defines", [{}, {"CLONES": ""}], ids=["copies alone", "clones too"])
def test_each_copy_is_the_frame_that_its_port_alone_would_send(defines: dict[str, str]) -> None:
    program = compile_program(PROGRAMS / "group.p4", defines=defines, optimize="-O1")
    switch = NativeSwitch(optimize="-O1")
    switch.commit(switch.prepare(program.p4info, program.device_config))
    r = random.Random(str(defines))
    sent = 0
    for group in range(8, 200):
        ports = [r.randrange(1, 8) for _ in range(r.randrange(6))]
        switch.set_multicast_group(group, [Replica(port, number) for number, port in enumerate(ports)])
        rest = r.randbytes(r.choice((5, 7, 8, 9, 60, 1500)))
        alone = [frame for port in ports for frame in switch.process(0, bytes([port]) + rest)]
        assert switch.process(0, bytes([group]) + rest) == alone, (group, ports)
        sent += len(alone)
    assert sent > 200
    switch.close()


def test_packet_out_and_in() -> None:
    device = Device("tables")
    sent: list[tuple[int, bytes]] = []
    device.switch.send_with(lambda port, frame: sent.append((port, frame)))
    device.switch.packet_out(bytes([1, 0, 0, 0, 0]))
    assert sent == [(0, bytes([0x11, 0, 1, 0, 0, 0, 0]))]
    device.switch.close()


def test_forwarders_hear_of_each_switch_before_the_old_goes() -> None:
    device = Device("tables")
    heard: list[Handle | None] = []
    device.switch.on_commit(heard.append)
    before = device.switch.handle
    device.switch.commit(device.pipeline)
    assert heard == [device.switch.handle] and device.switch.handle != before
    device.switch.close()
    assert heard[-1] is None and device.switch.handle is None


def test_value_sets() -> None:
    device = Device("value_sets")
    kinds, patterns = device.id("value_sets", "kinds"), device.id("value_sets", "patterns")

    def path(kind: int, flags: int) -> int:
        return device.switch.process(0, kind.to_bytes(2, "big") + bytes([flags, 0]))[0][1][3]

    assert path(5, 1) == 0
    device.switch.set_value_set(kinds, [(Exact(5),), (Exact(6),)])
    device.switch.set_value_set(patterns, [(Exact(7), Ternary(0x80, 0xF0))])
    assert [path(5, 1), path(6, 1), path(5, 2), path(7, 0x81), path(7, 0x91)] == [2, 2, 0, 1, 0]
    device.switch.set_value_set(kinds, [])
    device.switch.set_value_set(patterns, [(Exact(5), None)])
    assert [path(5, 1), path(6, 1), path(7, 0x81)] == [1, 0, 0]
    device.switch.close()


def test_a_clone_goes_to_its_own_session_only() -> None:
    body = "s.egress_spec = 1; clone(CloneType.I2E, (bit<32>) h.h.v << 13 | 5);"
    text = parts.FRAME.format(top="", state="packet.extract(h.h);", local="", body=body)
    program = compile_text(preprocess_text(text, "case.p4"), optimize="-O0")
    switch = NativeSwitch(optimize="-O0")
    switch.commit(switch.prepare(program.p4info, program.device_config))
    switch.set_clone_session(5, [Replica(7, 1)])
    assert [port for port, _ in switch.process(0, b"\x00")] == [7, 1]
    assert [port for port, _ in switch.process(0, b"\x08")] == [1]
    switch.close()
