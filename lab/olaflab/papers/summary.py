"""What a training found: a table of estimates, statements, and every point; and a figure made of it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from olaflab.papers.archive import columns
from olaflab.papers.figure import FAILS, HOLDS, Cost, Effort, Figure, Points, Section, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds, and half the width of its 95 % confidence interval (Student's t)."""

    mean: float
    interval: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.interval:.1f}"


@dataclass(frozen=True)
class Summary:
    """What a training found."""

    title: str
    settings: Mapping[str, Any]
    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]
    holds: Mapping[str, bool]
    """Each statement of the paper, and whether it holds here."""
    columns: Sequence[str]
    points: Sequence[Sequence[Any]]
    """Everything measured, by column."""
    tables: Sequence[Table] = ()
    """What explains it further."""
    contradicted: Collection[str] | None = None
    """Statements whose opposite is shown; None where the figure does not record them."""

    def verdict(self, statement: str) -> str:
        """What becomes of a statement, in at most three words."""
        if self.holds[statement]:
            return HOLDS
        if self.contradicted is None:
            return FAILS
        return "contradicted" if statement in self.contradicted else "not shown"


def estimate(values: NDArray[np.float64]) -> Estimate:
    """Over the seeds; the interval is NaN for one."""
    count = len(values)
    if count < 2:
        return Estimate(float(values.mean()), float("nan"))
    return Estimate(float(values.mean()), float(t.ppf(0.975, count - 1) * values.std(ddof=1) / count**0.5))


def pack(found: Summary) -> Points:
    """As points: the summary as JSON holds it, every point as columns."""
    return {
        "title": found.title,
        "settings": dict(found.settings),
        "heads": list(found.heads),
        "rows": [[plain(cell) for cell in row] for row in found.rows],
        "verdicts": {statement: found.verdict(statement) for statement in found.holds},
        "tables": [asdict(each) for each in found.tables],
        "columns": columns(found.columns, found.points),
    }


def plain(cell: Any) -> Any:
    """A cell as JSON holds it."""
    return {"mean": cell.mean, "interval": cell.interval} if isinstance(cell, Estimate) else cell


def section(points: Points) -> Section:
    """The summary's table first, then what explains it."""
    rows = [[text(cell) for cell in row] for row in points["rows"]]
    seeds = points["settings"].get("seeds")
    title = points["title"] + (f"; {seeds} seed{'s' * (seeds != 1)}" if seeds else "")
    more = {f"more{number}": Table(**each) for number, each in enumerate(points["tables"], 1)}
    return Section({"summary": Table(title, points["heads"], rows), **more}, points["verdicts"])


def text(cell: Any) -> str:
    """A cell of :func:`pack` for people."""
    if isinstance(cell, Mapping):
        return f"{cell['mean']:.1f} ± {cell['interval']:.1f}"
    if isinstance(cell, float):
        return "–" if np.isnan(cell) else f"{cell:.4g}"
    return str(cell)


def trained(
    name: str,
    title: str,
    make: Callable[[Effort], Summary],
    draw: "Callable[[Points, Drawing], None] | None" = None,
    cost: Cost = Cost.TRAINING,
    code: Sequence[Path] = (),
) -> Figure:
    """A figure of what ``make`` trains."""
    return Figure(name, title, lambda effort: pack(make(effort)), section, draw, cost, (11, 4.8), code)
