"""A picture as two files: PNG, and SVG, whose text can be searched and which repeats byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from olafctl import plotting
from olafctl.errors import OlafError, Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def save(figure: Figure, path: Path) -> list[Path]:
    """Write ``figure`` as ``path``, a PNG, and beside it as SVG. Raises OlafError if it cannot."""
    import matplotlib

    plotting.save(figure, path)
    vector = path.with_suffix(".svg")
    try:
        # Ids and the date would differ from one time to the next.
        with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "olaf"}):
            figure.savefig(vector, format="svg", metadata={"Date": None})
    except OSError as error:
        raise OlafError(Problem(f"cannot write the picture: {error.strerror}", str(vector))) from error
    return [path, vector]


def legend(figure: Figure, axes: Axes, columns: int = 4) -> None:
    """What ``axes`` shows, named below everything that is drawn: over no data."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns)
