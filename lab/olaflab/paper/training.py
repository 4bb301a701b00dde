"""Figures of OLAF that ``olafctl bench train`` makes, through the twin: here they are looked up."""

import json
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

from olafctl.errors import BadInput, Problem
from olaflab.paper.experiment import Data, Section, Table

TITLES = {
    "fig2": "Figure 2: training strategies",
    "fig2-equal": "Figure 2 with as large a step in all",
    "fig2-rates": "Figure 2 with a rate for each strategy",
    "fig3": "Figure 3: number of workers",
    "fig7-twin": "Figure 7 through the twin, with transmission control",
    "fig7-control": "Figure 7 with other Δ_T and v",
    "fig8": "Figure 8: reward under congestion",
    "fig8-control": "Figure 8 with transmission control in all",
    "fig8-settings": "Figure 8 with other settings",
}
KINDS = (".png", ".svg", ".csv")
"""Of files beside a summary: the picture, and every point."""
_FIGURES = {"fig7-twin": "7"}
"""``--figure`` of those where it is not the name after ``fig``."""


@dataclass(frozen=True)
class Summary:
    """What ``olafctl bench train --figure N --out FOLDER`` leaves as ``FOLDER/figureN.json``."""

    title: str
    settings: dict[str, Any]
    rows: list[dict[str, Any]]
    """By head; an estimate is {"mean": …, "interval": …}."""
    holds: dict[str, bool]
    """Each statement of the paper, and whether it holds here."""
    tables: list[dict[str, Any]]
    """Further ones: title, heads, rows."""


def load(path: Path) -> Summary | None:
    """The summary in a file; None when there is none. Raises BadInput for a file that is none."""
    try:
        found = json.loads(path.read_text())
        return Summary(
            title=str(found["title"]),
            settings=dict(found["settings"]),
            rows=[dict(row) for row in found["rows"]],
            holds={str(text): bool(value) for text, value in dict(found["holds"]).items()},
            tables=[{key: table[key] for key in ("title", "heads", "rows")} for table in found["tables"]],
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        number = path.stem.removeprefix("figure")
        raise BadInput(
            Problem("is no summary of a training", str(path), f"olafctl bench train --figure {number}")
        ) from error


def found(name: str, folder: Path, kept: Path) -> Data:
    """A figure's data: from ``folder``, or as a reproduction left it in ``kept`` (:func:`draw`).

    ``summary`` is None when neither has it.
    """
    places = (folder / f"figure{_figure(name)}.json", kept / f"{name}.json")
    for path in places:
        summary = load(path)
        if summary is not None:
            files = [str(each) for kind in KINDS if (each := path.with_suffix(kind)).is_file()]
            return {"name": name, "summary": vars(summary), "files": files}
    return {"name": name, "summary": None, "files": []}


def draw(data: Data, path: Path) -> None:
    """The training's picture as ``path``; its summary and points beside it. Without one, all stays as it is.

    So a checkout without the trainings has what they found, and shows it again.
    """
    if data["summary"] is None:
        return
    _replace(
        path.with_suffix(".json"), (json.dumps(data["summary"], indent=1, ensure_ascii=False) + "\n").encode()
    )
    sources = {Path(each).suffix: Path(each).read_bytes() for each in data["files"]}
    for kind in KINDS if sources else ():
        if kind in sources:
            _replace(path.with_suffix(kind), sources[kind])
        else:
            path.with_suffix(kind).unlink(missing_ok=True)  # of an earlier training


def _replace(path: Path, content: bytes) -> None:
    """Not at all where nothing changes: the source may be the same file."""
    if not path.is_file() or path.read_bytes() != content:
        path.write_bytes(content)


def section(data: Data) -> Section:
    """The summary as a table and its statements, or how to get it."""
    command = f"olafctl bench train --figure {_figure(data['name'])}"
    if data["summary"] is None:
        return Section({}, {"training": f"Not run: `{command}` makes it, then `olafctl reproduce` shows it."})
    summary = Summary(**data["summary"])
    heads = list(summary.rows[0]) if summary.rows else []
    rows = [[_text(row.get(head)) for head in heads] for row in summary.rows]
    seeds = summary.settings.get("seeds")
    title = f"{summary.title}; {seeds} seed{'s' * (seeds != 1)}" if seeds else summary.title
    more = {f"more{number}": Table(**table) for number, table in enumerate(summary.tables, 1)}
    return Section(
        {"summary": Table(title, heads, rows), **more},
        {
            "training": f"From `{command}`, through the twin in virtual time ([training](training.md)).",
            "holds": summary.holds,
        },
    )


def _figure(name: str) -> str:
    """What ``olafctl bench train --figure`` calls it."""
    return _FIGURES.get(name, name.removeprefix("fig"))


def _text(cell: Any) -> str:
    if isinstance(cell, dict):
        return f"{cell['mean']:.1f} ± {cell['interval']:.1f}"
    if isinstance(cell, float):
        return "–" if isnan(cell) else f"{cell:.4g}"
    return str(cell)
