"""The Verilog of a testbed: the plain modules, and the instance that gives OlafQueue its parameters."""

from olafctl import paths
from olafctl.queue.registers import ADDRESS_BITS
from olafctl.render.templates import fill
from olafctl.testbed.model import Testbed
from olafctl.wire import layouts

INSTANCE = "olaf_instance.v"
RENDERED = (INSTANCE,)
"""The files that come from templates; all others are plain."""


def sources(testbed: Testbed) -> dict[str, str]:
    """Every Verilog file by name."""
    plain = sorted([*(paths.sources() / "hdl").glob("*.v"), *(paths.sources() / "hdl").glob("*.vh")])
    return {path.name: path.read_text() for path in plain} | {INSTANCE: instance(testbed)}


def instance(testbed: Testbed) -> str:
    """The module ``olaf_instance``: OlafQueue as the testbed's engine asks for it."""
    return fill(
        "verilog/olaf_instance.v.j2",
        name=testbed.name,
        engine=testbed.engine,
        lanes=layouts.LANES,
        data_bits=layouts.BEAT_BYTES * 8,
        tuser_bits=layouts.TUSER.bits,
        address_bits=ADDRESS_BITS,
    )
