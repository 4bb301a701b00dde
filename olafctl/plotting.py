"""Common parts of all pictures: colours that colour-blind people distinguish, and PNG, SVG or PDF files.

Only code that draws imports matplotlib, so that the commands without a picture start fast.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from olafswitch.errors import BadInput, OlafError, Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito, "Color Universal Design" (2008), in an order that also differs in lightness.
BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, "#E69F00", "#56B4E9", "#000000")
LINES = ("-", "--", ":", "-.")
"""Line styles, so that curves also differ without their colours."""

_FORMATS = ("png", "svg", "pdf")


def new_figure(width: float, height: float) -> "Figure":
    """Return a figure of ``width`` by ``height`` inches that needs no window system."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def file_format(path: Path) -> str:
    """Return ``png``, ``svg`` or ``pdf``, as the file name ends. Raises BadInput for any other ending."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in _FORMATS:
        raise BadInput(Problem("is not a picture's file name", str(path), "end it in .png, .svg or .pdf"))
    return kind


def save(figure: "Figure", *paths: Path) -> None:
    """Write ``figure`` to each path in its :func:`file_format`. Raises OlafError if it cannot."""
    import matplotlib

    for path in paths:
        kind = file_format(path)
        try:
            with matplotlib.rc_context({"svg.fonttype": "none"}):  # text stays text: searchable, smaller
                figure.savefig(path, dpi=150, format=kind)
        except OSError as error:
            raise OlafError(Problem(f"cannot write the picture: {error.strerror}", str(path))) from error
