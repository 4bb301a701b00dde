"""``olafctl generate``: write, or check, everything that is generated from the one definition of it."""

from collections.abc import Mapping
from pathlib import Path

import click

from olafctl import paths
from olafctl.errors import OlafError, Problem


def generated() -> Mapping[Path, str]:
    """Every generated file's text, by its place relative to the sources."""
    from olafctl.daemon.api import schema
    from olafctl.queue import generate
    from olafctl.targets.opennic import generate as opennic
    from olafctl.targets.p4_sources import params
    from olafctl.wire.emit import cpp, markdown, p4, sdk

    return {
        Path("p4src/headers.p4"): p4.headers(),
        Path("p4src/params.p4"): params(),
        Path("olafctl/wire/native/tuser.h"): cpp.tuser(),
        Path("olafctl/wire/native/modes.h"): cpp.modes(),
        Path("docs/wire-format.md"): markdown.page(),
        Path(schema.FILE): schema.proto(),
        Path("sdk/olaf/wire.py"): sdk.wire(),
        **generate.generated(),
        **opennic.generated(),
    }


@click.command()
@click.option("--check", is_flag=True, help="Change nothing; fail if a file is not what would be written.")
def command(check: bool) -> None:
    """Write the generated files of this repository.

    They follow from the header layouts, the register map and the templates' defaults.
    """
    home = paths.sources()
    stale = {place: text for place, text in generated().items() if _text(home / place) != text}
    if check and stale:
        raise OlafError(
            *(Problem("differs from its definition", str(name), "run `olafctl generate`") for name in stale)
        )
    for place, text in stale.items():
        (home / place).write_text(text)
        click.echo(f"wrote {place}")
    if not stale:
        click.echo("generated files are up to date")


def _text(path: Path) -> str | None:
    return path.read_text() if path.is_file() else None
