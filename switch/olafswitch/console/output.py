"""Everything a verb prints: tables, JSON, the steps of long work, and errors."""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any

import click

from olafswitch.errors import OlafError
from olafswitch.terminal import escape_controls

_START = time.monotonic()
_STILL_AFTER = 10.0
_Command = Callable[..., Any]
_has_document = threading.Event()
"""Set once the standard output has a document: a parser of the output expects no second one."""


def begin_output() -> None:
    """Forget an earlier document: a command line begins that has printed nothing yet."""
    _has_document.clear()


def json_option(meaning: str) -> Callable[[_Command], _Command]:
    """Return the option ``--json`` of a verb, given to it as ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help=meaning)


def wants_json() -> bool:
    """Return whether the command line asks for JSON, also when it cannot be parsed; words after ``--`` belong
    to another program."""
    words = sys.argv[1:]
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def print_json(value: Any) -> None:
    """Print ``value`` as one JSON document on the standard output."""
    _has_document.set()
    print_document(json.dumps(value, indent=1) + "\n")


def print_document(text: str) -> None:
    """Print a file's content as it is."""
    click.echo(text, nl=False)


def print_lines(*lines: object, err: bool = False, colour: str | None = None) -> None:
    """Print each of ``lines`` on one line, on the standard output or error; none steers the terminal."""
    for line in lines:
        click.secho(escape_controls(str(line)), err=err, fg=colour)


def show_result(document: Any, text: str, as_json: bool) -> None:
    """Print what a verb has done: ``document`` as JSON, or ``text`` for people."""
    if as_json:
        print_json(document)
    else:
        print_lines(text)


def count_noun(number: int, what: str) -> str:
    """Return ``number`` with the noun ``what``, in the plural unless ``number`` is 1."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def make_grid(heads: Sequence[str], rows: Sequence[Sequence[Any]], no_wrap: bool = False) -> Any:
    """Return a table of rich's; columns of numbers are aligned to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column, head in enumerate(heads):
        numeric = bool(rows) and all(isinstance(row[column], int | float) for row in rows)
        made.add_column(Text(escape_controls(head)), justify="right" if numeric else "left", no_wrap=no_wrap)
    for row in rows:
        made.add_row(*(Text(escape_controls(str(cell))) for cell in row))
    return made


def print_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table with a title. Cells are never cut."""
    from rich.console import Console

    # As wide as its content: a pipe and a log are read in whole lines.
    console = Console(highlight=False, width=10_000)
    print_lines("", title)
    with console.capture() as shown:
        console.print(make_grid(heads, rows, no_wrap=True))
    print_document("".join(f"  {line.rstrip()}\n" for line in shown.get().splitlines()))


def print_error(error: OlafError) -> None:
    """Print one line a problem on the standard error; with ``--json``, one document on the standard output
    unless one is there already."""
    if wants_json() and not _has_document.is_set():
        problems = [vars(problem) for problem in error.problems]
        print_json({"error": {"problems": problems, "exit_code": error.exit_code}})
        return
    print_lines(*(f"error: {problem}" for problem in error.problems), err=True)


def log_progress(step: str) -> None:
    """Show a step of long work as it begins, on the standard error, with the seconds since the start.

    A closed pipe or a full disk at the other end does not stop it half-way.
    """
    with suppress(OSError):
        print_lines(f"{time.monotonic() - _START:6.1f} s  {step}", err=True)


@contextmanager
def show_progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a step with :func:`log_progress` and repeats a long step every 10 s."""
    steps: SimpleQueue[str | None] = SimpleQueue()

    def begin(step: str) -> None:
        log_progress(step)
        steps.put(step)

    def repeat() -> None:
        step, since = steps.get(), time.monotonic()
        while step is not None:
            try:
                step, since = steps.get(timeout=_STILL_AFTER), time.monotonic()
            except Empty:
                log_progress(f"still {step}, for {time.monotonic() - since:.0f} s")

    threading.Thread(target=repeat, name="progress", daemon=True).start()
    try:
        yield begin
    finally:
        steps.put(None)
