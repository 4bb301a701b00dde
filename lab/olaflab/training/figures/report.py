"""A figure as files: every point as CSV, the summary as JSON, the curves as PNG."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from olafctl import plotting
from olafctl.cli.output import table
from olafctl.errors import OlafError, Problem
from olaflab import pictures

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

# Student's t at 97.5 %, by degrees of freedom from 1.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145)


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds, and half the width of its 95 % confidence interval (Student's t)."""

    mean: float
    interval: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.interval:.1f}"


@dataclass(frozen=True)
class Table:
    """What explains a figure further."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Figure:
    """What a figure found."""

    name: str
    """Of its files."""
    title: str
    settings: Mapping[str, Any]
    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]
    holds: Mapping[str, bool]
    """Each statement of the paper, and whether it holds here."""
    columns: Sequence[str]
    points: Sequence[Sequence[Any]]
    """Everything measured, a line of the CSV each."""
    draw: Callable[[Drawing], None]
    tables: Sequence[Table] = ()
    contradicted: Collection[str] | None = None
    """Statements whose opposite is shown; None where the figure does not say which are."""

    def verdict(self, statement: str) -> str:
        """Whether a statement holds, in a word or three."""
        if self.holds[statement]:
            return "holds"
        if self.contradicted is None:
            return "does not hold"
        return "contradicted" if statement in self.contradicted else "not shown"


def estimate(values: NDArray[np.float64]) -> Estimate:
    """Over the seeds; the interval is NaN for one."""
    count = len(values)
    if count < 2:
        return Estimate(float(values.mean()), float("nan"))
    t = _T[count - 2] if count - 2 < len(_T) else _large(count - 1)
    return Estimate(float(values.mean()), float(t * values.std(ddof=1) / count**0.5))


def _large(degrees: int) -> float:
    """Student's t for many degrees of freedom, to 0.001: the normal quantile and its first corrections."""
    z = NormalDist().inv_cdf(0.975)
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)


def write(figure: Figure, folder: Path) -> list[Path]:
    """``NAME.csv``, ``NAME.json``, ``NAME.png`` and ``NAME.svg`` in ``folder``. Raises OlafError."""
    points, summary, picture = (folder / f"{figure.name}.{kind}" for kind in ("csv", "json", "png"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with points.open("w", newline="") as file:
            csv.writer(file).writerows((figure.columns, *figure.points))
        summary.write_text(json.dumps(as_json(figure), indent=2) + "\n")
    except OSError as error:
        raise OlafError(Problem(f"cannot write the figure: {error.strerror}", str(folder))) from error
    drawing = plotting.new_figure(11, 4.8)
    figure.draw(drawing)
    return [points, summary, *pictures.save(drawing, picture)]


def show(figure: Figure) -> None:
    """Print its tables, then each statement and whether it holds."""
    table(figure.title, figure.heads, [[str(cell) for cell in row] for row in figure.rows])
    for more in figure.tables:
        table(more.title, more.heads, more.rows)
    click.echo("")
    for statement in figure.holds:
        click.echo(f"{figure.verdict(statement)}: {statement}")


def as_json(figure: Figure) -> dict[str, Any]:
    """Title, settings, the table's rows by their heads, the statements, and further tables."""
    contradicted = {} if figure.contradicted is None else {"contradicted": list(figure.contradicted)}
    return {
        "figure": figure.name,
        "title": figure.title,
        "settings": dict(figure.settings),
        "rows": [
            {head: _plain(cell) for head, cell in zip(figure.heads, row, strict=True)} for row in figure.rows
        ],
        "holds": dict(figure.holds),
        **contradicted,
        "tables": [asdict(table) for table in figure.tables],
    }


def _plain(cell: Any) -> Any:
    return {"mean": cell.mean, "interval": cell.interval} if isinstance(cell, Estimate) else cell
