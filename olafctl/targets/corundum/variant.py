"""A variant of a board's design with Olaf in it, next to a checkout of Corundum.

Olaf contains nothing of Corundum: the application block gets its ports from the checkout's own template, the
configuration is the checkout's with other values, and symbolic links lead to the rest of the design.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from olafctl import paths
from olafctl.targets.corundum.boards import Board
from olafctl.targets.opennic import plugin
from olafctl.targets.opennic.plugin import Plugin
from olafctl.templates import fill
from olafctl.wire.geometry import Geometry
from olafswitch.errors import BadInput, Problem

CHECKOUT = "OLAF_CORUNDUM"
COMMIT = "1ca0151b"
"""The commit of Corundum for which the block was made."""
APP_ID = "32'h4F4C4146"
BLOCK = "hdl/mqnic_app_block.v"
_TEMPLATE = "fpga/app/template/rtl/mqnic_app_block.v"
VALUES = {
    "APP_ID": APP_ID,
    "APP_ENABLE": "1",
    "APP_CTRL_ENABLE": "1",
    "APP_AXIS_SYNC_ENABLE": "1",
    "APP_DMA_ENABLE": "0",
    "APP_AXIS_DIRECT_ENABLE": "0",
    "APP_AXIS_IF_ENABLE": "0",
    "APP_STAT_ENABLE": "0",
    "PTP_TS_ENABLE": "0",
}
"""The changed values of config.tcl. A host's frame is completed before a MAC sends it: without time stamp."""
_PORT = re.compile(r"^ *(input|output) +wire *(?:\[.*\])? *(\w+),?$", re.MULTILINE)
_TAP = re.compile(r"([ms])_axis_(direct|if)_")
_IDLE = re.compile(
    r"(m_axil_ctrl|m_axis_(ctrl|data)_dma|(ctrl|data)_dma_ram|m_axi_(ddr|hbm)|m_axis_stat)_|gpio_out$"
)
_SOURCES = " ".join(f"./../../../../../hdl/*.{ending}" for ending in ("v", "vh"))


@dataclass(frozen=True)
class Variant:
    """A board's design in a checkout: the part, the variant to begin from, and the files of the build."""

    part: str
    folder: str
    """The folder in which ``make`` runs, below the build's folder."""
    plugin: Plugin
    links: dict[str, Path]
    """Symbolic links below the build's folder, and their targets."""

    def write(self, folder: Path) -> None:
        """Write everything below ``folder``."""
        self.plugin.write(folder)
        for name, target in self.links.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).symlink_to(target)


def assemble_variant(checkout: Path, board: Board, queue: Geometry, p4: Path) -> Variant:
    """Return the variant of ``board`` with OlafQueue of these parameters and the P4 sources in ``p4``.

    Raises OlafError where the checkout is not one, or its block or configuration differs from what was read.
    """
    own = (paths.sources() / "hdl" / "corundum").glob("*.v")
    box = {**plugin.list_box_files(queue, p4), **{f"hdl/{path.name}": path.read_text() for path in own}}
    return place_in_design(checkout, board, box, queue)


def place_in_design(
    checkout: Path, board: Board, box: Mapping[str, str], queue: Geometry | None = None
) -> Variant:
    """Return the variant of ``board`` whose block is made of the files in ``box``. Raises as
    :func:`assemble_variant`."""
    design, base = str(Path(board.path).parent), Path(board.path).name
    place = f"fpga/mqnic/{design}"
    template = read_template(checkout)
    part = re.search(r"^FPGA_PART = (\S+)$", _read(checkout / place / base / "Makefile"), re.MULTILINE)
    if part is None:
        raise BadInput(_not_as_read("names no FPGA_PART", checkout / place / base / "Makefile"))
    fixed = {
        **box,
        f"{place}/olaf/Makefile": f"# Generated: do not edit.\ninclude ../{base}/Makefile\n",
        f"{place}/olaf/config.tcl": _configure(checkout / place / base / "config.tcl"),
        # The design's makefiles include this file before they use the list of files.
        f"{place}/config.mk": f"SYN_FILES += $(sort $(wildcard {_SOURCES}))\n",
    }
    made = plugin.bind_files(
        fixed, lambda build_id: {BLOCK: write_block(template, build_id)}, queue, board.name
    )
    links = {f"{place}/{path.name}": path for path in sorted((checkout / place).iterdir())}
    links["fpga/common"] = checkout / "fpga" / "common"
    return Variant(part[1], f"{place}/olaf", made, links)


def find_checkout(where: str) -> Path:
    """Return the checkout that OLAF_CORUNDUM names. Raises BadInput at ``where`` when it names none."""
    if checkout := os.environ.get(CHECKOUT):
        return Path(checkout).resolve()
    remedy = f"set {CHECKOUT} to github.com/corundum/corundum at {COMMIT}"
    raise BadInput(Problem("no checkout of Corundum is named", where, remedy))


def read_template(checkout: Path) -> str:
    """Return the checkout's empty application block. Raises BadInput where there is none."""
    return _read(checkout / _TEMPLATE)


def write_block(template: str, build_id: str, where: str = _TEMPLATE) -> str:
    """Return the module ``mqnic_app_block`` with the ports of ``template``'s and Olaf in it.

    Raises BadInput for an unknown output and a missing port.
    """
    head, found, _ = template.partition("\n);\n")
    ways = {name: way for way, name in _PORT.findall(head)}
    own = (paths.sources() / "hdl" / "corundum" / "olaf_corundum.v").read_text()
    used = [name for _, name in _PORT.findall(own)]
    outputs = [name for name, way in ways.items() if way == "output" and name not in used]
    others = {name: _drive(name, ways) for name in outputs}
    unknown = [name for name, value in others.items() if not value]
    problems = [f"has an output {name} that Olaf does not know" for name in unknown]
    problems += [f"has no port {name}" for name in used if name not in ways]
    if problems or not found:
        raise BadInput(*(_not_as_read(what, Path(where)) for what in problems or ["holds no module"]))
    rest = fill("corundum/olaf_in_app_block.v.j2", app_id=APP_ID, build_id=build_id, used=used, others=others)
    return f"{head}{found}{rest}"


def _drive(output: str, ways: dict[str, str]) -> str:
    if tap := _TAP.match(output):
        other = ("s" if tap[1] == "m" else "m") + output[1:]
        return other if ways.get(other) == "input" else ""
    return "jtag_tdi" if output == "jtag_tdo" else "0" if _IDLE.match(output) else ""


def _configure(path: Path) -> str:
    text = _read(path)
    for name, value in VALUES.items():
        text, changed = re.subn(
            rf'^(dict set params {name}) "[^"]*"$', rf'\1 "{value}"', text, flags=re.MULTILINE
        )
        if changed != 1:
            raise BadInput(_not_as_read(f"sets {name} {changed} times, not once", path))
    return text


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise BadInput(_not_as_read(f"cannot be read: {error.strerror}", path)) from error


def _not_as_read(what: str, path: Path) -> Problem:
    return Problem(what, str(path), f"use github.com/corundum/corundum at {COMMIT}")
