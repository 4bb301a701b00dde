"""The Verilog of a testbed: the plain modules, and the instance that gives OlafQueue its parameters."""

from pathlib import Path

from olafctl import cache, paths
from olafctl.queue.registers import ADDRESS_BITS
from olafctl.templates import fill
from olafctl.wire import layouts
from olafctl.wire.geometry import Geometry

INSTANCE = "olaf_instance.v"
RENDERED = (INSTANCE,)
"""The files that come from templates; all others are plain."""


def folder(queue: Geometry) -> Path:
    """The folder of every Verilog file for ``queue``, its instance checked against the modules.

    One a content: what is compiled from it is what was checked. Raises OlafError with every misfit.
    """
    files = sources(queue)

    def write(work: Path) -> None:
        # pyverilog takes long to load, and mostly there is nothing to check.
        from olafctl.queue import ports_fit

        for name, text in files.items():
            (work / name).write_text(text)
        instances = [work / name for name in RENDERED]
        ports_fit.check(instances, [path for path in sorted(work.glob("*.v")) if path not in instances])

    made, _ = cache.build_once("hdl", cache.digest([part for item in files.items() for part in item]), write)
    return made


def sources(queue: Geometry) -> dict[str, str]:
    """Every Verilog file by name."""
    plain = sorted([*(paths.sources() / "hdl").glob("*.v"), *(paths.sources() / "hdl").glob("*.vh")])
    return {path.name: path.read_text() for path in plain} | {INSTANCE: instance(queue)}


def instance(queue: Geometry) -> str:
    """The module ``olaf_instance``: OlafQueue with the parameters of ``queue``."""
    return fill(
        "verilog/olaf_instance.v.j2",
        parameters=queue.verilog,
        data_bits=layouts.BEAT_BYTES * 8,
        tuser_bits=layouts.TUSER.bits,
        address_bits=ADDRESS_BITS,
    )
