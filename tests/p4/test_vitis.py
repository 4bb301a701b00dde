"""What VitisNetP4 does not support is reported with its place, each use of it, and nothing else is."""

import subprocess
import sys
from pathlib import Path

import pytest

from olafswitch.errors import BadInput
from olafswitch.p4.compiler import vitis_check
from olafswitch.p4.syntax.preprocess import preprocess, preprocess_text
from tests.p4.parts import FRAME as V1MODEL_FRAME
from tests.p4.xsa_parts import LINE, xsa_text

ROOT = Path(__file__).resolve().parents[2]

TABLE = "table t {{ key = {{ {} }} actions = {{ NoAction; }} size = {}; }}"
EXTERN = "UserExtern<{}>(4) e;"
ROW = "transition select(h.p.a, h.p.b) {{ {} }} }} state more {{"


def problems(**parts: str) -> list[str]:
    return [str(problem) for problem in vitis_check(xsa_text(**parts), "case.p4")]


def test_the_frame_itself_is_clean() -> None:
    assert problems() == []


@pytest.mark.parametrize("program", ["vnp4_1_xsa", "vnp4_2_xsa"])
def test_the_projects_programs_are_clean(program: str) -> None:
    source = ROOT / "p4src" / f"{program}.p4"
    assert vitis_check(preprocess(source), str(source)) == []


@pytest.mark.parametrize(
    ("part", "code", "construct", "why"),
    [
        ("body", "m.x = m.x / 3;", "/", "divide"),
        ("body", "m.x = m.x % 4;", "%", "divide"),
        ("body", "m.x = m.flag == 1 ? 16w1 : 2;", "?:", "if and else"),
        ("body", "int<8> i = 1;", "int<>", "unsigned"),
        ("body", "for (bit<8> i = 0; i < 3; i = i + 1) { m.x = 1; }", "for", "not among"),
        ("top", "enum mine_t { A, B }", "mine_t", "2026.1"),
        ("top", "header_union u_t { pair_t a; single_t b; }", "u_t", "not supported"),
        ("top", "struct t_t { tuple<bit<8>, bit<8>> t; }", "tuple", "not supported"),
        ("top", "match_kind { fuzzy }", "match_kind", "its own only"),
        ("local", "action a() { if (m.flag == 1) { m.x = 1; } }", "action a", "conditions"),
        ("state", "m.x = packet.lookahead<bit<16>>();", "lookahead", "not supported"),
        ("state", "packet.advance(8);", "advance", "not supported"),
        ("state", "m.y = packet.length();", "length", "not supported"),
        ("state", "packet.extract<single_t>(_);", "extract", "skip"),
        ("state", ROW.format("(_, 1): accept; (1, _): single;"), "select", "line 9"),
        ("state", ROW.format("(4 &&& 4, _): accept; (6, 1): single;"), "select", "overlaps"),
        ("state", ROW.format("(3..9, _): accept; (1 &&& 9, _): single;"), "select", "overlaps"),
        ("emits", "if (h.p.isValid()) { packet.emit(h.p); }", "MyDeparser", "conditions"),
        ("emits", "packet.emit(h.p); packet.emit(h.p);", "p", "once"),
        ("emits", "packet.emit(h); packet.emit(h.t);", "t", "once"),
        ("emits", "packet.emit(h.t); packet.emit(h.p);", "p", "order"),
        ("local", EXTERN.format("bit<8>, bit<8>"), "e", "applied 0 times"),
        ("local", "Counter<bit<64>, bit<32>>(65537, CounterType_t.BYTES) c;", "c", "65536"),
    ],
)
def test_each_use_is_reported_with_its_place(part: str, code: str, construct: str, why: str) -> None:
    [problem] = problems(**{part: code})
    place, _, what = problem.partition(": ")
    assert place.startswith(f"case.p4:{LINE[part]}:")
    assert construct in what.partition(": ")[0]
    assert why in what


@pytest.mark.parametrize(
    ("local", "body", "line", "why"),
    [
        (
            EXTERN.format("bit<8>, bit<8>"),
            "e.apply(1, h.p.b); e.apply(2, h.p.a);",
            "local",
            "2 times",
        ),
        (EXTERN.format("pairs_t, bit<8>") + " pairs_t s;", "e.apply(s, h.p.b);", "local", "structures in it"),
        ("Checksum<bit<16>>(HashAlgorithm_t.CRC32) c;", "c.apply(h.p, m.x);", "body", "multiples of 32"),
        ("Checksum<bit<16>>(HashAlgorithm_t.CRC16) c;", "c.apply(h.p.a, m.x);", "body", "multiples of 16"),
        (TABLE.format("h.p.a: exact;", 16), "t.apply(); t.apply();", "local", "once"),
        (TABLE.format("h.p.a: exact;", 64), "t.apply();", "local", "10 to 1024"),
        (TABLE.format("h.p.a: ternary;", 40000), "t.apply();", "local", "992 and 32768"),
    ],
)
def test_each_use_of_an_extern_or_table_is_reported(local: str, body: str, line: str, why: str) -> None:
    top = "struct pairs_t { bit<8> a; pair_t p; }"
    [problem] = problems(top=top, local=local, body=body)
    assert problem.startswith(f"case.p4:{LINE[line]}:")
    assert why in problem


@pytest.mark.parametrize(
    ("part", "code"),
    [
        ("body", "m.x = 16w9 / 3;"),
        ("state", ROW.format("(1, _): accept; (2, _): single; (3 &&& 3, 1): accept; default: accept;")),
        ("state", ROW.format("(1..6, _): accept; (8 &&& 8, _): single; _: accept;")),
        ("emits", "packet.emit(h);"),
        ("local", TABLE.format("h.p.a: exact;", 64).replace("size", "direct_match = true; size")),
    ],
)
def test_what_is_supported_is_not_reported(part: str, code: str) -> None:
    body = {"local": "t.apply();"}.get(part)
    assert problems(**{part: code}, **({"body": body} if body else {})) == []


@pytest.mark.parametrize(
    ("declared", "code", "line", "why"),
    [
        ("Inner() inner;", "inner.apply(packet, m);", 8, "inside of parsers"),
        ("value_set<bit<8>>(4) v;", "", 10, "not among"),
    ],
)
def test_what_parsers_cannot_have_is_reported(declared: str, code: str, line: int, why: str) -> None:
    top = "\nparser Inner(packet_in p, inout metadata_t m) { state start { transition accept; } }"
    text = xsa_text(top=top, state=code).replace("state start { packet", f"{declared} state start {{ packet")
    [problem] = vitis_check(text, "case.p4")
    assert problem.where.startswith(f"case.p4:{line}:")
    assert why in problem.what


def test_header_stacks_do_not_move() -> None:
    text = xsa_text(body="h.s.pop_front(1);").replace("single_t t; }", "single_t t; single_t[2] s; }")
    [problem] = vitis_check(text, "case.p4")
    assert problem.what.startswith("pop_front: not supported")


def test_externs_belong_into_match_action() -> None:
    text = xsa_text(top="Counter<bit<64>, bit<8>>(8, CounterType_t.PACKETS) c;", state="c.count(h.p.a);")
    [problem] = vitis_check(text, "case.p4")
    assert problem.where.startswith(f"case.p4:{LINE['state']}:")
    assert "match-action only" in problem.what


def test_all_uses_are_reported_at_once_in_order() -> None:
    twice = "packet.emit(h.p); packet.emit(h.p);"
    found = problems(body="m.x = m.x / 3;", top="enum mine_t { A }", emits=twice)
    assert [int(problem.split(":")[1]) for problem in found] == [LINE["top"], LINE["body"], LINE["emits"]]


def test_a_program_for_v1model_is_refused() -> None:
    text = preprocess_text(V1MODEL_FRAME.format(top="", state="", local="", body=""), "case.p4")
    with pytest.raises(BadInput, match=r"case\.p4: .*v1model.*XilinxPipeline"):
        vitis_check(text, "case.p4")


def test_the_command_prints_each_and_writes_nothing(tmp_path: Path) -> None:
    source = tmp_path / "case.p4"
    source.write_text(
        "#include <core.p4>\n#include <xsa.p4>\nheader b_t { bit<8> v; }\nstruct h_t { b_t b; }\n"
        "struct m_t { bit<8> x; }\n"
        "parser P(packet_in p, out h_t h, inout m_t m, inout standard_metadata_t s) {\n"
        "    state start { p.extract(h.b); transition accept; }\n}\n"
        "control A(inout h_t h, inout m_t m, inout standard_metadata_t s) {\n"
        "    apply {\n        m.x = m.x / 3;\n        m.x = m.x % 3;\n    }\n}\n"
        "control D(packet_out p, in h_t h, inout m_t m, inout standard_metadata_t s) {\n"
        "    apply { p.emit(h.b); }\n}\n"
        "XilinxPipeline(P(), A(), D()) main;\n"
    )
    command = [sys.executable, "-m", "olafswitch", "compile", str(source), "-o", str(tmp_path / "out")]
    done = subprocess.run([*command, "--check-vitis"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"{source}:11:" in done.stderr and f"{source}:12:" in done.stderr
    assert not (tmp_path / "out").exists()
