"""Which commands print JSON is documented."""

from collections.abc import Iterator

import click

from olafctl import paths
from olafctl.cli.main import olafctl


def with_json(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The command lines, without arguments, that have --json."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from with_json(found, (*path, name))
    elif any("--json" in parameter.opts for parameter in command.params):
        yield path


def test_the_document_of_each_command_is_described() -> None:
    rows = (paths.sources() / "docs" / "json.md").read_text().splitlines()
    described: set[tuple[str, ...]] = set()
    for row in (row for row in rows if row.startswith("| `")):
        group: tuple[str, ...] = ()
        for command in row.split("|")[1].replace("`", "").split(","):
            words = tuple(command.split())
            group = words[:-1] or group  # `cluster create`, `halt`: of one group
            described |= {words, (*group, words[-1])}
    for path in with_json(olafctl):
        assert path in described or (path[0], "…") in described, f"olafctl {' '.join(path)}"
