"""A page for each verb of ``olafctl`` and of ``olaflab``, from what ``--help`` shows."""

import inspect
from collections.abc import Iterator, Mapping

import click

from olafctl.cli.main import olafctl
from olaflab.main import olaflab


def command_pages() -> Mapping[str, str]:
    """Return Markdown by the place of the page."""
    return {**_group_pages(olafctl, "olafctl"), **_group_pages(olaflab, "olaflab")}


def _group_pages(group: click.Group, named: str) -> Mapping[str, str]:
    above = click.Context(group, info_name=named)
    found = {name: group.get_command(above, name) for name in group.list_commands(above)}
    listed = {name: command for name, command in found.items() if command is not None}
    own = {
        f"reference/{named}/{name}": "\n".join(_command_section(command, name, above, 1))
        for name, command in listed.items()
    }
    rows = [(f"[`{name}`]({named}/{name}.md)", _short_help(command)) for name, command in listed.items()]
    first = [f"# {named}", "", *_command_body(group, above), *_format_table("command", rows)]
    return {f"reference/{named}": "\n".join(first), **own}


def _command_section(command: click.Command, name: str, above: click.Context, level: int) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=above)
    yield f"{'#' * level} {context.command_path}"
    yield ""
    yield from _command_body(command, context)
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            if below is not None:
                yield from _command_section(below, each, context, level + 1)


def _command_body(command: click.Command, context: click.Context) -> Iterator[str]:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield from ("```text", usage, "```", "")
    yield from _split_paragraphs(command.help or "")
    records = (
        each.get_help_record(context)
        for each in command.get_params(context)
        if isinstance(each, click.Option)
    )
    rows = [(f"`{text}`", _escape_markdown(meaning)) for text, meaning in filter(None, records)]
    if rows:
        yield from _format_table("option", rows)


def _split_paragraphs(text: str) -> Iterator[str]:
    """Split click's help text: a paragraph that begins with a backspace keeps its lines."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            yield from ("```text", paragraph.removeprefix("\b").strip("\n"), "```", "")
        else:
            yield from (_escape_markdown(" ".join(paragraph.split())), "")


def _short_help(command: click.Command) -> str:
    return _escape_markdown(command.get_short_help_str(200))


def _format_table(what: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    yield from (f"| {what} | |", "|---|---|")
    yield from (f"| {name.replace('|', chr(92) + '|')} | {text} |" for name, text in rows)
    yield ""


def _escape_markdown(text: str) -> str:
    """Escape text so that Markdown takes it as it is: help texts are not Markdown."""
    for special in "\\|*_[]<>$#":
        text = text.replace(special, f"\\{special}")
    return text
