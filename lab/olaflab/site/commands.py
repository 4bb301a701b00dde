"""A page for each verb of ``olafctl`` and of ``olaflab``, with what ``--help`` shows."""

from collections.abc import Iterator, Mapping

import click

from olafctl.cli.main import olafctl
from olaflab.main import olaflab

_WIDTH = 100
"""Columns of the help."""


def command_pages() -> Mapping[str, str]:
    """Return Markdown by the place of the page."""
    return {**_group_pages(olafctl, "olafctl"), **_group_pages(olaflab, "olaflab")}


def _group_pages(group: click.Group, named: str) -> Mapping[str, str]:
    above = click.Context(group, info_name=named, terminal_width=_WIDTH)
    found = {name: group.get_command(above, name) for name in group.list_commands(above)}
    listed = {name: command for name, command in found.items() if command is not None}
    links = [f"- [`{name}`]({named}/{name}.md)" for name in listed]
    front = [f"# {named}", "", *_help_block(group, above), *links, ""]
    pages = {name: _command_section(command, name, above, 1) for name, command in listed.items()}
    return {
        f"reference/{named}": "\n".join(front),
        **{f"reference/{named}/{name}": "\n".join(lines) for name, lines in pages.items()},
    }


def _command_section(command: click.Command, name: str, above: click.Context, level: int) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=above, terminal_width=_WIDTH)
    yield from (f"{'#' * level} {context.command_path}", "", *_help_block(command, context))
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            if below is not None:
                yield from _command_section(below, each, context, level + 1)


def _help_block(command: click.Command, context: click.Context) -> tuple[str, ...]:
    return "```text", command.get_help(context), "```", ""
