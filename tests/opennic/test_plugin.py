"""The plug-in is complete, bound by one build id, and built to its end by the shell's own build.tcl."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from olafctl import paths
from olafctl.targets import testbeds
from olafctl.targets.opennic import plugin, preflight
from olafctl.targets.opennic.build import build_plugin
from olafctl.targets.opennic.metadata import bus_width, list_fields
from olafctl.targets.opennic.plugin import Plugin
from olafctl.testbed.model import BlockKind
from olafctl.wire.geometry import Geometry
from olafswitch import cache
from olafswitch.p4.syntax.preprocess import preprocess_file

SHELL = os.environ.get("OPEN_NIC_SHELL", "")
P4 = paths.sources() / "p4src"
STUB = Path(__file__).parent / "vivado_stub.tcl"
needs_tclsh = pytest.mark.skipif(shutil.which("tclsh") is None, reason="tclsh is not installed")
needs_shell = pytest.mark.skipif(
    not (Path(SHELL) / "script" / "build.tcl").is_file(),
    reason="OPEN_NIC_SHELL does not name a checkout of open-nic-shell",
)
FIVE = (
    "build_box_250mhz.tcl",
    *(
        f"box_250mhz/{name}"
        for name in (
            "user_plugin_250mhz_inst.vh",
            "box_250mhz_address_map_inst.vh",
            "box_250mhz_address_map.v",
            "box_250mhz_axi_crossbar.tcl",
        )
    ),
)
Answer = tuple[str, str, str]


@pytest.fixture(scope="module")
def made() -> Plugin:
    """Provide a plug-in with VitisNetP4, so that it has all of the Tcl."""
    return plugin.assemble_plugin(Geometry(slots=8, beats=142), P4, vitis=True)


@pytest.fixture(scope="module")
def own() -> Plugin:
    return plugin.assemble_plugin(Geometry(slots=8, beats=142), P4)


def test_ours_needs_no_ip(own: Plugin, made: Plugin) -> None:
    assert {"hdl/vnp4_1.v", "hdl/vnp4_2.v", "hdl/p4_exact.v", "agent/vnp4_1.tables.json"} <= set(own.files)
    assert "ips.tcl" not in own.files and "ips.tcl" not in own.files["build_box_250mhz.tcl"]
    assert own.build_id != made.build_id
    assert "ips.tcl" in made.files and "hdl/vnp4_1.v" not in made.files


def good_answers() -> list[Answer]:
    """Return Vivado's answers when the IPs are as the box needs them."""
    answers = [
        (ip, f"CONFIG.{name}", value)
        for ip, bits, externs in (("vnp4_1", "17", "1"), ("vnp4_2", "19", "0"))
        for name, value in (
            ("USER_META_DATA_WIDTH", str(bus_width(list_fields()))),
            ("NUM_USER_EXTERNS", externs),
            ("USER_EXTERN_OUT_WIDTH", "104"),
            ("USER_EXTERN_IN_WIDTH", "32"),
            ("S_AXI_ADDR_WIDTH", bits),
            ("TOTAL_LATENCY", "57"),
        )
    ]
    names = {name for _, name, _ in answers} | {f"CONFIG.{name}" for name, _ in plugin.PROPERTIES}
    answers += [(ip, "LIST", " ".join(sorted(names))) for ip in ("vnp4_1", "vnp4_2")]
    return [*answers, ("impl_1", "STATS.WNS", "0.012"), ("impl_1", "STATS.WHS", "0.003")]


@dataclass(frozen=True)
class Run:
    """A script's run under the stub."""

    code: int
    output: str
    calls: list[str]

    def calls_of(self, name: str) -> list[str]:
        return [call for call in self.calls if call.split(" ", 1)[0] == name]


def run_build(made: Plugin, tmp_path: Path, changes: Sequence[Answer] = ()) -> Run:
    """Run the whole build, with the shell's own build.tcl, under the stub."""
    shell = tmp_path / "open-nic-shell"
    for name in ("script", "src", "plugin"):
        shutil.copytree(Path(SHELL) / name, shell / name)
    folder = tmp_path / "plugin"
    made.write(folder)
    answers = {(one[0], one[1]): one[2] for one in [*good_answers(), *changes]}
    text = "\n".join(f"{{{who} {what} {{{value}}}}}" for (who, what), value in answers.items())
    (tmp_path / "answers").write_text(text)
    result = subprocess.run(
        ["tclsh", STUB, folder / plugin.RUN, tmp_path / "record", tmp_path / "answers", shell, "2"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    return Run(
        result.returncode, result.stdout + result.stderr, (tmp_path / "record").read_text().splitlines()
    )


def test_it_has_what_the_shell_wants(made: Plugin) -> None:
    assert set(FIVE) <= set(made.files)
    assert {"p4/vnp4_1.p4", "p4/vnp4_2.p4", "hdl/olaf_queue.v", "hdl/olaf_instance.v"} <= set(made.files)
    assert not [name for name in made.files if "322mhz" in name]


def test_one_build_id_is_everywhere(made: Plugin) -> None:
    assert re.fullmatch("[0-9a-f]{8}", made.build_id)
    assert f".BUILD_ID(32'h{made.build_id})" in made.files["box_250mhz/user_plugin_250mhz_inst.vh"]
    assert f"-bitstream_usr_access 0x{made.build_id}" in made.files[plugin.RUN]
    manifest = json.loads(made.files[plugin.MANIFEST])
    assert manifest["build_id"] == made.build_id
    assert manifest["files"]["p4/vnp4_1.p4"] == cache.digest([made.files["p4/vnp4_1.p4"]])


def test_any_change_is_another_build(made: Plugin) -> None:
    other = plugin.assemble_plugin(Geometry(slots=9, beats=142), P4, vitis=True)
    assert other.build_id != made.build_id
    assert plugin.assemble_plugin(Geometry(slots=8, beats=142), P4, vitis=True).build_id == made.build_id


@pytest.mark.parametrize("name", ["vnp4_1", "vnp4_2"])
def test_the_ips_programs_are_whole(made: Plugin, tmp_path: Path, name: str) -> None:
    made.write(tmp_path)
    text = preprocess_file(tmp_path / "p4" / f"{name}.p4")
    assert "XilinxPipeline(" in text and "direct_counter(CounterType.packets" not in text


def test_a_testbed_builds_without_vivado_and_only_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OLAF_CACHE", str(tmp_path))
    bed = testbeds.load_testbed(testbeds.locate_testbed("laptop"))
    first, second = build_plugin(bed, lambda step: None), build_plugin(bed, lambda step: None)
    assert first.fresh and not second.fresh and first.folder == second.folder
    assert (first.folder / "hdl" / "vnp4_1.v").is_file()
    assert str(first.folder) in plugin.build_command(first.folder)


@needs_tclsh
@needs_shell
def test_the_shells_own_build_takes_it_to_its_end(made: Plugin, tmp_path: Path) -> None:
    done = run_build(made, tmp_path)
    assert done.code == 0, done.output
    assert "Skip unknown argument" not in done.output
    folder = tmp_path / "plugin"
    ips = [call for call in done.calls_of("create_ip") if "vitis_net_p4" in call]
    assert [call.split()[-1] for call in ips] == ["vnp4_1", "vnp4_2"]
    for ip in ("vnp4_1", "vnp4_2"):
        sets = [call for call in done.calls_of("set_property") if call.endswith(f" {ip}")]
        assert sets[0] == f"set_property CONFIG.P4_FILE {folder}/p4/{ip}.p4 {ip}"
        assert f"launch_runs {ip}_synth_1" in done.calls
    read = " ".join(done.calls_of("read_verilog"))
    for name in made.files:
        if name.startswith("hdl/"):
            assert f"{folder}/{name}" in read
    assert f"{folder}/box_250mhz/box_250mhz_address_map.v" in read
    includes = next(
        call for call in done.calls_of("set_property") if call.startswith("set_property include_dirs")
    )
    assert f"{folder}/hdl" in includes and f"{folder}/box_250mhz" in includes
    order = [call for call in done.calls if "impl_1" in call or call.startswith("write_cfgmem")]
    steps = [call for call in order if call.startswith("launch_runs")]
    assert steps[0].startswith(f"launch_runs impl_1 -to_step {plugin.LAST_STEP}")
    assert steps[1].startswith("launch_runs impl_1 -to_step write_bitstream")
    assert order.index("get_property STATS.WNS impl_1") < order.index(steps[1])
    assert done.calls_of("write_cfgmem")
    constraints = (tmp_path / "open-nic-shell" / "build").glob("*/run_params.xdc")
    assert [f"0x{made.build_id}" in path.read_text() for path in constraints] == [True]
    clocks = f"{folder}/clocks.tcl"
    assert f"read_xdc -unmanaged {clocks}" in done.calls
    assert f"set_property USED_IN_SYNTHESIS false {clocks}" in done.calls


@needs_tclsh
@needs_shell
def test_a_property_that_vivado_lacks_does_not_end_the_build(made: Plugin, tmp_path: Path) -> None:
    known = next(value for ip, name, value in good_answers() if (ip, name) == ("vnp4_1", "LIST"))
    gone = ("PKT_RATE", "USER_EXTERN_OUT_WIDTH", "TOTAL_LATENCY")
    left = " ".join(name for name in known.split() if name.removeprefix("CONFIG.") not in gone)
    done = run_build(made, tmp_path, [("vnp4_1", "LIST", left)])
    assert done.code == 0, done.output
    for name in gone:
        assert f"WARNING: Olaf: vnp4_1 has no CONFIG.{name}" in done.output
        assert f"vnp4_2 has no CONFIG.{name}" not in done.output
    assert not [call for call in done.calls if call.endswith(" vnp4_1") and "PKT_RATE" in call]


@needs_tclsh
@needs_shell
@pytest.mark.parametrize("name", ["STATS.WNS", "STATS.WHS"])
def test_missed_timing_writes_no_bitstream(made: Plugin, tmp_path: Path, name: str) -> None:
    done = run_build(made, tmp_path, [("impl_1", name, "-0.071")])
    assert done.code == 1
    assert "timing is missed" in done.output and "-0.071" in done.output
    assert not [call for call in done.calls if "write_bitstream" in call]


WRONG: Mapping[str, tuple[str, str]] = {
    "USER_META_DATA_WIDTH": ("252", "USER_META_DATA_WIDTH"),
    "S_AXI_ADDR_WIDTH": ("19", "needs <= 18"),
    "TDATA_NUM_BYTES": ("32", "TDATA_NUM_BYTES"),
}


@needs_tclsh
@needs_shell
@pytest.mark.parametrize("name", WRONG)
def test_an_ip_that_does_not_fit_ends_the_build_at_once(made: Plugin, tmp_path: Path, name: str) -> None:
    value, output = WRONG[name]
    done = run_build(made, tmp_path, [("vnp4_1", f"CONFIG.{name}", value)])
    assert done.code == 1
    assert "vnp4_1" in done.output and output in done.output
    assert not [call for call in done.calls if call.startswith("launch_runs impl_1")]


@needs_tclsh
@pytest.mark.parametrize(
    "arguments, output", [((), "usage"), (("/nowhere",), "build.tcl"), (("/nowhere", "1", "2"), "usage")]
)
def test_wrong_arguments_are_refused(
    made: Plugin, tmp_path: Path, arguments: Sequence[str], output: str
) -> None:
    made.write(tmp_path / "plugin")
    (tmp_path / "answers").write_text("")
    command = ["tclsh", STUB, tmp_path / "plugin" / plugin.RUN, tmp_path / "record", tmp_path / "answers"]
    result = subprocess.run(list(map(str, [*command, *arguments])), capture_output=True, text=True)
    assert result.returncode == 1
    assert output in result.stderr


def test_the_tcl_is_clean(made: Plugin, tmp_path: Path) -> None:
    tclint = shutil.which("tclint") or shutil.which("tclint", path=str(Path(sys.executable).parent))
    if tclint is None:
        pytest.skip("tclint is not installed")
    made.write(tmp_path)
    result = subprocess.run([tclint, tmp_path], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, "")


def test_preflight_names_everything_that_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("XILINXD_LICENSE_FILE", "LM_LICENSE_FILE", "XILINX_VIVADO"):
        monkeypatch.delenv(name, raising=False)
    output = "\n".join(map(str, preflight.find_problems(BlockKind.RTL)))
    for word in ("Vivado is not on PATH", "no licence is set up", "open-nic-shell"):
        assert word in output


def test_preflight_reads_versions_and_licences(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    vivado = tmp_path / "vivado"
    vivado.write_text("#!/bin/sh\necho 'Vivado v2022.1 (64-bit)'\n")
    vivado.chmod(0o755)
    (tmp_path / "some.lic").write_text("INCREMENT sdnet_p4 xilinxd 2026.12 permanent\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("XILINXD_LICENSE_FILE", str(tmp_path / "some.lic"))
    monkeypatch.delenv("LM_LICENSE_FILE", raising=False)
    assert not [problem for problem in preflight.find_problems(BlockKind.RTL) if "hcam_base" in str(problem)]
    output = [str(problem) for problem in preflight.find_problems(BlockKind.VITISNETP4)]
    assert len(output) == 4
    assert "2022.1 is too old" in output[0]
    assert "hcam_base" in output[1] and "cmac_usplus" in output[2]
