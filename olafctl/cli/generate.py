"""``olafctl generate``: write, or check, everything that is generated from the one definition of it."""

from pathlib import Path

import click

from olafctl import paths
from olafctl.errors import OlafError, Problem


def _generated() -> dict[str, str]:
    from olafctl.wire.emit import cpp, markdown, p4, verilog

    return {
        "p4src/headers.p4": p4.headers(),
        "hdl/olaf_wire.vh": verilog.parameters(),
        "olafctl/wire/native/tuser.h": cpp.tuser(),
        "docs/wire-format.md": markdown.page(),
    }


@click.command()
@click.option("--check", is_flag=True, help="Change nothing; fail if a file is not what would be written.")
def command(check: bool) -> None:
    """Write the files generated from the header layouts and the register map."""
    home = paths.sources()
    stale = [name for name, text in _generated().items() if _text(home / name) != text]
    if check and stale:
        raise OlafError(
            *(Problem("differs from its definition", name, "run `olafctl generate`") for name in stale)
        )
    for name in stale:
        (home / name).write_text(_generated()[name])
        click.echo(f"wrote {name}")
    if not stale:
        click.echo("generated files are up to date")


def _text(path: Path) -> str | None:
    return path.read_text() if path.is_file() else None
