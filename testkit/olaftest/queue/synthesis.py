"""What OlafQueue takes of an XCU55C, as Yosys maps it, and how deep its logic is."""

import re
from dataclasses import dataclass

from olafctl.queue.verilate import Progress, verilog_sources
from olafctl.wire.geometry import Geometry
from olafswitch.simulation.mapping import DEVICE, count_resources, map_module
from olafswitch.simulation.netlist import Crossing

TOP = "olaf_queue"
_ADDERS = re.compile(r"\.(add|add_upper|add_lower)\.")


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

    def percent_of(self, resource: str) -> float:
        """Return the share of an XCU55C in percent; ``resource`` is a key of DEVICE."""
        return 100 * float(getattr(self, resource.lower())) / DEVICE[resource]


def synthesize_queue(geometry: Geometry, progress: Progress = lambda step: None) -> Utilisation:
    """Map OlafQueue to UltraScale+ cells, flattened (a minute or two; the netlist is kept by content).

    Raises MissingTool without a new Yosys, OlafError when Yosys fails.
    """
    settings = " ".join(f"-chparam {name} {value}" for name, value in geometry.verilog.items())
    progress(f"synthesizing OlafQueue of {geometry} (a minute or two)")
    netlist = map_module(TOP, {path.name: path.read_text() for path in verilog_sources()}, settings)
    longest = netlist.longest_path()
    return Utilisation(
        geometry=geometry,
        **count_resources(netlist),
        levels=longest.levels,
        path=longest.nets,
        crossings=tuple(netlist.find_crossings("m_axis_tready", _ADDERS)),
    )
