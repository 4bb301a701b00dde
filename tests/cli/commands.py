"""The commands of `olafctl` and `olaflab`, as a user types them."""

from collections.abc import Iterator

import click

from olafctl.cli.main import olafctl
from olaflab.main import olaflab


def every() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield each command with its words, groups before their commands."""
    for command in (olafctl, olaflab):
        yield from _below(command, (str(command.name),))


def _below(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _below(below, (*path, name))
