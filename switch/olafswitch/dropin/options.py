"""What the commands share: one line for wrong usage, and options that are taken and have no effect."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import click

from olafswitch import log
from olafswitch.console.command_line import run

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def begin(command: click.Command, name: str, words: Sequence[str]) -> NoReturn:
    """Run one of the commands under its name; wrong usage is one line and exit code 2."""

    def show(error: click.ClickException) -> None:
        click.echo(f"{name}: {error.format_message()}", err=True)

    log.configure()
    command.name = name
    run(command, show, words)


def ignored(flags: Sequence[str], valued: Sequence[str]) -> Decorator:
    """Options that are accepted without effect; those given reach the command in ``unused``."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in flags:
            function = click.option(option, _place(option), is_flag=True, hidden=True)(function)
        for option in valued:
            function = click.option(option, _place(option), multiple=True, hidden=True)(function)
        return function

    return decorate


def _place(option: str) -> str:
    return "unused_" + option.lstrip("-").replace("-", "_").lower()


def given(unused: Mapping[str, Any]) -> list[str]:
    """The names of the ignored options that were given."""
    return [name.removeprefix("unused_").replace("_", "-") for name, value in unused.items() if value]
