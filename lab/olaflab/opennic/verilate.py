"""The modules of the box in Verilator."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from olafctl import paths
from olafswitch.simulation import verilate


def sources() -> list[Path]:
    """Every Verilog file of the box and of OlafQueue, in a stable order."""
    hdl = paths.sources() / "hdl"
    return sorted([*hdl.glob("*.v*"), *(hdl / "opennic").glob("*.v*")])


def build(
    top: str,
    parameters: Mapping[str, int] | None = None,
    more: Sequence[Path] = (),
    native: Sequence[Path] = (),
    defines: Sequence[str] = (),
    progress: Callable[[str], None] = lambda step: None,
    included: Sequence[Path] = (),
) -> Path:
    """The library of module ``top`` with ``parameters``: see :func:`olafswitch.simulation.verilate.build`.

    ``more`` are further Verilog files, such as stand-ins for IPs; ``included`` are what these include.
    """
    hdl = paths.sources() / "hdl"
    own = [] if any(path.stem == top for path in more) else [hdl / "opennic" / f"{top}.v"]
    folders = [hdl / "opennic", hdl, *dict.fromkeys(path.parent for path in included)]
    return verilate.build(
        top, [*more, *own], parameters, folders=folders, sources=[*sources(), *included], native=native,
        defines=defines, progress=progress,
    )  # fmt: skip
