"""The commands of `olafctl`, as a user types them."""

from collections.abc import Iterator

import click

from olafctl.cli.main import olafctl


def every(
    command: click.Command = olafctl, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Each command with its words after `olafctl`, groups before what is in them."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from every(below, (*path, name))
