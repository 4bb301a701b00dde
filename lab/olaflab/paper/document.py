"""Everything as one Markdown document, its tables as CSV and its figures as PNG and SVG."""

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from olafctl.errors import OlafError, Problem
from olafctl.templates import fill_in
from olaflab.paper import html
from olaflab.paper.experiment import Data, Experiment, Section, Table

PAGES = Path(__file__).parent / "pages"
_LONG = 18
"""Rows of a table that a reader is shown without asking."""


def write(measured: Mapping[Experiment, Data], document: Path, folder: Path) -> Sequence[Path]:
    """``document`` from every experiment's figures; what it shows as files of ``folder``.

    Returns all paths written. Raises OlafError when one cannot be.
    """
    try:
        document.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        files = [path for one, data in measured.items() for path in _files(one, data, folder)]
        document.write_text(_whole(measured, document, folder))
    except OSError as error:
        raise OlafError(Problem(f"cannot be written: {error.strerror}", str(error.filename))) from error
    return [document, *files]


def write_html(document: Path, path: Path) -> Path:
    """A written document as one page with its pictures in it. Raises OlafError when it cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(html.page(document.read_text(), document.parent))
    except OSError as error:
        raise OlafError(Problem(f"cannot be written: {error.strerror}", str(error.filename))) from error
    return path


def _whole(measured: Mapping[Experiment, Data], document: Path, folder: Path) -> str:
    parts = [fill_in(PAGES, "introduction.md")]
    for experiment, data in measured.items():
        section = experiment.section(data)
        picture = _picture(experiment, folder)
        figure = _figure(experiment.title, picture, document.parent) if experiment.draw else ""
        tables = {name: markdown(table) for name, table in section.tables.items()}
        text = fill_in(
            PAGES,
            f"{experiment.page or experiment.name}.md",
            table=tables,
            figure=figure,
            **section.values,
        )
        parts.append(f"## {experiment.title}\n\n{text}")
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _figure(title: str, picture: Path, beside: Path) -> str:
    """A picture, which leads to its SVG where there is one; nothing where there is no picture."""
    if not picture.is_file():
        return ""
    shown = f"![{title}]({os.path.relpath(picture, beside)})"
    vector = picture.with_suffix(".svg")
    return f"[{shown}]({os.path.relpath(vector, beside)})" if vector.is_file() else shown


def markdown(table: Table) -> str:
    """A table with its title above; a long one is folded."""
    rows = [_row(table.heads), _row("---" for _ in table.heads), *map(_row, table.rows)]
    if len(table.rows) <= _LONG:
        return "\n".join((f"*{table.title}*", "", *rows))
    begin = f"<details><summary>{table.title} ({len(table.rows)} rows)</summary>"
    return "\n".join((begin, "", *rows, "", "</details>"))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _files(experiment: Experiment, data: Data, folder: Path) -> Sequence[Path]:
    section: Section = experiment.section(data)
    paths = []
    for name, table in section.tables.items():
        path = folder / f"{experiment.name}-{name}.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows((table.heads, *table.rows))
        paths.append(path)
    if experiment.draw is not None:
        picture = _picture(experiment, folder)
        experiment.draw(data, picture)
        kinds = (".png", ".svg", ".json", ".csv")
        paths += [path for kind in kinds if (path := picture.with_suffix(kind)).is_file()]
    return paths


def _picture(experiment: Experiment, folder: Path) -> Path:
    return folder / f"{experiment.name}.png"
