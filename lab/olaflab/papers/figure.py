"""The one shape of a figure: runs → points → picture and section.

A table or figure of a paper is run (measured, modelled or trained), which gives points; from points alone its
picture is drawn and its section is made, so both can be made again without running anything.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Progress = Callable[[str], None]
Points = dict[str, Any]
"""The findings as JSON holds them; long columns may be arrays. A picture and a section need nothing else."""
Draw = Callable[[Points, "Drawing"], None]
RUNS = 30
"""Runs of each setup in the event-level model."""
HOLDS, FAILS = "holds", "does not hold"
"""Verdicts on what is computed alike in every run."""
NOT_SHOWN, CONTRADICTED = "not shown", "contradicted"
"""Verdicts on what is drawn, where the 95 % interval holds the bound or lies on its other side."""


class FigureCost(StrEnum):
    """The effort of running a figure."""

    MODEL = "model"
    """Takes minutes and gives the same everywhere: run each time, and cached by all that decides it."""
    TRAINING = "training"
    """Takes hours: run on request only, otherwise read from the committed points."""
    MACHINE = "machine"
    """Measures the machine it runs on: run on request only, too."""


@dataclass(frozen=True)
class FigureTable:
    """Rows of text under heads."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """The words of a figure: its tables, and each statement of the paper with the verdict on it."""

    tables: Mapping[str, FigureTable]
    """Tables with their names; the first one is the comparison with the paper, the others are sweeps."""
    verdicts: Mapping[str, str] = field(default_factory=dict)

    @property
    def first_table(self) -> FigureTable | None:
        """The first table."""
        return next(iter(self.tables.values()), None)


def decide_statements(holds: Mapping[str, bool]) -> dict[str, str]:
    """Return the verdicts on statements that hold or do not, without any chance."""
    return {statement: HOLDS if met else FAILS for statement, met in holds.items()}


def judge_interval(low: float, high: float, bound: float = 0.0) -> str:
    """Return the verdict on "above ``bound``" for a value with this 95 % interval; NaN shows nothing."""
    if low > bound:
        return HOLDS
    return CONTRADICTED if high < bound else NOT_SHOWN


@dataclass(frozen=True)
class Effort:
    """The effort that a run may take, and where it leaves its parts."""

    progress: Progress
    seeds: int | None = None
    """Seeds or repetitions; None is the figure's own number."""
    length: float | None = None
    """Length of a training, as a share of the whole one; None is the figure's own."""
    folder: Path = Path("figures")
    """Finished parts of long runs, so that an interrupted one continues."""
    kept: Mapping[str, Points] = field(default_factory=dict)
    """Committed points of the paper's other figures, for those that need them."""

    def seed_count(self, usual: int) -> int:
        """Return the requested number of seeds, or the usual one."""
        return usual if self.seeds is None else self.seeds

    @property
    def is_reduced(self) -> bool:
        """Whether other seeds or another length were requested than the figure's own."""
        return self.seeds is not None or self.length is not None


@dataclass(frozen=True)
class Figure:
    """A table or figure of a paper."""

    name: str
    title: str
    run: Callable[[Effort], Points]
    section: Callable[[Points], Section]
    draw: Draw | None = None
    cost: FigureCost = FigureCost.MODEL
    size: tuple[float, float] = (7, 4.2)
    """Inches of the picture."""
    code: Sequence[Path] = ()
    """The files, besides the simulator's, that decide what is run; the result is cached by them."""
    needs: Sequence[str] = ()
    """Other figures of the paper whose committed points it reads."""


def make_modelled(
    name: str,
    title: str,
    measure: Callable[[int, Progress], Points],
    section: Callable[[Points], Section],
    draw: Draw | None = None,
    size: tuple[float, float] = (7, 4.2),
    code: Sequence[Path] = (),
) -> Figure:
    """Return a figure of the event-level model: ``measure`` takes a number of runs, 30 by default."""

    def run_model(effort: Effort) -> Points:
        return measure(effort.seed_count(RUNS), effort.progress)

    return Figure(name, title, run_model, section, draw, FigureCost.MODEL, size, code)


Row = Mapping[str, Any]
"""A dataclass of plain values, as JSON holds it."""
Columns = Mapping[str, str | Callable[[Row], str]]
"""A column for each head: a format string of the row, or a function that makes its cell."""


def make_measured(
    name: str,
    title: str,
    make: Callable[[Effort], Iterable[Any]],
    columns: Columns,
    draw: Draw | None = None,
    cost: FigureCost = FigureCost.MACHINE,
    only: str = "",
    size: tuple[float, float] = (7, 4.2),
) -> Figure:
    """Return a figure whose points are rows; rows without the key ``only`` are left out of the table.

    ``make`` yields a dataclass for each row, measured or modelled.
    """

    def run_measurement(effort: Effort) -> Points:
        return {"rows": [asdict(each) for each in make(effort)]}

    def section(points: Points) -> Section:
        rows = [row for row in points["rows"] if not only or only in row]
        return Section({"rows": tabulate_rows(title, columns, rows)})

    return Figure(name, title, run_measurement, section, draw, cost, size)


def tabulate_rows(title: str, columns: Columns, rows: Sequence[Row]) -> FigureTable:
    """Format ``rows`` as a table."""
    lines = [
        [each.format(**row) if isinstance(each, str) else each(row) for each in columns.values()]
        for row in rows
    ]
    return FigureTable(title, list(columns), lines)


def tabulate_pairs(title: str, rows: Iterable[Iterable[tuple[str, str]]]) -> FigureTable:
    """Make a table of rows, at least one, whose cells come with their heads, which are the same in all."""
    made = [list(row) for row in rows]
    return FigureTable(title, [head for head, _ in made[0]], [[cell for _, cell in row] for row in made])


def with_interval(key: str, digits: int = 1) -> Callable[[Row], str]:
    """Return what makes the cell of an estimate: its mean and half of its interval."""

    def cell(row: Row) -> str:
        found = row[key]
        return "" if found is None else f"{found['mean']:.{digits}f} ± {found['interval']:.{digits}f}"

    return cell
