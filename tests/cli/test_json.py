"""The documents name the commands that print JSON."""

import click

from olafctl import paths

from .commands import every


def with_json() -> set[tuple[str, ...]]:
    """Return the command lines, without arguments, that have --json."""
    return {
        path[1:]
        for path, command in every()
        if not isinstance(command, click.Group)
        and any("--json" in parameter.opts for parameter in command.params)
    }


def test_the_document_of_each_command_is_described() -> None:
    rows = (paths.sources() / "docs" / "json.md").read_text().splitlines()
    described: set[tuple[str, ...]] = set()
    for row in (row for row in rows if row.startswith("| `")):
        group: tuple[str, ...] = ()
        for command in row.split("|")[1].replace("`", "").split(","):
            words = tuple(command.split())
            group = words[:-1] or group  # `cluster create`, `halt` are commands of one group
            described |= {words, (*group, words[-1])}
    for path in with_json():
        assert path in described or (path[0], "…") in described, " ".join(path)
