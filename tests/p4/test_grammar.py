"""Every production of the grammar in programs that compile or are refused by name; compared with p4c."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from lark import Lark

from olafswitch.p4.compiler import as_text
from olafswitch.p4.refuse import Refused
from olafswitch.p4.syntax import parse
from olafswitch.p4.syntax.preprocess import preprocess_file, preprocess_text
from tests.p4.parts import describe_text, parts_text

P4C = shutil.which("p4c-bm2-ss")


def _make_parameters() -> str:
    made = []
    for at, (mark, way, end) in enumerate(
        product(("", "@mine "), ("in ", "out ", "inout ", ""), ("", " = 3"))
    ):
        if "out" in way and end:
            continue  # p4c refuses a default value for an out parameter
        made.append(f"{mark}{way}bit<8> p{at}{end}")
    required, optional = [each for each in made if "=" not in each], [each for each in made if "=" in each]
    return ", ".join([*required, *optional])


def _make_entries(const: bool, ranks: Sequence[str] = ("",)) -> str:
    made = []
    kinds = product(("", "@mine "), ("",) if const else ("", "const "), ranks, ("", " @mine"))
    for at, (mark, fixed, rank, end) in enumerate(kinds):
        made.append(f"{mark}{fixed}{rank}{at}: none(){end};")
    return f"{{ {''.join(made)} }}"


def _make_table(name: str, actions: str = "none;", **more: str) -> str:
    lines = {"key": "{ h.h.v: ternary; }", "actions": f"{{ {actions} }}", **more}
    return f"table {name} {{ {' '.join(f'{key} = {value}' for key, value in lines.items())} }}"


TYPES = """
@mine const bit<(4 + 4)> sized = 5; const int<(8)> signed_ = -3; const int whole = 7; ;
struct @mine annotated_s { bit<8> a; @mine bool b; } header @mine annotated_h { bit v; int<(8)> w; }
header_union @mine annotated_u { annotated_h x; annotated_h y; }
typedef @mine bit<8> octet_t; struct inside_t { bit<8> a; }
type @mine bit<8> own_t; enum bit<8> number_e { @mine One = 1, Two = 2, } enum plain_e { @mine Single, }
error { Mine, Other, } typedef .byte_t dotted_t; typedef byte_t[2] stack_t;
typedef tuple<bit<8>, bool, bit<4>> pair_t;
; ; extern @mine void outside(in bit<8> x); const list<bit<8>> l = {1, 2};
extern void any<T>(in T x); typedef tuple<> none_t; struct generic_s<T> { T v; }
typedef .generic_s<bit<8>> dotted_generic_t; header long_h { varbit<(16)> v; }
"""
FUNCTIONS = f"""
bit<8> plus({_make_parameters()}) {{ return p0 + p1; }}
bit<8> choose(in bit<8> apply_, in bit<8> x = 4) {{ return -apply_ + (+x) / 3 % 4 ^ x |+| 1 |-| 2; }}
control Made(inout bit<8> x)(bit<8> y) {{ apply {{ x = x + y; }} }}
void nothing() {{ ; {{ }} @mine {{ }} @mine {{ ; }} return; }}
"""
WORDS = """bit<8> key = 1; bit<8> actions = key;
bit<8> state = 3; bit<8> entries = 2; bit<8> type = 1; bit<8> list = 2;"""
LOCALS = f"""
const bit<8> local_c = 3; @mine const bit<8> marked_c = 4; @mine bit<8> marked_v = 5;
@mine action none() {{ }} action given(in bit<8> x, bit<8> y) {{ }} action from_top() {{ }}
{_make_table("a", "@mine none; none2; NoAction;", default_action="none();")}
{_make_table("b", "@mine given(h.h.v); .NoAction();", size="8;")}
{_make_table("c", "none;", entries=_make_entries(False, ("priority = 7: ", "priority = (7 + 1): ")))}
{_make_table("n", "none;", entries=_make_entries(False) + ";")}
@mine counter(4, CounterType.packets) counted; @mine table q {{ actions = {{ none; }}
@mine default_action = none(); }}
table d {{ @mine key = {{ h.h.v: exact @mine; }}; @mine actions = {{ none; }}; @mine const entries =
    {_make_entries(True)}; @mine size = 64; const default_action = none(); }}
table e {{ key = {{ }} actions = {{ .NoAction; @mine .NoAction2; }}; }} table f {{ key = {{ }};
actions = {{ none; }} entries = {{ }} }}
table k {{ actions = {{ }} }} table l {{ actions = {{ }}; }} table m {{ actions = {{ @mine .NoAction(); }} }}
table o {{ actions = {{ @mine .NoAction; }} }} table g {{ key = {{ h.h.v: exact; }} actions = {{ none;
}} entries = {{ }}; }} table i {{ actions = {{ none; }} const entries = {{ }}; }}
table j {{ actions = {{ none; }} const entries = {{ }} }}
""".replace("none2; ", "").replace("@mine .NoAction2; ", "")
BODY = """
bit<8> x = 1; @mine bit<8> y = 2; const bit<8> z = 3; @mine const bit<8> w = 4;
x += 1; x -= 2; x *= 3; x <<= 1; x >>= 1; x &= 7; x |= 8; x ^= 2; x |+|= 3; x |-|= 1; x /= 3; x %= 5;
choose(x); choose(apply_ = x,); choose(x, .sized,); nothing();
x[1 +: 2] = 2w3; y = x[0 +: 8]; y = .sized; if (x <= 3 && x >= 1 || "a" == "b") ; else { }
switch (x) { } switch (x) { 1: 2: { } default: } for (;x < 3;) { x = x + 1; }
@mine for (bit<8> i = 0, bit<8> k = 2; i < 3; i += 1, nothing(), x += 1) { continue; }
for (@mine bit<8> i = 0; i < 3; i = i + 1) break;
for (bit<8> i in 8w1 .. 8w3) { } @mine for (@mine bit<8> i in 1 .. 3) { } @mine for (bit<8> i in {1, 2}) { }
for (@mine octet_t i in 1 .. 3) { } for (octet_t i in 1 .. 3) { } @mine for (octet_t i in 1 .. 3) { }
@mine for (@mine octet_t i in {1}) { } for (@mine octet_t i in {1,}) { } for (octet_t i in {1, 2,}) { }
for (@mine bit<8> i in 1 .. 3) { } for (@mine bit<8> i in {1}) { } @mine for (@mine bit<8> i in {1}) { }
@mine for (octet_t i in {1}) { } @mine for (bit<8> i in 1 .. 2) { } for (bit<8> i in {1}) { }
@mine for (@mine octet_t i in 1 .. 3) { } int<8> n = 3; m.flag = (x > 3) != !m.flag;
x = ~(x - 1 * y) & (x >> 1); x[3:0] = 4w1; x = x[7:4] ++ x[3:0]; switch (x) { default: { } }
if (x == 3) { exit; }
inside_t s1 = { a = 1 }; byte_t b1 = { ... };
inside_t s2 = { a = 1, };
"""
STATE = """transition select(h.h.v) { 1: second; }; }
@mine state second { transition select(h.h.v, h.h.v,) { (1, 2,): third; (1 &&& 3, 4 .. 5): third;
default: third; } }
@mine state third { transition select(h.h.v,) { (1 &&& 3): fourth; (2 .. 3): fourth; (_): fourth; } }
state fourth { transition select(h.h.v, h.h.v, h.h.v) { (1, 2, 3): fifth; } }
state more_ { packet.advance(0); } state fifth { } @mine state sixth { }
@mine state seventh { packet.advance(0); }
@mine state more { packet.advance(0); transition accept; } state eighth { transition select(h.h.v) { };
} state ninth { transition select(h.h.v) { } }
state last {"""
REFUSED = {
    "an abstract method": {
        "top": "extern Z { } extern E { abstract bit<8> f(); abstract E(); @mine abstract bit<8> f(); }"
    },
    "a method with annotations": {"top": "extern E { @mine E(); @mine abstract E(); @mine bit<8> f(); }"},
    "an instance's initializer": {"local": "register<bit<8>>(4) r = { };"},
    **{
        f"{word} {kind}": {"top": f"{word} {kind} t;"}
        for word in ("typedef", "typedef @mine", "type", "type @mine")
        for kind in ("struct s_t { bit<8> a; }", "enum e_t { A }", "bit<8>[2]", "bit<8>[2][3]")
    },
    "an out parameter with a default": {
        "top": "void f(@mine out bit<8> a = 1, out bit<8> b = 2, inout bit<8> c = 3,"
        " @mine inout bit<8> d = 4) { }"
    },
    "an instance in statements": {"body": "bit<8>(3) x; @mine bit<8>(4) y;"},
    "an array of numbers": {"body": "bit<8>[2] x; bit<8>[2][3] y; bit<8>[2] z = {1, 2};"},
    "match_kind": {"body": "match_kind m = 1;"},
    "no braces' items": {"body": "bit<8> x = {};"},
    "an argument that is not given": {
        "top": "void f(out bit<8> a, out bit<8> b) { a = 1; b = 1; }",
        "body": "f(_, b = _); f(a = _, b = _); f(_, 3);",
    },
    "no properties": {"local": "table t { }"},
    "any type": {"top": "extern void any<T>(in T x);", "body": "any<_>(3);"},
    "no enumerators": {"top": "enum none_e { }", "body": "this = 3;"},
    "no type": {"body": "MyParser x;"},
    "this": {"body": "h.h.v = this.x;"},
}
P4C_TAKES = {
    "an array of numbers",
    *(f"{word} {kind}" for word in ("typedef", "typedef @mine")
      for kind in ("struct s_t { bit<8> a; }", "enum e_t { A }")),
    "typedef bit<8>[2]", "typedef bit<8>[2][3]",
}  # fmt: skip
"""Programs that p4c compiles and that are refused here by name."""


@cache
def _counting_parser() -> tuple[Lark, set[Any], set[Any]]:
    """Return a parser, its productions, and a set of the productions that it has used."""
    made = Lark(parse._GRAMMAR.read_text(), parser="lalr", start="program", lexer=parse._TokenFeed,
                keep_all_tokens=True, maybe_placeholders=False)  # fmt: skip
    callbacks, used = made.parser.parser.parser.callbacks, set[Any]()

    def counted(rule: Any, make: Any) -> Any:
        def run_counted(children: Any) -> Any:
            used.add(rule)
            return make(children)

        return run_counted

    for rule, make in list(callbacks.items()):
        callbacks[rule] = counted(rule, make)
    return made, set(callbacks), used


def _list_programs() -> Iterator[tuple[str, str]]:
    yield "types", "; ;\n" + parts_text(top=TYPES)
    yield "functions", parts_text(top=TYPES + FUNCTIONS)
    yield "locals", parts_text(local=LOCALS, body="")
    yield "body", parts_text(top=TYPES + FUNCTIONS, body=BODY)
    yield "words", parts_text(body=WORDS)
    yield "state", parts_text(state=STATE)
    yield "no subjects", parts_text(state="transition select() { default: accept; } } state more {")
    locals_ = "const bit<8> a = 1; bit<8> b; @mine const bit<8> c = 2; @mine bit<8> d = a; @mine Sub() sub;"
    locals_ += " value_set<bit<8>>(4) set1; @mine value_set<bit<8>>(4) set2;"
    made = parts_text(top="parser Sub(in bit<8> x) { state start { transition accept; } }")
    yield (
        "parser's locals",
        made.replace("standard_metadata_t s) {\n    state", f"standard_metadata_t s) {{ {locals_} state"),
    )
    yield from ((name, parts_text(**parts)) for name, parts in REFUSED.items())


def test_each_production_is_used_and_each_program_compiles_or_is_refused_by_name() -> None:
    made, every, used = _counting_parser()
    for name, text in _list_programs():
        text = preprocess_text(text, "case.p4")
        made.parse(text)
        try:
            describe_text(text)
        except Refused as refused:
            assert name in REFUSED and "does not fit" not in str(refused), (name, refused)
        else:
            assert name not in REFUSED, name
    made.parse("")
    for name in ("tables", "parser", "headers", "externs", "code"):
        made.parse(preprocess_file(Path(__file__).with_name("programs") / f"{name}.p4"))
    assert not every - used


@pytest.mark.skipif(P4C is None, reason="not on PATH: p4c-bm2-ss")
@pytest.mark.parametrize(("name", "text"), list(_list_programs()), ids=[name for name, _ in _list_programs()])
def test_p4c_takes_the_same_programs_and_writes_the_same_p4info(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "case.p4").write_text(text)
    command = [str(P4C), "--std", "p4-16", "case.p4", "-o", "case.json", "--p4runtime-files", "case.txtpb"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    try:
        mine = as_text(describe_text(preprocess_text(text, "case.p4")))
    except Refused:
        assert done.returncode or name in P4C_TAKES, text
    else:  # p4c's grammar has fewer annotations and semicolons
        assert done.returncode or (tmp_path / "case.txtpb").read_text() == mine, done.stderr
