"""What the 250 MHz user box takes of an XCU55C, as Yosys maps it; the two IPs are black boxes."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from olafctl import cache
from olafctl.bench.netlist import Netlist
from olafctl.bench.synthesis import DEVICE, resources, yosys
from olafctl.errors import OlafError, Problem
from olafctl.queue.verilog import INSTANCE, instance
from olafctl.targets.opennic.ips import IPS, stub
from olafctl.targets.opennic.sim.verilate import sources
from olafctl.wire.geometry import Geometry

TOP = "olaf_box_250mhz"
PAPER = {"LUT": 3.52, "FF": 1.5}
"""Percent of an XCU55C that paper 000 §7 states."""


@dataclass(frozen=True)
class BoxUtilisation:
    """The resources of the box, OlafQueue included, by the names of DEVICE."""

    geometry: Geometry
    counts: dict[str, float]

    def percent(self, resource: str) -> float:
        """Of an XCU55C; ``resource`` is a key of DEVICE."""
        return 100 * self.counts[resource] / DEVICE[resource]


def synthesize_box(geometry: Geometry) -> BoxUtilisation:
    """Map the box around OlafQueue of this geometry to UltraScale+ cells (some minutes; kept by content).

    Raises MissingTool without Yosys, OlafError when Yosys fails.
    """
    command = yosys()
    made = {INSTANCE: instance(geometry), **{f"{ip.name}.v": stub(ip) for ip in IPS}}
    files = sources()
    key = cache.digest([command, _script(made), *(part for item in made.items() for part in item), *files])
    folder, _ = cache.build_once("synthesis", key, lambda work: _run(command, made, files, work))
    cells = resources(Netlist.load(folder / "netlist.json", TOP))
    return BoxUtilisation(geometry, {name: cells[name.lower()] for name in DEVICE})


def _script(made: dict[str, str]) -> str:
    """Relative paths only: YoWASP sees no others."""
    names = sorted({*made, *(path.name for path in sources() if path.suffix == ".v")})
    return "\n".join(
        (
            "read_verilog -DSYNTHESIS -Ihdl " + " ".join(f"hdl/{name}" for name in names),
            f"hierarchy -top {TOP}",
            f"synth_xilinx -family xcup -flatten -top {TOP} -noiopad -noclkbuf",
            "write_json netlist.json",
            "",
        )
    )


def _run(command: str, made: dict[str, str], files: list[Path], work: Path) -> None:
    (work / "hdl").mkdir()
    for path in files:
        shutil.copy(path, work / "hdl")
    for name, text in made.items():
        (work / "hdl" / name).write_text(text)
    (work / "synth.ys").write_text(_script(made))
    result = subprocess.run(
        ["nice", "-n", "5", command, "-q", "-l", "yosys.log", "synth.ys"],
        cwd=work,
        capture_output=True,
        text=True,
    )
    if result.returncode != 0 or not (work / "netlist.json").is_file():
        said = result.stderr.strip().splitlines()[-5:] or ["Yosys failed without output"]
        raise OlafError(Problem("\n".join(said), where="synthesizing the box"))
    shutil.rmtree(work / "hdl")
