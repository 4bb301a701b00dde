"""The output of `olafctl --help`, `olaflab --help` and the help of each verb."""

import click
import pytest

from .commands import every

COMMANDS = {" ".join(path): command for path, command in every()}
SECTIONS = ("Laboratory:", "Stand-ins:")
GROUPS = [path for path, command in COMMANDS.items() if isinstance(command, click.Group)]


@pytest.mark.parametrize("path", GROUPS)
def test_each_verb_says_in_one_line_of_80_columns_what_it_does(path: str) -> None:
    command = COMMANDS[path]
    shown = command.get_help(click.Context(command, terminal_width=80)).partition("Commands:\n")[2]
    lines = [line for line in shown.splitlines() if line and line not in SECTIONS]
    assert lines
    assert [line for line in lines if len(line) > 80 or not line.endswith(".") or line.endswith("...")] == []


@pytest.mark.parametrize("path", COMMANDS)
def test_each_option_says_what_it_is(path: str) -> None:
    options = [each for each in COMMANDS[path].params if isinstance(each, click.Option)]
    assert [each.opts for each in options if not each.help] == []
