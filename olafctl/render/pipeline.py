"""A testbed's sources in a folder of their own, named by their content and checked before anyone compiles."""

from dataclasses import dataclass
from pathlib import Path

from olafctl import cache
from olafctl.render import p4, verilog
from olafctl.testbed.model import Testbed


@dataclass(frozen=True)
class Rendered:
    """``p4`` holds vnp4_1.p4, vnp4_2.p4 and what they include; ``hdl`` the modules and their instance."""

    folder: Path
    key: str
    fresh: bool
    """False when the same content was rendered before."""

    @property
    def p4(self) -> Path:
        """The folder of the P4 programs."""
        return self.folder / "p4"

    @property
    def hdl(self) -> Path:
        """The folder of the Verilog."""
        return self.folder / "hdl"


def render(testbed: Testbed) -> Rendered:
    """Render ``testbed``: the P4 programs, and the Verilog with its instances checked against its modules.

    Raises OlafError with every misfit.
    """
    files = {f"p4/{name}": text for name, text in p4.sources(testbed).items()}
    files |= {f"hdl/{name}": text for name, text in verilog.sources(testbed).items()}
    key = cache.digest([part for item in files.items() for part in item])

    def write(folder: Path) -> None:
        from olafctl.render import (
            ports_fit,
        )  # pyverilog takes long to load, and mostly there is nothing to check

        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        instances = [folder / "hdl" / name for name in verilog.RENDERED]
        modules = [path for path in sorted((folder / "hdl").glob("*.v")) if path not in instances]
        ports_fit.check(instances, modules)

    folder, fresh = cache.build_once("render", key, write)
    return Rendered(folder, key, fresh)
