"""What the 250 MHz user box and each of its two blocks take of an XCU55C, as Yosys maps them.

In the box OlafQueue and the blocks are black boxes: the queue's own figures are those of
:mod:`olaflab.queue.synthesis`.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from olafctl.queue.verilog import INSTANCE, instance
from olafctl.targets.opennic.blocks import verilog
from olafctl.targets.opennic.ips import IPS
from olafctl.wire.geometry import Geometry
from olaflab.opennic.random_frames import blocks
from olaflab.opennic.verilate import sources
from olaflab.queue import synthesis
from olaflab.queue.netlist import Netlist
from olaflab.queue.synthesis import DEVICE, mapper, resources
from olafswitch import cache

BOX = "olaf_box_250mhz"
BLOCKS = tuple(ip.name for ip in IPS)
PAPER = {"LUT": 3.52, "FF": 1.5}
"""Percent of an XCU55C that OLAF §7 states for OlafQueue and its IPs."""
_BLACK = (Path(INSTANCE).stem, *(f"olaf_box_{name}" for name in BLOCKS))


@dataclass(frozen=True)
class BoxUtilisation:
    """The resources of one part, by the names of DEVICE."""

    part: str
    counts: Mapping[str, float]
    levels: int
    """Of the longest path from register to register of its own, in levels of logic."""
    path: tuple[str, ...] = ()
    """The nets along it."""

    def percent(self, resource: str) -> float:
        """Of an XCU55C; ``resource`` is a key of DEVICE."""
        return 100 * self.counts[resource] / DEVICE[resource]


def synthesize(part: str) -> BoxUtilisation:
    """Map the box (BOX) or one of BLOCKS to UltraScale+ cells (5 to 20 minutes; kept by content).

    Raises MissingTool without Yosys, OlafError when Yosys fails.
    """
    command = mapper()
    files = verilog(blocks())
    if part == BOX:
        files = {path.name: path.read_text() for path in sources()} | {
            **{f"{name}.v": files[f"{name}.v"] for name in _BLACK[1:]},
            INSTANCE: instance(Geometry()),
        }
    else:
        files = {name: text for name, text in files.items() if name.startswith("p4_")} | {
            f"{part}.v": files[f"{part}.v"]
        }
    script = _script(part, files)
    key = cache.digest([command, script, *(piece for item in sorted(files.items()) for piece in item)])
    folder, _ = cache.build_once("synthesis", key, lambda work: _run(command, script, part, files, work))
    module = json.loads((folder / "netlist.json").read_text())["modules"][part]
    module["cells"] = {name: cell for name, cell in module["cells"].items() if cell["type"] not in _BLACK}
    netlist = Netlist(module)
    cells = resources(netlist)
    longest = netlist.longest()
    return BoxUtilisation(part, {name: cells[name.lower()] for name in DEVICE}, longest.levels, longest.nets)


def _script(part: str, files: Mapping[str, str]) -> str:
    """Relative paths only: YoWASP sees no others."""
    return "\n".join(
        (
            "read_verilog -DSYNTHESIS -Ihdl " + " ".join(f"hdl/{n}" for n in sorted(files) if n[-2:] == ".v"),
            f"blackbox {' '.join(_BLACK)}" if part == BOX else "",
            f"hierarchy -top {part}",
            f"synth_xilinx -family xcup -flatten -top {part} -noiopad -noclkbuf",
            "write_json netlist.json",
            "",
        )
    )


def _run(command: str, script: str, part: str, files: Mapping[str, str], work: Path) -> None:
    (work / "hdl").mkdir()
    for name, text in files.items():
        (work / "hdl" / name).write_text(text)
    synthesis.run(command, script, work, "netlist.json", f"synthesizing {part}")
    shutil.rmtree(work / "hdl")
