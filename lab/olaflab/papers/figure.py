"""The one shape of a figure: runs → points → picture and section.

A table or figure of a paper is run (measured, modelled or trained), which gives points; from points alone its
picture is drawn and its section is made, so both can be made again without running anything.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Progress = Callable[[str], None]
Points = dict[str, Any]
"""What was found, as JSON holds it; long columns may be arrays. All that a picture and a section need."""
RUNS = 30
"""Runs of each setup in the event-level model."""
HOLDS, FAILS = "holds", "does not hold"


class Cost(StrEnum):
    """What it takes to run a figure."""

    MODEL = "model"
    """Minutes, and the same everywhere: run each time, and kept by all that decides it."""
    TRAINING = "training"
    """Hours: run only on request, otherwise taken from the committed points."""
    MACHINE = "machine"
    """It measures this machine: run only on request, too."""


@dataclass(frozen=True)
class Table:
    """Rows of text under heads."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """What a figure shows in words: tables, and each statement of the paper with what becomes of it here."""

    tables: Mapping[str, Table]
    """By name; the first one is the comparison with the paper, the others are sweeps."""
    verdicts: Mapping[str, str] = field(default_factory=dict)

    @property
    def comparison(self) -> Table | None:
        """The first table."""
        return next(iter(self.tables.values()), None)


def verdicts(holds: Mapping[str, bool]) -> dict[str, str]:
    """Verdicts of statements that hold or do not."""
    return {statement: HOLDS if met else FAILS for statement, met in holds.items()}


@dataclass(frozen=True)
class Effort:
    """What is spent on a run."""

    progress: Progress
    seeds: int | None = None
    """Seeds or repetitions; None is the figure's own number."""
    length: float | None = None
    """Length of a training, as a share of the whole one; None is the figure's own."""
    folder: Path = Path("figures")
    """Finished parts of long runs, so that an interrupted one goes on."""
    kept: Mapping[str, Points] = field(default_factory=dict)
    """Committed points of the paper's other figures, for those that need them."""

    def number(self, usual: int) -> int:
        """Seeds as requested, or the usual number."""
        return usual if self.seeds is None else self.seeds


@dataclass(frozen=True)
class Figure:
    """A table or figure of a paper."""

    name: str
    title: str
    run: Callable[[Effort], Points]
    section: Callable[[Points], Section]
    draw: Callable[[Points, "Drawing"], None] | None = None
    cost: Cost = Cost.MODEL
    size: tuple[float, float] = (10, 4.5)
    """Inches of the picture."""
    code: Sequence[Path] = ()
    """The files, besides the simulator's, that decide what is run; the result is kept by them."""
    needs: Sequence[str] = ()
    """Other figures of the paper whose committed points it reads."""


def modelled(
    name: str,
    title: str,
    measure: Callable[[int, Progress], Points],
    section: Callable[[Points], Section],
    draw: "Callable[[Points, Drawing], None] | None" = None,
    size: tuple[float, float] = (10, 4.5),
    code: Sequence[Path] = (),
) -> Figure:
    """A figure of the event-level model: ``measure`` takes a number of runs, 30 by default."""

    def run(effort: Effort) -> Points:
        return measure(effort.number(RUNS), effort.progress)

    return Figure(name, title, run, section, draw, Cost.MODEL, size, code)
