"""A testbed's sources in folders named by their content, checked before anyone compiles."""

from dataclasses import dataclass
from pathlib import Path

from olafctl.render import p4, verilog
from olafctl.testbed.model import Testbed


@dataclass(frozen=True)
class Rendered:
    """``p4`` holds vnp4_1.p4, vnp4_2.p4 and what they include; ``hdl`` the modules and their instance."""

    p4: Path
    hdl: Path


def render(testbed: Testbed) -> Rendered:
    """Render ``testbed``: the P4 programs, and the Verilog with its instances checked against its modules.

    Raises OlafError with every misfit.
    """
    return Rendered(p4.folder(testbed), verilog.folder(testbed.engine.geometry))
