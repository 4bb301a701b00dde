"""A figure whose points are rows: what was measured or modelled, each formatted into a line of a table."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from olaflab.papers.figure import Cost, Effort, Figure, Points, Section, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Row = Mapping[str, Any]
"""A dataclass of plain values, as JSON holds it."""
Columns = Mapping[str, str | Callable[[Row], str]]
"""By head: a format string of the row, or what makes a cell of it."""


def measured(
    name: str,
    title: str,
    make: Callable[[Effort], Iterable[Any]],
    columns: Columns,
    draw: "Callable[[Points, Drawing], None] | None" = None,
    cost: Cost = Cost.MACHINE,
    only: str = "",
    size: tuple[float, float] = (10, 4.5),
) -> Figure:
    """``make`` yields dataclasses; rows without the key ``only`` are left out of the table."""

    def run(effort: Effort) -> Points:
        return {"rows": [asdict(each) for each in make(effort)]}

    def section(points: Points) -> Section:
        rows = [row for row in points["rows"] if not only or only in row]
        return Section({"rows": table(title, columns, rows)})

    return Figure(name, title, run, section, draw, cost, size)


def table(title: str, columns: Columns, rows: Sequence[Row]) -> Table:
    """Rows as text."""
    lines = [
        [each.format(**row) if isinstance(each, str) else each(row) for each in columns.values()]
        for row in rows
    ]
    return Table(title, list(columns), lines)


def estimated(key: str, digits: int = 1) -> Callable[[Row], str]:
    """A cell with an estimate: its mean and half of its interval."""

    def cell(row: Row) -> str:
        found = row[key]
        return "" if found is None else f"{found['mean']:.{digits}f} ± {found['interval']:.{digits}f}"

    return cell
