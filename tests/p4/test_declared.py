"""P4Info of rarely used declarations and annotations."""

import pytest

from olafswitch.p4.refuse import Refused
from olafswitch.p4.syntax.preprocess import preprocess_text
from olafswitch.p4.syntax.tokens import tokenize_text
from olafswitch.p4runtime.protocol import p4info_pb2
from tests.p4.parts import FRAME, compile_parts, describe_text

KEYED = "action a() {{ }} {} table t {{ key = {{ {} }} actions = {{ {} a; }} {} }}"


def _make_keyed(
    notes: str = "", key: str = "h.h.v: exact;", ref: str = "", more: str = "", top: str = ""
) -> p4info_pb2.P4Info:
    return compile_parts(top=top, local=KEYED.format(notes, key, ref, more), body="t.apply();")


def test_annotations_keep_their_words_apart_and_their_lines() -> None:
    notes = '@restriction("\n  // v is never 0\n  v != 0;\n") @refers_to(other, field) @tagged'
    info = _make_keyed(notes, ref="@noted(1)")
    assert list(info.tables[0].preamble.annotations) == [
        '@restriction("\n  // v is never 0\n  v != 0;\n")',
        "@refers_to(other , field)",
        "@tagged",
    ]
    refs = {tuple(ref.annotations): ref.scope for ref in info.tables[0].action_refs}
    assert refs == {("@noted(1)",): 0, ("@defaultonly",): p4info_pb2.ActionRef.DEFAULT_ONLY}


def test_lines_after_a_long_string_keep_their_numbers() -> None:
    text = 'const string a = "x\ny" ; b\n# define c "d" // "\nc e /* "\n */\nf'
    tokens = tokenize_text(preprocess_text(text, "case.p4"))
    assert [(token.text, token.pos.line) for token in tokens[-5:]] == [
        (";", 2),
        ("b", 2),
        ('"d"', 4),
        ("e", 4),
        ("f", 6),
    ]
    assert tokens[4].text == '"x\ny"'


def test_the_first_name_counts_and_a_dot_names_the_whole() -> None:
    top = '@name(".all") struct named_t { @name(".whole.path") bit<8> x; @name("part") bit<8> y; }'
    info = compile_parts(
        top=top,
        local="""named_t n; action a() { }
            @name("first") @name("second") table t { key = { n.x: exact; n.y: exact; } actions = { a; } }""",
        body="t.apply();",
    )
    assert info.tables[0].preamble.name == "MyIngress.first"
    assert [field.name for field in info.tables[0].match_fields] == ["whole.path", "n.part"]


def test_a_table_and_an_action_of_one_name_have_one_alias() -> None:
    info = compile_parts(local='action x() { } @name("x") table y { actions = { x; } }', body="y.apply();")
    assert info.tables[0].preamble.alias == "x"
    assert {action.preamble.alias for action in info.actions} == {"x", "NoAction"}


def test_enumerations_of_numbers_are_described_in_keys() -> None:
    info = _make_keyed(key='(kind_t) h.h.v: exact @name("k");', top="enum bit<8> kind_t { one = 1, two = 2 }")
    members = info.type_info.serializable_enums["kind_t"].members
    assert [(member.name, member.value) for member in members] == [("one", b"\x01"), ("two", b"\x02")]


def test_sizes_of_selector_groups() -> None:
    selector = "implementation = action_selector(HashAlgorithm.crc16, 64, 16);"
    key = "h.h.v: exact; m.m: selector;"

    def sized(semantics: str) -> p4info_pb2.ActionProfile:
        notes = f'@name("s") @max_group_size(9) @max_member_weight(77) {semantics}'
        (profile,) = _make_keyed(key=key, more=f"{notes} {selector}").action_profiles
        assert profile.max_group_size == 9 and not profile.preamble.annotations
        return profile

    of_members = sized('@selector_size_semantics("sum_of_members")')
    assert of_members.sum_of_members.max_member_weight == 77
    assert sized('@selector_size_semantics("sum_of_weights")').HasField("sum_of_weights")
    assert sized("").WhichOneof("selector_size_semantics") is None


@pytest.mark.parametrize("more", ["", '@name("p") implementation = action_profile(4);'])
def test_selector_keys_match_nothing_where_no_selector_is(more: str) -> None:
    (table,) = _make_keyed(key="m.m: selector; h.h.v: exact;", more=more).tables
    assert [(field.id, field.name) for field in table.match_fields] == [(2, "h.h.v")]


def test_controller_headers_need_not_be_among_the_headers() -> None:
    top = '@controller_header("packet_in") header in_t { @id(7) bit<9> port; bit<7> rest; }'
    (header,) = compile_parts(top=top).controller_packet_metadata
    assert header.preamble.name == "packet_in"
    port = header.metadata[0]
    assert (port.id, port.name, port.bitwidth) == (7, "port", 9)


def test_tables_that_time_out() -> None:
    notify = p4info_pb2.Table.NOTIFY_CONTROL
    assert _make_keyed(more="support_timeout = true;").tables[0].idle_timeout_behavior == notify
    assert _make_keyed(more="support_timeout = false;").tables[0].idle_timeout_behavior == 0


def test_numbers_are_given_to_distinct_types() -> None:
    compile_parts(
        top="type bit<8> id_t; const id_t none = 0; struct ids_t { id_t x; }",
        body="id_t i = 3; i = 4; if (i == none) { m.m = (bit<8>) i; }",
    )


UNUSED = """
T same<T>(in T x) { return x; }
T again<T>(in T x) { T y = same(x); return same<T>(y); }
action lost(bit<8> x) { NoAction(); }
enum side_t { left, right }
control Unused(inout bit<8> x)(bit<8> n, bool b, side_t side, register<bit<8>> r) {
    counter(4, CounterType.packets) c;
    action a(bit<8> y) { x = y / n; r.write(0, x); c.count((bit<32>) n); }
    table t { key = { x: exact; } actions = { a; } }
    apply { if (b && side == side_t.left) { t.apply(); } x = again(x); }
}
parser Lost(packet_in p, out byte_t b) { state start { p.extract(b); transition accept; } }
"""


def test_what_nothing_uses_is_checked_and_left_out() -> None:
    assert compile_parts(top=UNUSED) == compile_parts()


def test_a_select_over_nothing() -> None:
    frame = "transition select() { default: next; } } state next {"
    compile_parts(state=frame)


def test_tables_that_are_never_applied_are_not_listed() -> None:
    meter = "direct_meter<bit<8>>(MeterType.bytes) d; action a() { d.read(m.m); }"
    table = "table {} {{ key = {{ h.h.v: exact; }} actions = {{ a; }} {} }}"
    local = f"{meter} {table.format('idle', 'meters = d;')} {table.format('used', '')}"
    info = compile_parts(local=local, body="used.apply();")
    assert [table.preamble.alias for table in info.tables] == ["used"]
    assert not info.direct_meters
    whole = compile_parts(local=local, body="idle.apply(); used.apply();")
    assert [table.preamble.alias for table in whole.tables] == ["idle", "used"]
    assert whole.direct_meters[0].direct_table_id == whole.tables[0].preamble.id


def test_numbers_in_annotations_are_written_as_elsewhere() -> None:
    info = compile_parts(
        top="struct kept_t { @field_list(8w1, 0b10) bit<8> x; }",
        local="""@id(32w0x0100_0010) action a() { } @id(018) action b() { }
            table t { actions = { a; b; } }""",
        body="t.apply();",
    )
    assert {action.preamble.id for action in info.actions} >= {0x01000010, 0x01000000 | 18}


def test_directives_inside_a_string_are_processed() -> None:
    text = """@restriction("
  always != 0;
#ifdef EXTRA
  extra != 0;
#else
  other != 0;
#endif
") table
"""
    for defines, kept in (({}, "\n\n\n\n  other != 0;\n\n"), ({"EXTRA": "1"}, "\n\n  extra != 0;\n\n\n\n")):
        note, table = tokenize_text(preprocess_text(text, "case.p4", (), defines))
        assert note.annotation is not None
        assert note.annotation.body == (("TEXT", f'"\n  always != 0;{kept}"'),)
        assert table.pos.line == 8


def test_only_what_the_control_plane_can_use_is_listed() -> None:
    local = """action unused(bit<8> x) { m.m = x; } action inner(bit<8> x) { m.m = x; }
        action called(bit<8> x) { inner(x); } action listed(bit<8> x) { inner(x); }
        counter(4, CounterType.packets) c; register<bit<8>>(4) r;
        table t { actions = { listed; NoAction; } size = 0; }
        table never { actions = { unused; } }"""
    info = compile_parts(local=local, body="called(1); if (false) { never.apply(); } t.apply();")
    listed = [(action.preamble.alias, [param.name for param in action.params]) for action in info.actions]
    assert listed == [("NoAction", []), ("called", []), ("listed", ["x"])]
    assert [table.preamble.alias for table in info.tables] == ["t"]
    assert info.tables[0].size == 1024
    assert (len(info.counters), len(info.registers)) == (1, 1)


def test_objects_of_inner_controls_stand_at_their_declaration() -> None:
    top = "control inner() { action a() { } table t { actions = { a; } } apply { t.apply(); } }"
    table = "table {} {{ actions = {{ NoAction; }} }}"
    local = f"{table.format('before')} inner() i; {table.format('after')}"
    info = compile_parts(
        top=top, local=local, body="inner.apply(); after.apply(); i.apply(); before.apply();"
    )
    names = [table.preamble.name for table in info.tables]
    assert names == ["MyIngress.before", "MyIngress.i.t", "MyIngress.after", "MyIngress.inner.t"]


def test_keys_are_named_as_they_are_written() -> None:
    keys = "h.h.v & 0x0F: exact; h.h.v[7:4]: exact; m.m & MASK: exact; h.s[0x1].v: exact;"
    info = _make_keyed(key=keys, top="const bit<8> MASK = 0b11;")
    names = [field.name for field in info.tables[0].match_fields]
    assert names == ["h.h.v & 0xf", "h.h.v[7:4]", "m.m & 0b11", "h.s[0x1].v"]


def test_structured_annotations_and_documentation() -> None:
    notes = '@list[1 + 2, true, "x"] @pairs[a=1, b="y"] @brief("short") @description("long")'
    preamble = _make_keyed(notes).tables[0].preamble
    listed, pairs = preamble.structured_annotations
    values = listed.expression_list.expressions
    assert (values[0].int64_value, values[1].bool_value, values[2].string_value) == (3, True, "x")
    assert [(pair.key, pair.value.WhichOneof("value")) for pair in pairs.kv_pair_list.kv_pairs] == [
        ("a", "int64_value"),
        ("b", "string_value"),
    ]
    assert (preamble.doc.brief, preamble.doc.description) == ("short", "long")


def test_the_package_is_described() -> None:
    text = FRAME.format(top="", state="", local="", body="").replace(
        "V1Switch(",
        '@pkginfo(name="n", version="1") @platform_property(multicast_group_table_size=7) V1Switch(',
    )
    info = describe_text(preprocess_text(text, "case.p4")).pkg_info
    assert (info.name, info.version, info.arch) == ("n", "1", "v1model")
    assert info.platform_properties.multicast_group_table_size == 7


def test_default_arguments_have_their_full_width() -> None:
    more = "default_action = wide(10);"
    local = f"action wide(bit<32> x) {{ }} table t {{ actions = {{ wide; }} {more} }}"
    (argument,) = compile_parts(local=local, body="t.apply();").tables[0].initial_default_action.arguments
    assert argument.value == b"\0\0\0\n"


def test_ids_of_fields_are_given_or_the_next_that_is_free() -> None:
    keys = "h.h.v: exact; m.m: exact @id(1); h.s[0].v: exact; h.s[1].v: exact @id(9); m.flag: exact;"
    params = "bit<8> x, @id(3) bit<8> y, bit<8> z"
    actions = "actions = { wide; NoAction; } default_action = wide(1, 2, 3);"
    local = f"action wide({params}) {{ }} table t {{ key = {{ {keys} }} {actions} }}"
    info = compile_parts(local=local, body="t.apply();")
    (table,) = info.tables
    assert [field.id for field in table.match_fields] == [2, 1, 3, 9, 4]
    wide = next(action for action in info.actions if action.preamble.alias == "wide")
    assert [param.id for param in wide.params] == [1, 3, 2]
    default = table.initial_default_action.arguments
    assert [(argument.param_id, argument.value) for argument in default] == [
        (1, b"\1"),
        (3, b"\2"),
        (2, b"\3"),
    ]


@pytest.mark.parametrize("given", [("@id(3)", "@id(3)"), ("@id(0)", "")])
def test_ids_of_fields_are_unique_and_above_0(given: tuple[str, str]) -> None:
    first, second = given
    with pytest.raises(Refused, match=r"used twice|no id"):
        _make_keyed(key=f"h.h.v: exact {first}; m.m: exact {second};")
    local = f"action a({first} bit<8> x, {second} bit<8> y) {{ }} table t {{ actions = {{ a; }} }}"
    with pytest.raises(Refused, match=r"used twice|no id"):
        compile_parts(local=local, body="t.apply();")


def test_a_value_sets_annotations_are_not_those_of_its_match() -> None:
    text = FRAME.format(top="", state="", local="", body="")
    declared = '@id(7) @brief("b") @deprecated("no") value_set<bit<8>>(4) listed; state start { '
    text = text.replace("state start { ", declared).replace(
        "transition accept;",
        "packet.extract(h.h); transition select(h.h.v) { listed: accept; default: accept; }",
    )
    (values,) = describe_text(preprocess_text(text, "case.p4")).value_sets
    assert (values.preamble.id, values.preamble.doc.brief) == (0x03000007, "b")
    (match,) = values.match
    assert (match.id, list(match.annotations), match.doc.brief) == (1, [], "")


def test_annotations_of_the_package_elsewhere_are_as_written() -> None:
    preamble = _make_keyed('@pkginfo(name="n", version="1")').tables[0].preamble
    assert list(preamble.annotations) == ['@pkginfo(name="n", version="1")']
