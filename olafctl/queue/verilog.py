"""The Verilog of a testbed: the plain modules, and the instance that gives OlafQueue its parameters."""

import os
import re
import subprocess
from pathlib import Path

from olafctl import paths
from olafctl.queue.registers import ADDRESS_BITS
from olafctl.templates import fill
from olafctl.wire import layouts
from olafctl.wire.geometry import Geometry
from olafswitch import cache
from olafswitch.errors import OlafError, Problem
from olafswitch.toolchain import verilator_root

INSTANCE = "olaf_instance.v"
"""The file that comes from a template; all others are plain."""
_PLACED = re.compile(r"%(?:Warning|Error)[\w-]*: (?P<where>[^:]+:\d+):\d+: (?P<what>.*)")


def sources_folder(queue: Geometry) -> Path:
    """Return the folder of every Verilog file for ``queue``, its instance checked against the modules.

    Each content has one folder: what is compiled was checked. Raises OlafError with every misfit.
    """
    files = render_sources(queue)

    def write(work: Path) -> None:
        for name, text in files.items():
            (work / name).write_text(text)
        check_instances(work / INSTANCE)

    made, _ = cache.build_once("hdl", cache.digest([part for item in files.items() for part in item]), write)
    return made


def check_instances(rendered: Path) -> None:
    """Check the instances in a file against the modules next to it: names, parameters, ports, widths.

    Raises OlafError with every misfit that Verilator finds; MissingTool without it.
    """
    root = verilator_root()
    command = [str(root / "bin" / "verilator_bin"), "--lint-only", "-Wall", "--quiet"]
    done = subprocess.run(
        [*command, "--top-module", rendered.stem, f"-I{rendered.parent}", str(rendered)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "VERILATOR_ROOT": str(root)},
    )
    # A warning about the plain modules alone is not a misfit.
    found = [match for match in _PLACED.finditer(done.stderr) if match["where"].startswith(str(rendered))]
    if found:
        raise OlafError(*(Problem(each["what"], each["where"], "correct the template") for each in found))


def render_sources(queue: Geometry) -> dict[str, str]:
    """Return every Verilog file by name."""
    plain = sorted([*(paths.sources() / "hdl").glob("*.v"), *(paths.sources() / "hdl").glob("*.vh")])
    return {path.name: path.read_text() for path in plain} | {INSTANCE: render_instance(queue)}


def render_instance(queue: Geometry) -> str:
    """Return the module ``olaf_instance``: OlafQueue with the parameters of ``queue``."""
    return fill(
        "verilog/olaf_instance.v.j2",
        parameters=queue.verilog,
        data_bits=layouts.BEAT_BYTES * 8,
        tuser_bits=layouts.TUSER.bits,
        address_bits=ADDRESS_BITS,
    )
