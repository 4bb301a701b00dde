"""The shelf: each paper's figures, the list of everything that the paper shows, and what is kept of it.

A paper is a folder here with ``figures.py`` (its figures) and ``items.yaml``: every table and figure of the
paper with its state, the reason, and the figures here that make it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from olafctl import plotting
from olaflab import pictures
from olaflab.papers import archive, finished
from olaflab.papers.figure import Cost, Effort, Figure, Points, Section

_HERE = Path(__file__).parent
NAMES = tuple(sorted(path.parent.name for path in _HERE.glob("*/items.yaml")))
"""Names of all papers."""
STATES = ("agrees", "differs", "departs", "not made")
"""What becomes of a table or figure of a paper; all but the first have a reason."""
_BEGIN, _END = "<!-- items: written by `olaflab generate` -->", "<!-- end of items -->"


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper."""

    number: str
    """As the paper has it: ``table 1``."""
    title: str
    state: str
    why: str
    made: tuple[str, ...]
    """Figures of ``olaflab reproduce``; none where it is not made."""


def figures(paper: str) -> Mapping[str, Figure]:
    """A paper's figures by name."""
    found = import_module(f"olaflab.papers.{paper}.figures").figures()
    return {each.name: each for each in found}


def items(paper: str) -> Sequence[Item]:
    """Everything that the paper shows."""
    rows: list[dict[str, Any]] = yaml.safe_load((_HERE / paper / "items.yaml").read_text(encoding="utf-8"))
    return [
        Item(
            str(row["item"]),
            str(row["title"]),
            str(row["state"]),
            str(row.get("why", "")),
            tuple(row["made"]),
        )
        for row in rows
    ]


def page(paper: str, text: str) -> str:
    """A paper's page with its list of items written into its place. Raises ValueError without a place."""
    rows = [
        "| of the paper | what | here | why, or how far | made by |",
        "|---|---|---|---|---|",
        *(
            f"| {each.number} | {each.title} | {each.state} | {each.why} | "
            f"{', '.join(f'`{name}`' for name in each.made)} |"
            for each in items(paper)
        ),
    ]
    before, rest = text.split(_BEGIN)
    _, after = rest.split(_END)
    return "\n".join([f"{before}{_BEGIN}", *rows, f"{_END}{after}"])


@dataclass(frozen=True)
class Kept:
    """What is committed of a paper, in a folder."""

    folder: Path
    paper: str

    def points(self) -> dict[str, Points]:
        """Points of what takes long or depends on the machine. Raises BadInput."""
        return archive.load(self.folder / f"{self.paper}.npz")

    def sections(self) -> dict[str, Section]:
        """Sections of all figures. Raises BadInput."""
        return archive.load_sections(self.folder / f"{self.paper}.json")

    def write(self, found: Mapping[Figure, Points]) -> Iterator[Path]:
        """Points, sections and pictures of ``found``; what is there of other figures stays."""
        known = figures(self.paper)
        points = self.points() | {one.name: its for one, its in found.items() if one.cost is not Cost.MODEL}
        sections = self.sections() | {one.name: one.section(its) for one, its in found.items()}
        archive.save(self.folder / f"{self.paper}.npz", _ordered(points, known))
        archive.save_sections(self.folder / f"{self.paper}.json", _ordered(sections, known))
        yield from (self.folder / f"{self.paper}.{kind}" for kind in ("npz", "json"))
        for one, its in found.items():
            if one.draw is not None:
                drawing = plotting.new_figure(*one.size)
                one.draw(its, drawing)
                picture = self.folder / self.paper / f"{one.name}.svg"
                pictures.save(drawing, picture)
                yield picture


def _ordered(found: Mapping[str, Any], known: Mapping[str, Figure]) -> dict[str, Any]:
    return {name: found[name] for name in known if name in found}


def points(figure: Figure, effort: Effort, long: bool) -> Points | None:
    """A figure's points: those of the model are run, the others are too if ``long``, and else looked up.

    None where nothing is kept of it. Raises OlafError.
    """
    if figure.cost is Cost.MODEL:
        return finished.points(figure, effort)
    return figure.run(effort) if long else effort.kept.get(figure.name)
