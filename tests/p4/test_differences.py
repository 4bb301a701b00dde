"""The notes where p4c or BMv2 differ: one for each kind, none where nothing differs."""

import pytest

from olafswitch.p4.check.bmv2 import find_differences
from olafswitch.p4.check.program import check_program
from olafswitch.p4.syntax.parse import parse_program
from olafswitch.p4.syntax.preprocess import preprocess_text
from tests.p4.parts import parts_text

_TABLE = "table t {{ key = {{ {}; }} actions = {{ NoAction; }} {} }}"
_WIDE = _TABLE.format('h.h.v ++ 24w0: range @name("k")', "const entries = { _: NoAction(); }")
_KEYED = _TABLE.format("s.parser_error: exact", "")
_READ = "m.flag = s.parser_error == error.NoMatch;"


@pytest.mark.parametrize(
    ("state", "local", "body", "noted"),
    [
        ("", "", "for (bit<8> i in 8w1 .. 3) { m.m = m.m + i; }", "once"),
        ("transition select(h.h.v) { 1 &&& 0: accept; default: accept; }", "", "", "mask is 0"),
        ("", _WIDE, "t.apply();", "wrong range"),
        ("transition select(h.h.v) { 1: accept; }", "", _READ, "no case of a select"),
        (
            "transition select(h.h.v) { 0: accept; 2 .. 9: accept; }",
            _KEYED,
            "t.apply();",
            "no case of a select",
        ),
        ("transition select(h.h.v, m.flag) { (0, _): accept; }", "", _READ, "no case of a select"),
        ("packet.lookahead<bit<8>>();", f"action a() {{ {_READ} }}", "a();", "lookahead"),
        ("transition select(h.h.v) { 1: accept; }", "", "", ""),
        ("m.m = packet.lookahead<bit<8>>();", "", _READ, ""),
        ("transition select(h.h.v, m.flag) { (0, _): accept; _: accept; }", "", _READ, ""),
        ("transition select(h.h.v[0:0]) { 0: accept; 1: accept; }", "", _READ, ""),
        ("transition select(m.flag) { true: accept; false: accept; }", "", _READ, ""),
    ],
)
def test_what_differs_there_is_noted(state: str, local: str, body: str, noted: str) -> None:
    text = parts_text(state=f"packet.extract(h.h); {state}", local=local, body=body)
    if "select" in state:
        text = text.replace(" transition accept;", "", 1)
    program = check_program(parse_program(preprocess_text(text, "case.p4")), "case.p4")
    found = [what for _, what in find_differences(program)]
    assert len(found) == bool(noted) and all(noted in what for what in found)
