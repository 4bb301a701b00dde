"""Errors for people: what was wrong, where, and what to do.

Every failure an operator can cause or meet is an :class:`OlafError`; the command line prints it as
one line per problem and exits with its code. Anything else that escapes is a defect of Olaf.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_MISSING_TOOL = 3


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: ``where`` (file:line: field), ``what``, and the ``remedy``."""

    what: str
    where: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        remedy = f" ({self.remedy})" if self.remedy else ""
        return f"{place}{self.what}{remedy}"


class OlafError(Exception):
    """A failure with one or more problems to show; the process exits with ``exit_code``."""

    exit_code = EXIT_FAILED

    def __init__(self, *problems: Problem | str) -> None:
        self.problems: Sequence[Problem] = tuple(
            problem if isinstance(problem, Problem) else Problem(problem) for problem in problems
        )
        super().__init__("\n".join(str(problem) for problem in self.problems))


class BadInput(OlafError):
    """The operator's input (a testbed, an option, a file) is wrong; nothing was started."""

    exit_code = EXIT_BAD_INPUT


class MissingTool(OlafError):
    """A program that this command needs is not installed; the problem says which and how to get it."""

    exit_code = EXIT_MISSING_TOOL


@contextmanager
def importing(what: str, remedy: str = "pip install ./sdk in a checkout") -> Iterator[None]:
    """Raise MissingTool when an import inside, which ``what`` needs, finds no package."""
    try:
        yield
    except ImportError as error:
        raise MissingTool(Problem(f"{what} needs the Python package {error.name}", remedy=remedy)) from error
