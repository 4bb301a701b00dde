"""What an experiment is: it measures, its figures are kept as JSON, and become a section of the document."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from olaflab.training.figures.report import Table as Table

Progress = Callable[[str], None]
Data = dict[str, Any]
"""What an experiment measured, as JSON holds it."""


@dataclass(frozen=True)
class Section:
    """What an experiment's text (``pages/PAGE.md``) shows, by name."""

    tables: Mapping[str, Table]
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper."""

    name: str
    title: str
    code: Sequence[Path]
    """The files, besides the simulator's, that decide what is measured."""
    measure: Callable[[int, Progress], Data]
    """With a number of runs."""
    section: Callable[[Data], Section]
    draw: Callable[[Data, Path], None] | None = None
    """Writes the figure as PNG and what else there is beside it; nothing where there is nothing to show."""
    page: str = ""
    """The text in ``pages/``; the name's if empty."""
