"""Pictures of results: one palette for all contenders, fixed by name, and SVG that repeats byte for byte."""

from __future__ import annotations

import re
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from olafswitch.errors import OlafError, Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUBJECT, PALE = "#D55E00", "#E69F00"
"""The one strong colour: of Olaf, or of the paper's own system; and of a variant of it."""
GREYS = ("#767676", "#1F3A5F", "#9A9A9A", "#4F6D8F", "#000000", "#B5A27A", "#5C7A66", "#8C6D8C", "#C0C0C0")
"""Muted colours of all others, which differ in lightness, too."""
_LINES: tuple[Any, ...] = ("--", ":", "-.", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1)))
_OWN = re.compile(r"^(olaf|isw|async isw|stellaris|artos|the paper's|impact under)\b|\(olaf\)", re.IGNORECASE)
"""Names of the systems that a picture is about."""
_KNOWN: tuple[tuple[str, tuple[str, Any, float]], ...] = (
    (r"^olaf(_tc\b|.*control)", (PALE, "--", 1.8)),
    (r"^olaf", (SUBJECT, "-", 2.4)),
    (r"^fifo.*control", (GREYS[2], ":", 1.6)),
    (r"^fifo, workers add up", (GREYS[1], ":", 2.0)),
    (r"^fifo, best rate", (GREYS[3], "-.", 1.4)),
    (r"^fifo", (GREYS[0], "--", 1.4)),
    (r"^(ideal|no bottleneck)", (GREYS[4], (0, (5, 1)), 1.0)),
)
"""Contenders by the beginning of their names: colour, line and its width, the same in every picture."""


def style_of(name: str) -> dict[str, Any]:
    """Return the style of a contender that all pictures know."""
    colour, line, width = next(style for known, style in _KNOWN if re.search(known, name, re.IGNORECASE))
    return {"color": colour, "linestyle": line, "linewidth": width}


def assign_styles(names: Iterable[str], subject: re.Pattern[str] = _OWN) -> dict[str, dict[str, Any]]:
    """Return each contender's style: those that match ``subject`` strong, the others muted, in this order."""
    found: dict[str, dict[str, Any]] = {}
    own, others = 0, 0
    for name in names:
        if subject.search(name):
            found[name] = {"color": SUBJECT, "linestyle": ("-", *_LINES)[own % 7], "linewidth": 2.2}
            own += 1
        else:
            colour, line = GREYS[others % len(GREYS)], _LINES[others % len(_LINES)]
            found[name] = {"color": colour, "linestyle": line, "linewidth": 1.4}
            others += 1
    return found


def save_picture(figure: Figure, path: Path) -> None:
    """Write ``figure`` as SVG. Raises OlafError if it cannot."""
    import matplotlib

    text = StringIO()
    # Ids and the date would differ from one time to the next.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "olaf"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(simplify_svg(text.getvalue()), encoding="utf-8")
    except OSError as error:
        raise OlafError(Problem(f"cannot write the picture: {error.strerror}", str(path))) from error


def simplify_svg(svg: str) -> str:
    """Remove from Matplotlib's SVG what no reader sees: metadata, named groups, digits beyond a hundredth.

    Coordinates are rounded, so that sums whose last bits differ between processors draw the same bytes.
    """
    names = {"": "http://www.w3.org/2000/svg", "xlink": "http://www.w3.org/1999/xlink"}
    for prefix, name in names.items():
        ElementTree.register_namespace(prefix, name)
    drawing = ElementTree.fromstring(svg)
    for child in [each for each in drawing if each.tag.endswith("}metadata")]:
        drawing.remove(child)
    _flatten_groups(drawing)
    ElementTree.indent(drawing, "")
    return ElementTree.tostring(drawing, encoding="unicode") + "\n"


def _flatten_groups(parent: ElementTree.Element) -> None:
    for child in list(parent):
        _flatten_groups(child)
        if "d" in child.attrib:
            child.set("d", " ".join(child.attrib["d"].split()))
        for name in _PLACES & child.attrib.keys():
            child.set(name, _NUMBER.sub(_round_number, child.attrib[name]))
        if child.tag.endswith("}g") and set(child.attrib) <= {"id"}:
            place = list(parent).index(child)
            parent[place : place + 1] = list(child)


_PLACES = {"d", "x", "y", "width", "height", "transform", "points"}
_NUMBER = re.compile(r"-?\d+\.\d{2,}")


def _round_number(found: re.Match[str]) -> str:
    text = f"{float(found[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def add_legend(figure: Figure, axes: Axes, columns: int = 3) -> None:
    """Name what ``axes`` shows below everything that is drawn, over no data."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns)
