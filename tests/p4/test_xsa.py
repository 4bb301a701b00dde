"""Programs for XSA: the inputs and outputs next to the pipeline, and their externs."""

import zlib

import pytest

from olafswitch.errors import BadInput, OlafError
from olafswitch.p4.compiler import compile_text
from olafswitch.p4.refuse import Refused
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4runtime.dataplane import CounterData, PipelineRefused
from tests.p4.parts import compile_parts, describe_text
from tests.p4.switches import Device
from tests.p4.xsa_parts import LINE, xsa_switch, xsa_text

BYTES = bytes([1, 2, 3, 4, 5])


def test_user_metadata_goes_in_and_comes_out_changed() -> None:
    switch = xsa_switch(body="m.y = m.y + (bit<32>) m.x; h.p.a = (bit<8>) m.top; m.flag = 1;")
    frame, metadata = switch.process_with_metadata(BYTES, {"top": 9, "x": 7, "y": 0xFFFFFFFE, "z": 3})
    assert frame == bytes([9, 2, 3, 4, 5])
    assert metadata == {"top": 9, "x": 7, "y": 5, "z": 3, "flag": 1}


def test_the_first_field_of_packed_metadata_is_on_top() -> None:
    program = compile_text(xsa_text(), optimize="-O1")
    switch = NativeSwitch(optimize="-O1", architecture="xsa")
    form = switch.prepare(program.p4info, program.device_config).user_metadata()
    assert (form.size, sum(width for _, width in form.fields)) == (15, 117)
    row = form.pack({"top": 0b1001, "flag": 1})
    assert int.from_bytes(row, "big") == 0b1001 << 113 | 1
    assert form.unpack(row) == {"top": 0b1001, "x": 0, "y": 0, "z": 0, "flag": 1}


def test_metadata_that_does_not_fit_is_refused() -> None:
    switch = xsa_switch()
    with pytest.raises(BadInput, match=r"no field w\b.*top, x, y"):
        switch.process_with_metadata(BYTES, {"w": 1})
    with pytest.raises(BadInput, match="top: 16 does not fit in 4 bits"):
        switch.process_with_metadata(BYTES, {"top": 16})


def test_a_dropped_packet_still_gives_its_metadata() -> None:
    switch = xsa_switch(body="s.drop = 1; m.x = 5; h.p.a = 9;")
    frame, metadata = switch.process_with_metadata(BYTES, {})
    assert frame is None
    assert metadata["x"] == 5


def test_the_deparser_may_change_user_metadata_but_drops_no_more() -> None:
    switch = xsa_switch(emits="packet.emit(h.p); packet.emit(h.t); m.x = 6; s.drop = 1;")
    frame, metadata = switch.process_with_metadata(BYTES, {})
    assert (frame, metadata["x"]) == (BYTES, 6)


def test_standard_metadata_has_time_and_what_was_parsed() -> None:
    switch = xsa_switch(
        body="m.z = s.ingress_timestamp; m.x = s.parsed_bytes;"
        " if (s.parser_error == error.PacketTooShort) { m.flag = 1; }"
    )
    frame, metadata = switch.process_with_metadata(BYTES, {}, timestamp=1 << 63)
    assert (frame, metadata["z"], metadata["x"], metadata["flag"]) == (BYTES, 1 << 63, 3, 0)
    frame, metadata = switch.process_with_metadata(BYTES[:2], {})
    assert (frame, metadata["x"], metadata["flag"]) == (BYTES[:2], 2, 1)


def test_a_user_extern_has_its_first_field_on_top() -> None:
    switch = xsa_switch(
        top="struct in_t { bit<12> a; bit<70> b; } struct out_t { bit<8> c; bit<16> d; }",
        local="UserExtern<in_t, out_t>(4) mine; out_t made;",
        body="mine.apply({ 12w0xABC, (bit<70>) m.z }, made); h.p.a = made.c; m.x = made.d;",
    )
    seen: list[int] = []

    def function(given: int) -> int:
        seen.append(given)
        return 0x77_1234

    switch.on_user_extern("mine", function)
    frame, metadata = switch.process_with_metadata(BYTES, {"z": (1 << 64) - 2})
    assert seen == [0xABC << 70 | (1 << 64) - 2]
    assert frame is not None and frame[0] == 0x77
    assert metadata["x"] == 0x1234


def test_a_user_extern_is_called_only_where_the_packet_gets() -> None:
    switch = xsa_switch(
        local="UserExtern<bit<8>, bit<32>>(4) mine;", body="if (h.t.isValid()) { mine.apply(h.p.a, m.y); }"
    )
    calls: list[int] = []

    def function(given: int) -> int:
        calls.append(given)
        return 3

    switch.on_user_extern("MyMatchAction.mine", function)
    assert switch.process_with_metadata(BYTES[:2], {"y": 1})[1]["y"] == 1
    assert switch.process_with_metadata(BYTES, {"y": 1})[1]["y"] == 3
    assert calls == [1]


def test_a_user_extern_without_a_right_function_is_reported() -> None:
    switch = xsa_switch(local="UserExtern<bit<8>, bit<12>>(4) mine; bit<12> y;", body="mine.apply(h.p.a, y);")
    with pytest.raises(BadInput, match=r"MyMatchAction.mine has no function.*on_user_extern"):
        switch.process_with_metadata(BYTES, {})
    switch.on_user_extern("mine", lambda _: 1 << 12)
    with pytest.raises(BadInput, match="mine: 0x1000 does not fit in 12 bits"):
        switch.process_with_metadata(BYTES, {})

    def fails(_: int) -> int:
        raise ZeroDivisionError("of the test")

    switch.on_user_extern("mine", fails)
    with pytest.raises(ZeroDivisionError, match="of the test"):
        switch.process_with_metadata(BYTES, {})


@pytest.mark.parametrize(
    ("kind", "start", "after"),
    [
        ("PACKETS", (0, 0), (1, 0)),
        ("BYTES", (0, 0), (0, 5)),
        ("PACKETS_AND_BYTES", (0, 0), (1, 5)),
        ("PACKETS", ((1 << 64) - 1, 0), ((1 << 64) - 1, 0)),
        ("BYTES", (0, (1 << 64) - 3), (0, (1 << 64) - 1)),
        ("PACKETS_AND_BYTES", ((1 << 29) - 1, (1 << 35) - 3), ((1 << 29) - 1, (1 << 35) - 1)),
    ],
)
def test_counters_count_by_type_and_stay_at_their_maximum(
    kind: str, start: tuple[int, int], after: tuple[int, int]
) -> None:
    local = f"Counter<bit<64>, bit<16>>(8, CounterType_t.{kind}) counter;"
    text = xsa_text(local=local, body="counter.count(m.x); h.p.setInvalid();")
    program = compile_text(text, optimize="-O1")
    [counter] = program.p4info.counters
    assert (counter.preamble.name, counter.size) == ("MyMatchAction.counter", 8)
    switch = NativeSwitch(optimize="-O1", architecture="xsa")
    switch.commit(switch.prepare(program.p4info, program.device_config))
    switch.set_counter(counter.preamble.id, 7, CounterData(*start))
    for index in (7, 8):
        switch.process_with_metadata(BYTES, {"x": index})
    assert switch.counter(counter.preamble.id, 7) == CounterData(*after)
    assert switch.counter(counter.preamble.id, 6) == CounterData(0, 0)


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [("CRC32", zlib.crc32(b"\1\2")), ("ONES_COMPLEMENT16", ~0x0102 & 0xFFFF), ("CRC16", 0x5180)],
)
def test_checksums(algorithm: str, expected: int) -> None:
    local = f"Checksum<bit<32>>(HashAlgorithm_t.{algorithm}) sum;"
    switch = xsa_switch(local=local, body="sum.apply(h.p, m.y);")
    assert switch.process_with_metadata(BYTES, {})[1]["y"] == expected


def test_a_device_runs_programs_of_its_architecture_only() -> None:
    program = compile_text(xsa_text(), optimize="-O1")
    assert (program.architecture, program.p4info.pkg_info.arch) == ("xsa", "xsa")
    with pytest.raises(PipelineRefused, match=r"for xsa.*v1model"):
        NativeSwitch(optimize="-O1").prepare(program.p4info, program.device_config)
    with pytest.raises(OlafError, match="process_with_metadata"):
        xsa_switch().process(0, BYTES)
    with pytest.raises(OlafError, match=r"v1model.*process\(\)"):
        Device("code").switch.process_with_metadata(BYTES, {})
    with pytest.raises(OlafError, match="no pipeline"):
        NativeSwitch(architecture="xsa").process_with_metadata(BYTES, {})


@pytest.mark.parametrize(
    ("part", "code", "construct", "why"),
    [
        ("local", "InternetChecksum() sum;", "InternetChecksum", "not supported"),
        ("local", "table t { key = { h.p.a: unused; } actions = { NoAction; } }", "unused", "not supported"),
        ("local", "table t { actions = { NoAction; } meters = 5; }", "meters", "not one of xsa's"),
        ("local", "table t { actions = { NoAction; } counters = 5; }", "counters", "extern object is needed"),
        ("local", "UserExtern<bit<8>, bit<8>>(m.x) e;", "latency_in_cycles", "compile time"),
        ("top", "struct other_t { varbit<8> v; } extern counter { counter(bit<8> size); } "
                "counter(8) c;", "counter", "not supported"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_refused_with_its_place(
    part: str, code: str, construct: str, why: str
) -> None:
    with pytest.raises(Refused) as caught:
        describe_text(xsa_text(**{part: code}))
    assert (caught.value.pos.file, caught.value.pos.line) == ("case.p4", LINE[part])
    assert construct in caught.value.construct
    assert why in caught.value.why


def test_v1model_has_no_externs_of_xsa() -> None:
    with pytest.raises(Refused, match="not supported"):
        compile_parts(top="extern Checksum<H> { Checksum(bit<8> h); }", local="Checksum<bit<8>>(8w1) c;")


def test_user_metadata_must_have_a_fixed_width() -> None:
    text = xsa_text().replace("bit<1> flag;", "varbit<8> flag;")
    with pytest.raises(Refused, match="no fixed width"):
        describe_text(text)


def test_block_parameters_must_fit_the_package() -> None:
    text = xsa_text().replace("in headers_t h", "inout headers_t h")
    with pytest.raises(Refused, match="Deparser needs in"):
        describe_text(text)


def test_direct_match_and_num_masks_are_table_properties() -> None:
    table = "table t {{ key = {{ h.p.a: {}; }} actions = {{ NoAction; }} {} }}"
    for kind, given in (("exact", "direct_match = true;"), ("ternary", "num_masks = 4;")):
        info = describe_text(xsa_text(local=table.format(kind, given), body="t.apply();"))
        assert [each.preamble.alias for each in info.tables] == ["t"]
