"""What the drop-in commands share: one line for wrong usage, and options that are taken without effect."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import click

from olafswitch import log
from olafswitch.console import command_line
from olafswitch.console.output import print_lines

_WRITTEN: dict[str, str] = {}
"""Each option as it is written, by the name of its parameter."""
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def run_command(command: click.Command, name: str, words: Sequence[str]) -> NoReturn:
    """Run a drop-in command under its name; wrong usage gives one line and exit code 2."""

    def show(error: click.ClickException) -> None:
        print_lines(f"{name}: {error.format_message()}", err=True)

    log.configure()
    command.name = name
    command_line.run_command(command, show, words)


def ignore_options(flags: Sequence[str], valued: Sequence[str]) -> Decorator:
    """Accept options without effect; those that are given reach the command in ``unused``."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in flags:
            function = click.option(option, _parameter_name(option), is_flag=True, hidden=True)(function)
        for option in valued:
            function = click.option(option, _parameter_name(option), multiple=True, hidden=True)(function)
        return function

    return decorate


def refuse_options(flags: Mapping[str, str], valued: Mapping[str, str]) -> Decorator:
    """Refuse options that are known but not implemented, each with its reason."""

    def refuse(_: click.Context, option: click.Parameter, value: object) -> None:
        if value:
            name = option.opts[0]
            raise click.UsageError(f"{name} is not done: { {**flags, **valued}[name] }")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in (*flags, *valued):
            hidden = click.option(name, _parameter_name(name), is_flag=name in flags, hidden=True,
                                  expose_value=False, callback=refuse)  # fmt: skip
            function = hidden(function)
        return function

    return decorate


def _parameter_name(option: str) -> str:
    place = "unused_" + "".join(each if each.isalnum() else "_" for each in option)
    _WRITTEN[place] = option
    return place


def list_ignored(unused: Mapping[str, Any]) -> list[str]:
    """Return the ignored options that were given."""
    return [_WRITTEN[name] for name, value in unused.items() if value]
