"""Results over seeds: estimates with intervals, a training's summary, and the figure that is made of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from olaflab.papers.figure import (
    CONTRADICTED,
    HOLDS,
    NOT_SHOWN,
    Draw,
    Effort,
    Figure,
    FigureCost,
    FigureTable,
    Points,
    Section,
    judge_interval,
)


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds, and half the width of its 95 % confidence interval (Student's t)."""

    mean: float
    interval: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.interval:.1f}"

    @property
    def verdict(self) -> str:
        """The verdict on "this difference is above 0"."""
        return judge_interval(self.mean - self.interval, self.mean + self.interval)

    @property
    def word(self) -> str:
        """A word for a difference: more, less, or not shown where the interval holds 0."""
        return {HOLDS: "more", CONTRADICTED: "less", NOT_SHOWN: NOT_SHOWN}[self.verdict]


def estimate_mean(values: NDArray[np.float64]) -> Estimate:
    """Estimate a mean over the seeds; the interval is NaN for one."""
    count = len(values)
    if count < 2:
        return Estimate(float(values.mean()), float("nan"))
    return Estimate(float(values.mean()), float(t.ppf(0.975, count - 1) * values.std(ddof=1) / count**0.5))


def compare_seeds(
    claim: str, higher: NDArray[np.float64], lower: NDArray[np.float64], unit: str = "", digits: int = 1
) -> tuple[str, str]:
    """Return a claim with the difference, taken seed by seed, and the verdict that its interval gives."""
    found = estimate_mean(higher - lower)
    return f"{claim}, by {found.mean:.{digits}f} ± {found.interval:.{digits}f}{unit}", found.verdict


@dataclass(frozen=True)
class Summary:
    """The findings of a training."""

    title: str
    settings: Mapping[str, Any]
    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]
    verdicts: Mapping[str, str]
    """Each statement of the paper with the verdict on it."""
    columns: Sequence[str]
    points: Sequence[Sequence[Any]]
    """Everything measured, by column."""
    tables: Sequence[FigureTable] = ()
    """Further tables that explain the first."""


def pack_summary(found: Summary) -> Points:
    """Return a summary as points: plain values for JSON, and every measured point as columns."""
    return {
        "title": found.title,
        "settings": dict(found.settings),
        "heads": list(found.heads),
        "rows": [[_plain_cell(cell) for cell in row] for row in found.rows],
        "verdicts": dict(found.verdicts),
        "tables": [asdict(each) for each in found.tables],
        "columns": _to_columns(found.columns, found.points),
    }


def _plain_cell(cell: Any) -> Any:
    return {"mean": cell.mean, "interval": cell.interval} if isinstance(cell, Estimate) else cell


def _to_columns(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Return one array a column: of numbers where all cells are numbers, of text otherwise."""
    return {head: _make_column([row[place] for row in rows]) for place, head in enumerate(heads)}


def _make_column(cells: Sequence[Any]) -> np.ndarray[Any, Any]:
    try:
        numbers = np.array([float(cell) for cell in cells])
    except (TypeError, ValueError):
        return np.array([str(cell) for cell in cells])
    if numbers.size and (numbers == numbers.astype(np.int64)).all():
        return numbers.astype(np.int64)
    return numbers.astype(np.float32)


def unpack_section(points: Points) -> Section:
    """Return the section of packed points: the summary's table first, then what explains it."""
    rows = [[_format_cell(cell) for cell in row] for row in points["rows"]]
    seeds = points["settings"].get("seeds")
    title = points["title"] + (f"; {seeds} seed{'s' * (seeds != 1)}" if seeds else "")
    more = {f"more{number}": FigureTable(**each) for number, each in enumerate(points["tables"], 1)}
    return Section({"summary": FigureTable(title, points["heads"], rows), **more}, points["verdicts"])


def _format_cell(cell: Any) -> str:
    if isinstance(cell, Mapping):
        return f"{cell['mean']:.1f} ± {cell['interval']:.1f}"
    if isinstance(cell, float):
        return "–" if np.isnan(cell) else f"{cell:.4g}"
    return str(cell)


def make_trained(
    name: str,
    title: str,
    make: Callable[[Effort], Summary],
    draw: Draw | None = None,
    cost: FigureCost = FigureCost.TRAINING,
    code: Sequence[Path] = (),
    size: tuple[float, float] = (7, 6),
    section: Callable[[Points], Section] = unpack_section,
) -> Figure:
    """Return a figure of what ``make`` trains."""
    return Figure(name, title, lambda effort: pack_summary(make(effort)), section, draw, cost, size, code)
