"""A picture as SVG, whose text can be searched and which repeats byte for byte."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from olafswitch.errors import OlafError, Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_PATH = re.compile(r' d="[^"]*"')


def save(figure: Figure, path: Path) -> None:
    """Write ``figure`` as SVG. Raises OlafError if it cannot."""
    import matplotlib

    text = StringIO()
    # Ids and the date would differ from one time to the next.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "olaf"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(one_line(text.getvalue()), encoding="utf-8")
    except OSError as error:
        raise OlafError(Problem(f"cannot write the picture: {error.strerror}", str(path))) from error


def one_line(svg: str) -> str:
    """An SVG whose paths are a line each, and not a line a point."""
    return _PATH.sub(lambda found: " " + " ".join(found[0].split()), svg)


def legend(figure: Figure, axes: Axes, columns: int = 4) -> None:
    """What ``axes`` shows, named below everything that is drawn: over no data."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns)
