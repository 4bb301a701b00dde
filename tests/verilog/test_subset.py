"""Which programs become Verilog, which are refused, and where; what is written is Verilog-2005."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyverilog.vparser.parser import VerilogParser

from olafctl import paths
from olafswitch.cli.verbs.compile import command
from olafswitch.p4.refuse import Refused
from olafswitch.p4.syntax.preprocess import preprocess, preprocess_text
from olafswitch.p4.verilog.compile import compile_module, library
from olafswitch.p4.verilog.module import Module
from olafswitch.simulation.verilate import lint
from tests.p4.parts import parts_text
from tests.p4.switches import PROGRAMS

BOX = {"vnp4_1_xsa": {"worker_hash": "crc32"}, "vnp4_2_xsa": {}}


@pytest.fixture(scope="module")
def box() -> dict[str, Module]:
    """The two programs of the box."""
    folder = paths.sources() / "p4src"
    return {
        name: compile_module(preprocess(folder / f"{name}.p4", (), {}), name, name, functions)
        for name, functions in BOX.items()
    }


def _written(made: Module, folder: Path) -> list[str]:
    (folder / f"{made.name}.v").write_text(made.text)
    return [*map(str, library()), str(folder / f"{made.name}.v")]


@pytest.mark.parametrize("name", BOX)
def test_verilator_finds_nothing_to_warn_of(name: str, box: dict[str, Module], tmp_path: Path) -> None:
    files = [Path(path) for path in _written(box[name], tmp_path)]
    assert lint(name, [], files, ["--language", "1364-2005"]) == ""


@pytest.mark.parametrize("name", ["copies", "headers", "stateful", "tables", "value_sets"])
def test_verilator_finds_nothing_to_warn_of_in_a_sample(name: str, tmp_path: Path) -> None:
    made = compile_module(preprocess(PROGRAMS / f"{name}.p4", (), {}), f"{name}.p4", "p4_program")
    files = [Path(path) for path in _written(made, tmp_path)]
    assert lint("p4_program", [], files, ["--language", "1364-2005"]) == ""


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
@pytest.mark.parametrize("name", BOX)
def test_icarus_takes_it(name: str, box: dict[str, Module], tmp_path: Path) -> None:
    out = tmp_path / "a.out"
    command = ["iverilog", "-g2005", "-s", name, "-o", str(out), *_written(box[name], tmp_path)]
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


def test_a_hidden_table_has_no_entries() -> None:
    """No controller could name them, and none would write them."""
    local = """@hidden table t { key = { h.h.v: exact; } actions = { NoAction; }
        const entries = { 7: NoAction(); } }"""
    text = parts_text(
        local=local, body="if (t.apply().hit) { s.egress_spec = 3; }", state="packet.extract(h.h);"
    )
    with pytest.raises(Refused, match="entries of a hidden table"):
        compile_module(preprocess_text(text, "case.p4"), "case.p4")


SAMPLES = {
    "code": "loop: how often it is run is not known at compile time",
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
        assert compile_module(preprocess(path, (), {}), str(path)).description["cycles"] > 0
        return
    with pytest.raises(Refused, match=f"{name}.p4:[0-9]+:[0-9]+: .*{reason}"):
        compile_module(preprocess(path, (), {}), str(path))


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
    assert {path.name for path in library()} < {path.name for path in (tmp_path / "v").iterdir()}
    assert "header pipeline" in (tmp_path / "v" / "vnp4_1_xsa.txt").read_text()
