"""Wrong and unsupported programs are refused with the place, the construct and the reason."""

import pytest

from olafswitch.p4.refuse import Refused
from olafswitch.p4.syntax.preprocess import preprocess_text
from tests.p4.parts import compile_parts, describe_text


def test_the_frame_itself_compiles() -> None:
    compile_parts()


LINE = {"top": 7, "state": 9, "local": 12, "body": 13}
TABLE = "action a(bit<8> x) {{ }} table t {{ key = {{ h.h.v: {}; }} actions = {{ a; NoAction; }} {} }}"

CASES = [
    ("body", "h.h.w = 1;", "w", "no such field"),
    ("body", "nowhere = 1;", "nowhere", "not declared"),
    ("body", "h.h.v = 16w1;", "bit<16>", "bit<8> is needed"),
    ("body", "h.h.v = (bit<8>) 8s1 + 16w1;", "+", "differ"),
    ("body", "bit<8> x = 1; bit<8> x = 2;", "x", "declared twice"),
    ("body", "if (h.h.v) { }", "bit<8>", "bool is needed"),
    ("body", "m.flag = h.h.v < 8s1;", "<", "differ"),
    ("body", "m.flag = m.flag + true;", "+", "no such operator"),
    ("body", "h.h.v = h.h.v[8:1];", "slice", "outside"),
    ("body", "h.h.v = h.h.v / 0;", "/", "by zero"),
    ("body", "h.s[2].v = 1;", "index", "outside"),
    ("body", "h.s.next.v = 1;", ".next", "only parsers"),
    ("body", "mark_to_drop();", "mark_to_drop()", "not supported"),
    ("body", "8w1 = h.h.v;", "8w1", "grammar"),
    ("body", "s.egress_spec = ;", ";", "grammar"),
    ("body", "h.h.setValid(1);", "setValid", "no such method"),
    ("body", "resubmit({ m.m });", "resubmit", "field list"),
    ("body", "return 1;", "return", "no value"),
    ("body", "break;", "break", "not inside of a loop"),
    ("body", "hash(m.m, HashAlgorithm.random, 8w0, { h.h.v }, 8w9);", "random", "not supported"),
    ("body", 'static_assert(1 > 2, "one is less");', "static_assert", "one is less"),
    ("body", "verify(true, error.NoError);", "verify", "parsers only"),
    ("body", "bit<8> y = 8w1 ? 1 : 2;", "bit<8>", "bool is needed"),
    ("body", "h.u.setValid();", "setValid", "no such method"),
    ("body", "h.h.v = h.h.v == 1 ? 1 : 2;", "?:", "the width of its result is not known"),
    ("body", "h.h.v = (bit<8>) true;", "cast of bool", "does not exist"),
    ("body", "int<8> x = (int<8>) m.flag;", "cast of bool", "does not exist"),
    ("top", "void f() { exit; }", "exit", "not allowed in functions"),
    ("top", "void f(in int n) { }", "n", "an int cannot have a direction"),
    ("top", "void f(out bit<8> n = 3) { }", "n", "only an in parameter can have a default"),
    ("top", "bool f(int n, bit<8> x) { return x |+| 1 == 2 && n / 2 == 1; }", "/", "not defined on an int"),
    ("body", "bit<8> y = 1; int x = y;", "variable x", "cannot be of type int"),
    ("state", "packet.extract(h.h, 8);", "extract", "no field of variable size"),
    ("state", "packet.extract(m);", "extract", "not a header"),
    ("state", "exit;", "exit", "not allowed in parsers"),
    ("state", "transition select() { 1: accept; } } state next {", "select", "default only"),
    ("state", "transition nowhere;", "transition", "grammar"),
    ("top", "struct loop_t { nothing_t x; }", "nothing_t", "not declared"),
    ("top", "struct twice_t { bit<8> a; bit<8> a; }", "twice_t", "two fields"),
    ("top", "enum bit<8> e_t { A }", "e_t", "no value"),
    ("top", "typedef bit<9999> huge_t;", "width", "not within"),
    ("top", "#error no such thing\n", "preprocessor", "no such thing"),
    ("top", "const bit<8> c = 8w1 + d;", "d", "not declared"),
    ("top", "control C() { apply { } } C() c;", "c", "cannot be instantiated at top level"),
    ("top", "type bit<8> n_t; const bool b = (n_t) 1 == 1;", "n_t", "bit<8> is needed"),
    ("top", "type bit<8> n_t; const n_t n = 8w1;", "bit<8>", "n_t is needed"),
    ("top", "/* never closed", "comment", "never closed"),
    ("local", TABLE.format("exact", "junk = 5;"), "junk", "not one of v1model's"),
    ("local", TABLE.format("fuzzy", ""), "fuzzy", "not declared"),
    ("local", TABLE.format("exact", "default_action = b();"), "b", "does not list"),
    ("local", TABLE.format("exact", "default_action = a();"), "a", "arguments"),
    ("local", TABLE.format("exact", "const entries = { _: a(1); }"), "_", "matched exactly"),
    ("local", TABLE.format("exact", "const entries = { 1: a(1); 1: a(2); }"), "t", "matches the same"),
    ("local", TABLE.format("exact", "entries = { priority = 1: 1: a(1); }"), "priority", "no key"),
    ("local", TABLE.format("ternary", "const entries = { priority = 1: 1: a(1); }"), "priority", "const"),
    ("local", TABLE.format("ternary", "entries = { 2: a(1); priority = 1: 1: a(1); }"), "priority", "first"),
    ("local", "table t { actions = { NoAction; } const entries = { 1: NoAction(); } }", "entries", "no key"),
    ("local", TABLE.format("lpm", "const entries = { 5 &&& 5: a(1); }"), "&&&", "not a prefix"),
    ("local", TABLE.format("selector", "const entries = { 1: a(1); }"), "entries", "with selector keys"),
    ("local", TABLE.format("exact", "support_timeout = m.flag;"), "support_timeout", "compile time"),
    (
        "local",
        "action a(in bit<8> x, bit<8> y) { } table t { actions = { a(m.m); } default_action = a(h.h.v, 1); }",
        "x",
        "differs from the table's list",
    ),
    ("local", "table t { key = { h.h.v + 1: exact; } actions = { NoAction; } }", "table key", "@name"),
    ("local", "action x() { } action x() { }", "x", "declared twice"),
    ("local", TABLE.format("ternary", "entries = { @priority(x) 1: a(1); }"), "@priority", "not a number"),
    ("top", 'struct f_t { @field_list("1") bit<8> x; }', "@field_list", "not understood"),
    ("local", "counter(0xFFFFFFFF, CounterType.packets) c;", "c", "more than"),
    ("local", TABLE.format("exact", "implementation = action_profile(4);"), "implementation", "a @name"),
    ("body", "m.m = (bit<8>) (m.flag ? 1 : 2);", "?:", "not known"),
    ("body", "m.m = (bit<8>) (m.flag ? 8w1 : 16w2);", "bit<16>", "bit<8> is needed"),
    ("top", "bit<8> unused() { return nowhere; }", "nowhere", "not declared"),
    ("top", "bit<8> unused(in bit<16> x) { return x; }", "bit<16>", "bit<8> is needed"),
    ("top", "T unused<T>(in T x) { return nowhere; }", "nowhere", "not declared"),
    ("top", "action unused() { nowhere(); }", "nowhere", "not declared"),
    ("top", "control Unused(inout bit<8> x) { apply { x = nowhere; } }", "nowhere", "not declared"),
    ("top", "control Unused(out bit<8> x)(bit<16> n) { apply { x = n; } }", "bit<16>", "bit<8> is needed"),
    ("top", "parser Unused(packet_in p, out byte_t b) { state start { p.extract(c); }}", "c", "not declared"),
]  # fmt: skip


@pytest.mark.parametrize(("part", "text", "construct", "why"), CASES)
def test_refused(part: str, text: str, construct: str, why: str) -> None:
    with pytest.raises(Refused) as caught:
        compile_parts(**{part: text})
    assert construct in caught.value.construct
    assert why in caught.value.why
    assert caught.value.pos.file == "case.p4"
    assert caught.value.pos.line == LINE[part]
    assert caught.value.pos.column >= 1
    assert str(caught.value).startswith(f"case.p4:{LINE[part]}:")


IDS = [
    ("@id(0x01000001)", "@id(0x01000001)", "used twice"),
    ("@id(0x02000001)", "", "prefix"),
    ("@id(one)", "", "one is not a number"),
    ("@id", "", "nothing is not a number"),
]


@pytest.mark.parametrize(("first", "second", "why"), IDS)
def test_wrong_ids_are_refused(first: str, second: str, why: str) -> None:
    local = f"{first} action x() {{ }} {second} action y() {{ }} table t {{ actions = {{ x; y; }} }}"
    with pytest.raises(Refused, match=f"case.p4:12:.*@id.*{why}"):
        compile_parts(local=local, body="t.apply();")


@pytest.mark.parametrize(
    "local",
    [
        '@name(".x") action a() { m.m = 1; } @name(".x") action b() { m.m = 2; }',
        '@name("x") action a() { m.m = 1; } @name(".MyIngress.x") action b(bit<8> v) { m.m = v; }',
    ],
)
@pytest.mark.parametrize("body", ["", "a(); b(0);", "t.apply();"])
def test_two_actions_of_one_name_are_refused_used_or_not(local: str, body: str) -> None:
    body = body.replace("b(0)", "b(0)" if "bit<8> v" in local else "b()")
    table = "table t { actions = { a; b; } }" if "apply" in body else ""
    with pytest.raises(Refused, match=r"case.p4:12:\d+: \S*x: conflicting control plane name.*case.p4:12:"):
        compile_parts(local=local + table, body=body)


def test_copies_of_one_action_share_its_name() -> None:
    twice = 'control both(inout metadata_t m) { @name(".x") action a() { m.m = 1; } apply { a(); } }'
    info = compile_parts(top=twice, local="both() one; both() two;", body="one.apply(m); two.apply(m);")
    assert [action.preamble.name for action in info.actions] == ["x"]


def test_recursion_is_refused() -> None:
    with pytest.raises(Refused, match="must not be recursive"):
        compile_parts(top="bit<8> f(in bit<8> x) { return f(x); }", body="m.m = f(1);")


def test_a_function_must_return() -> None:
    with pytest.raises(Refused, match="every path"):
        compile_parts(top="bit<8> f(in bit<8> x) { if (x == 1) { return 2; } }", body="m.m = f(1);")


def test_unknown_externs() -> None:
    with pytest.raises(Refused, match="not supported"):
        compile_parts(top="extern void strange(in bit<8> x);", body="strange(1);")


def test_registers_hold_one_value_per_cell() -> None:
    with pytest.raises(Refused, match=r"case.p4:12:5: register<metadata_t>: .*one register for each field"):
        compile_parts(local="register<metadata_t>(4) r;", body="r.write(0, m);")


METER = """direct_meter<bit<8>>(MeterType.bytes) meter; action reads() { meter.read(m.m); }
    table t { actions = { NoAction; %s } meters = meter; }"""


def test_a_direct_meter_that_nothing_reads_is_refused() -> None:
    with pytest.raises(Refused, match=r"case.p4:13:\d+: table MyIngress.t: nothing reads its direct meter"):
        compile_parts(local=METER % "", body="t.apply();")
    assert compile_parts(local=METER % "", body="t.apply(); meter.read(m.m);").direct_meters
    assert compile_parts(local=METER % "reads;", body="t.apply();").direct_meters
    assert not compile_parts(local=METER % "").direct_meters


INNER = "control inner(register<bit<8>> r) { apply { r.write(0, 1); } }"


def test_extern_objects_are_no_arguments() -> None:
    with pytest.raises(Refused, match=r"case.p4:7:\d+: parameter r: .*constructor"):
        compile_parts(top=INNER, local="register<bit<8>>(4) r; inner() i;", body="i.apply(r);")
    with pytest.raises(Refused, match=r"case.p4:7:\d+: parameter r: .*constructor"):
        compile_parts(top=INNER, local="inner() i;")
    made = "control inner()(register<bit<8>> r) { apply { r.write(0, 1); } }"
    info = compile_parts(top=made, local="register<bit<8>>(4) r; inner(r) i;", body="i.apply();")
    assert [register.preamble.name for register in info.registers] == ["MyIngress.r"]


@pytest.mark.parametrize("text", ["", "// nothing\n", "#include <core.p4>\n", "#include <v1model.p4>\n\n"])
def test_a_program_without_main_is_refused_as_a_whole(text: str) -> None:
    with pytest.raises(Refused) as caught:
        describe_text(preprocess_text(text, "mine.p4"), "mine.p4")
    assert str(caught.value).startswith("mine.p4: program: has no main")
    assert "V1Switch" in caught.value.why


def test_programs_without_a_v1model_main() -> None:
    with pytest.raises(Refused, match="no main"):
        describe_text(preprocess_text("#include <core.p4>\nconst bit<8> x = 1;\n", "x.p4"), "x.p4")
    with pytest.raises(Refused, match="unexpected end"):
        describe_text(preprocess_text("control c(", "x.p4"), "x.p4")
    with pytest.raises(Refused, match="no such file"):
        preprocess_text('#include "nowhere.p4"\n', "x.p4")
