"""Text from elsewhere is shown without control characters and begins no line, so it steers no terminal."""

import json
import logging
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from types import SimpleNamespace

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olafctl.machines.calls import name_caller
from olafswitch import log
from olafswitch.console import command_line, output
from olafswitch.errors import OlafError, Problem

STEERING = "\n\r\t\x00\x07\x08\x1b\x7f\x85\x9b\u200f\u2028\u2029\u202e\u2066\ufeff"
texts = st.text(st.sampled_from(STEERING) | st.characters(exclude_categories=()), max_size=20)


def raise_defect(text: str) -> None:
    try:
        raise RuntimeError(text)
    except RuntimeError as error:
        sys.excepthook(RuntimeError, error, error.__traceback__)


def log_exception(text: str) -> None:
    try:
        raise RuntimeError(text)
    except RuntimeError:
        logging.getLogger("olafctl.x").exception("%s", text)


def show_caller(text: str) -> None:
    names = {"x509_common_name": [text.encode(errors="replace")]}
    output.print_lines(name_caller(SimpleNamespace(auth_context=lambda: names, peer=lambda: "unix:")))


@pytest.fixture(autouse=True)
def _own_hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore afterwards what configuring the log sets."""
    root = logging.getLogger()
    for name, value in (("handlers", [*root.handlers]), ("level", root.level)):
        monkeypatch.setattr(root, name, value)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)


DOORS: dict[str, Callable[[str], None]] = {
    "lines": output.print_lines,
    "result": lambda text: output.show_result({}, text, as_json=False),
    "table": lambda text: output.print_table(text, [text, "b"], [[text, 1], ["x", 2]]),
    "error": lambda text: output.print_error(OlafError(Problem(text, text, text))),
    "usage": lambda text: command_line.show_usage_error(click.UsageError(text)),
    "progress": output.log_progress,
    "log": lambda text: logging.getLogger("olafctl.x").error("%s", text),
    "traceback": log_exception,
    "defect": raise_defect,
    "caller": show_caller,
    "json": lambda text: output.print_json([text]),
}


def print_through(door: Callable[[str], None], text: str) -> str:
    with redirect_stdout(StringIO()) as out, redirect_stderr(out):
        log.configure()
        door(text)
    return out.getvalue()


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@given(text=texts)
def test_no_text_steers_a_terminal(door: Callable[[str], None], text: str) -> None:
    printed, harmless = print_through(door, text), print_through(door, "x")
    assert printed.replace("\n", "").isprintable()
    # An exception's message goes on within its record.
    begin = r"(?m)^(?! {4})" if "Traceback" in harmless else r"(?m)^"
    assert len(re.findall(begin, printed)) == len(re.findall(begin, harmless))


@given(text=texts)
def test_json_is_exact(text: str) -> None:
    assert json.loads(print_through(DOORS["json"], text)) == [text]
