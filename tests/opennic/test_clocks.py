"""Every register at which a signal crosses between the box's clocks exists, and each is constrained."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from olafctl import paths
from olafctl.targets.opennic import plugin
from olafctl.wire.geometry import Geometry
from tests.opennic.test_plugin import P4

BOX = paths.sources() / "hdl" / "opennic"
INSTANCES = {"crossing": "olaf_box_crossing", "reset": "olaf_box_reset"}
CLOCKS = ("clk", "axil_aclk", "axis_aclk", "s_clk", "m_clk", "ref_clk")
VIVADO = """
set registers [list {registers}]
proc get_cells {{args}} {{
    regexp {{NAME =~ ([^ ]+)}} [lindex $args end] all name
    set pattern [string map {{\\[ \\\\\\[ \\] \\\\\\]}} $name]
    return [lsearch -all -inline -glob $::registers $pattern]
}}
proc set_max_delay {{args}} {{ puts $args }}
source {script}
"""


def module_text(module: str) -> str:
    return (BOX / f"{module}.v").read_text()


def find_registers(module: str) -> dict[str, str]:
    """Return each register of a module, by the clock that writes it."""
    found = {}
    for clock, block in re.findall(
        r"always @\(posedge (\w+)\)(.*?)(?=always @|assign |\Z)", module_text(module), re.S
    ):
        for group, name in re.findall(r"(?:\{([\w, ]+)\}|\b(\w+)) <=", block):
            for each in (group or name).split(","):
                found[each.strip()] = clock
    return found


def test_every_register_that_is_constrained_changes_clock() -> None:
    for pair in plugin.CROSSINGS:
        clocks = []
        for end in filter(None, pair):
            instance, _, name = end.partition("/")
            written = find_registers(INSTANCES[instance])
            clocks.append(written[re.sub(r"_reg(\[0\])?\*?$", "", name)])
        assert len(set(clocks)) == len(clocks)


def test_every_synchronizer_is_constrained() -> None:
    ends = {end.rpartition("/")[2] for _, end in plugin.CROSSINGS}
    for module in INSTANCES.values():
        for names in re.findall(r'async_reg = "true" \*\) reg \[1:0\] ([\w, ]+);', module_text(module)):
            assert {f"{name.strip()}_reg[0]" for name in names.split(",")} <= ends


def test_no_other_module_has_two_clocks() -> None:
    several = {
        path.stem
        for path in BOX.glob("*.v")
        if sum(re.search(rf"input +wire +{clock},", path.read_text()) is not None for clock in CLOCKS) > 1
    }
    assert several == {*INSTANCES.values(), "olaf_box_250mhz"}


def vivado_names() -> list[str]:
    """Return the registers' names in Vivado."""
    under = "shell/box/olaf_box/"
    reset = [f"{under}reset/{name}_reg" for name in find_registers("olaf_box_reset")]
    crossing = [
        f"{under}blocks[{block}].crossing/{name}_reg"
        for block in range(4)
        for name in find_registers("olaf_box_crossing")
    ]
    return [each for name in (*reset, *crossing) for each in (name, f"{name}[0]", f"{name}[1]")]


def run_constraints(tmp_path: Path, registers: list[str]) -> subprocess.CompletedProcess[str]:
    plugin.assemble_plugin(Geometry(slots=8, beats=142), P4).write(tmp_path / "plugin")
    listed = " ".join(f"{{{name}}}" for name in registers)
    script = tmp_path / "vivado.tcl"
    script.write_text(VIVADO.format(registers=listed, script=tmp_path / "plugin" / "clocks.tcl"))
    return subprocess.run(["tclsh", script], capture_output=True, text=True)


@pytest.mark.skipif(shutil.which("tclsh") is None, reason="tclsh is not installed")
def test_the_constraints_find_what_they_are_for(tmp_path: Path) -> None:
    done = run_constraints(tmp_path, vivado_names())
    assert (done.returncode, done.stderr) == (0, "")
    seen = done.stdout.splitlines()
    assert len(seen) == len(plugin.CROSSINGS)
    assert all(line.startswith("-datapath_only -from ") and line.endswith(" 4.0") for line in seen)
    assert seen[0].count("crossing/asked_there_reg[0]") == 4


@pytest.mark.skipif(shutil.which("tclsh") is None, reason="tclsh is not installed")
@pytest.mark.parametrize("gone", ["crossing/asked_there_reg", "reset/rests_reg", "crossing/read_reg"])
def test_a_register_that_is_not_there_ends_the_build(tmp_path: Path, gone: str) -> None:
    done = run_constraints(tmp_path, [name for name in vivado_names() if gone not in name])
    assert done.returncode == 1
    assert gone in done.stderr and "would be unconstrained" in done.stderr
