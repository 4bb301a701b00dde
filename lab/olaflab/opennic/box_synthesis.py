"""Maps the 250 MHz user box and each of its two blocks to an XCU55C with Yosys.

In the box OlafQueue and the blocks are black boxes: the queue's own figures are those of
:mod:`olaftest.queue.synthesis`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from olafctl.queue.verilog import INSTANCE, render_instance
from olafctl.targets.opennic.blocks import write_blocks
from olafctl.targets.opennic.ips import IPS
from olafctl.targets.opennic_sim.box import list_sources
from olafctl.wire.geometry import Geometry
from olafswitch.simulation.mapping import DEVICE, count_resources, map_module
from olaftest.opennic.random_frames import compile_blocks

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
    """Levels of the longest path from register to register of its own, in levels of logic."""
    path: tuple[str, ...] = ()
    """The nets along it."""

    def percent(self, resource: str) -> float:
        """Return the percent of an XCU55C; ``resource`` is a key of DEVICE."""
        return 100 * self.counts[resource] / DEVICE[resource]


def synthesize_box(part: str) -> BoxUtilisation:
    """Map the box (BOX) or one of BLOCKS to UltraScale+ cells (minutes; kept by content).

    Raises MissingTool without Yosys, OlafError when Yosys fails.
    """
    files = write_blocks(compile_blocks())
    if part == BOX:
        files = {path.name: path.read_text() for path in list_sources()} | {
            **{f"{name}.v": files[f"{name}.v"] for name in _BLACK[1:]},
            INSTANCE: render_instance(Geometry()),
        }
    else:
        files = {name: text for name, text in files.items() if name.startswith("p4_")} | {
            f"{part}.v": files[f"{part}.v"]
        }
    netlist = map_module(part, files, black=_BLACK if part == BOX else ())
    cells = count_resources(netlist)
    longest = netlist.longest_path()
    return BoxUtilisation(part, {name: cells[name.lower()] for name in DEVICE}, longest.levels, longest.nets)
