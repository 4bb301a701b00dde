"""What the 250 MHz user box takes of an XCU55C, as Yosys maps it.

OlafQueue and the two IPs are black boxes in it: the queue's own figures are :mod:`olaflab.queue.synthesis`'s.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from olafctl.queue.verilog import INSTANCE, instance
from olafctl.targets.opennic.ips import IPS
from olafctl.wire.geometry import Geometry
from olaflab.opennic.stand_ins import stub
from olaflab.opennic.verilate import sources
from olaflab.queue import synthesis
from olaflab.queue.netlist import Netlist
from olaflab.queue.synthesis import DEVICE, mapper, resources
from olafswitch import cache

TOP = "olaf_box_250mhz"
PAPER = {"LUT": 3.52, "FF": 1.5}
"""Percent of an XCU55C that OLAF §7 states for OlafQueue and its IPs."""


@dataclass(frozen=True)
class BoxUtilisation:
    """The resources of the box without OlafQueue and the IPs, by the names of DEVICE."""

    counts: dict[str, float]
    levels: int
    """Of the longest path from register to register of the box's own, in levels of logic."""
    path: tuple[str, ...] = ()
    """The nets along it."""

    def percent(self, resource: str) -> float:
        """Of an XCU55C; ``resource`` is a key of DEVICE."""
        return 100 * self.counts[resource] / DEVICE[resource]


def synthesize_box() -> BoxUtilisation:
    """Map the box to UltraScale+ cells (some minutes; kept by content).

    Raises MissingTool without Yosys, OlafError when Yosys fails.
    """
    command = mapper()
    made = {INSTANCE: instance(Geometry()), **{f"{ip.name}.v": stub(ip) for ip in IPS}}
    files = sources()
    key = cache.digest([command, _script(made), *(part for item in made.items() for part in item), *files])
    folder, _ = cache.build_once("synthesis", key, lambda work: _run(command, made, files, work))
    module = json.loads((folder / "netlist.json").read_text())["modules"][TOP]
    black = {*(ip.name for ip in IPS), Path(INSTANCE).stem}
    module["cells"] = {name: cell for name, cell in module["cells"].items() if cell["type"] not in black}
    netlist = Netlist(module)
    cells = resources(netlist)
    longest = netlist.longest()
    return BoxUtilisation({name: cells[name.lower()] for name in DEVICE}, longest.levels, longest.nets)


def _script(made: dict[str, str]) -> str:
    """Relative paths only: YoWASP sees no others."""
    names = sorted({*made, *(path.name for path in sources() if path.suffix == ".v")})
    return "\n".join(
        (
            "read_verilog -DSYNTHESIS -Ihdl " + " ".join(f"hdl/{name}" for name in names),
            f"blackbox {Path(INSTANCE).stem}",
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
    synthesis.run(command, _script(made), work, "netlist.json", "synthesizing the box")
    shutil.rmtree(work / "hdl")
