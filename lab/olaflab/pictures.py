"""A picture as SVG, whose text can be searched and which repeats byte for byte."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from olafswitch.errors import OlafError, Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def save(figure: Figure, path: Path) -> None:
    """Write ``figure`` as SVG. Raises OlafError if it cannot."""
    import matplotlib

    text = StringIO()
    # Ids and the date would differ from one time to the next.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "olaf"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(plain(text.getvalue()), encoding="utf-8")
    except OSError as error:
        raise OlafError(Problem(f"cannot write the picture: {error.strerror}", str(path))) from error


def plain(svg: str) -> str:
    """What Matplotlib writes without what no reader sees: metadata, and groups that are only named."""
    names = {"": "http://www.w3.org/2000/svg", "xlink": "http://www.w3.org/1999/xlink"}
    for prefix, name in names.items():
        ElementTree.register_namespace(prefix, name)
    drawing = ElementTree.fromstring(svg)
    for child in [each for each in drawing if each.tag.endswith("}metadata")]:
        drawing.remove(child)
    _flatten(drawing)
    ElementTree.indent(drawing, "")
    return ElementTree.tostring(drawing, encoding="unicode") + "\n"


def _flatten(parent: ElementTree.Element) -> None:
    for child in list(parent):
        _flatten(child)
        if "d" in child.attrib:
            child.set("d", " ".join(child.attrib["d"].split()))
        if child.tag.endswith("}g") and set(child.attrib) <= {"id"}:
            place = list(parent).index(child)
            parent[place : place + 1] = list(child)


def legend(figure: Figure, axes: Axes, columns: int = 4) -> None:
    """What ``axes`` shows, named below everything that is drawn: over no data."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns)
