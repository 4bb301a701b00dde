"""All papers: each one's figures, and the list of everything that the paper shows.

A paper is a folder here with ``figures.py`` (its figures) and ``items.yaml``: every table and figure of the
paper with its state, the reason, and the figures here that make it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from olaflab.papers.figure import Figure

_HERE = Path(__file__).parent
NAMES = tuple(sorted(path.parent.name for path in _HERE.glob("*/items.yaml")))
"""Names of all papers."""
STATES = ("agrees", "input", "differs", "departs", "not made")
"""States of a reproduction; every one but "agrees" needs a reason. An input of our model proves nothing."""
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


def load_figures(paper: str) -> Mapping[str, Figure]:
    """Return a paper's figures by name."""
    found = import_module(f"olaflab.papers.{paper}.figures").figures()
    return {each.name: each for each in found}


def load_items(paper: str) -> Sequence[Item]:
    """Read the list of everything that a paper shows."""
    rows: list[dict[str, Any]] = yaml.safe_load((_HERE / paper / "items.yaml").read_text(encoding="utf-8"))
    return [
        Item(str(row["item"]), row["title"], row["state"], str(row.get("why", "")), tuple(row["made"]))
        for row in rows
    ]


def fill_page(paper: str, text: str) -> str:
    """Write a paper's items into their place on the page: a table, then in a line what is not made.

    Raises ValueError without a place.
    """
    rows = ["| of the paper | what | here | why, or how far | made by |", "|---|---|---|---|---|"]
    without: dict[str, list[str]] = {}
    for each in load_items(paper):
        made = ", ".join(f"`{name}`" for name in each.made)
        if each.state == "not made" and not made:
            without.setdefault(each.why, []).append(f"{each.number} ({each.title})")
        else:
            rows.append(f"| {each.number} | {each.title} | {each.state} | {each.why} | {made} |")
    rows += ["", "Not made:"]
    rows += [f"- {', '.join(items)}: {why}" for why, items in without.items()]
    before, rest = text.split(_BEGIN)
    _, after = rest.split(_END)
    return "\n".join([f"{before}{_BEGIN}", *rows, f"{_END}{after}"])
