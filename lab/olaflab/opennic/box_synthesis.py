"""Maps the 250 MHz user box and each of its two blocks to an XCU55C with Yosys.

The small one is Corundum's application block at 10G, with tables in block RAM. In the box OlafQueue and the
blocks are black boxes: the queue's own figures are those of :mod:`olaftest.queue.synthesis`.
"""

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from olafctl import paths
from olafctl.queue.verilog import INSTANCE, render_instance
from olafctl.targets.opennic.blocks import compile_block, write_blocks
from olafctl.targets.opennic.ips import IPS
from olafctl.targets.opennic_sim.box import list_sources
from olafctl.wire.geometry import Geometry
from olafswitch.p4.syntax.preprocess import preprocess_file
from olafswitch.p4.verilog.module import Module
from olafswitch.simulation.mapping import DEVICE, count_resources, map_module
from olaftest.opennic.random_frames import compile_blocks

BOX = "olaf_box_250mhz"
SMALL_BOX = "olaf_corundum"
SMALL_WORKERS = 1024
"""The entries of each of a small box' large tables."""
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
    """Levels of the longest path from register to register of its own, in levels of logic."""
    path: tuple[str, ...] = ()
    """The nets along it."""

    def percent(self, resource: str) -> float:
        """Return the percent of an XCU55C; ``resource`` is a key of DEVICE."""
        return 100 * self.counts[resource] / DEVICE[resource]


def compile_small_blocks() -> Mapping[int, Module]:
    """Compile both XSA programs with tables of SMALL_WORKERS."""
    with tempfile.TemporaryDirectory() as folder:
        for source in (paths.sources() / "p4src").glob("*.p4"):
            text = re.sub(
                r"((WORKERS|FORWARDING|BRIDGING)_SIZE) \d+", rf"\1 {SMALL_WORKERS}", source.read_text()
            )
            (Path(folder) / source.name).write_text(text)
        programs = {ip: Path(folder) / f"{ip.name}_xsa.p4" for ip in IPS}
        return {
            ip.number: compile_block(ip, preprocess_file(path), path.name) for ip, path in programs.items()
        }


def synthesize_box(part: str, macs: int | None = None) -> BoxUtilisation:
    """Map the box (BOX, SMALL_BOX) or one of BLOCKS to UltraScale+ cells (minutes; kept by content).

    With ``macs``, SMALL_BOX of so many or a block of it. Raises MissingTool without Yosys, OlafError when it
    fails.
    """
    files = write_blocks(compile_small_blocks() if macs else compile_blocks())
    if part not in BLOCKS:
        around = (paths.sources() / "hdl" / "corundum").glob("*.v") if part == SMALL_BOX else ()
        files = {path.name: path.read_text() for path in [*list_sources(), *around]} | {
            **{name: text for name, text in files.items() if name.startswith("p4_fifo")},
            **{f"{name}.v": files[f"{name}.v"] for name in _BLACK[1:]},
            INSTANCE: render_instance(Geometry()),
        }
    else:
        files = {name: text for name, text in files.items() if name.startswith("p4_")} | {
            f"{part}.v": files[f"{part}.v"]
        }
    settings = f"-chparam LANES {macs} -chparam WIDTH 64" if part == SMALL_BOX else ""
    netlist = map_module(part, files, settings, () if part in BLOCKS else _BLACK)
    cells = count_resources(netlist)
    longest = netlist.longest_path()
    return BoxUtilisation(part, {name: cells[name.lower()] for name in DEVICE}, longest.levels, longest.nets)
