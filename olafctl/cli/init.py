"""``olafctl init``: a commented testbed to start from."""

import re
from pathlib import Path

import click

from olafctl.membership import limits
from olafctl.wire.geometry import SLOTS
from olafswitch.console.output import json_option, show_result

_PORTS_AT_MOST = 8


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default="testbed.yaml")
@click.option(
    "--clusters", type=click.IntRange(1, limits.CLUSTERS), default=1, show_default=True, help="In all."
)
@click.option(
    "--workers", type=click.IntRange(1, 1024), default=2, show_default=True, help="In each cluster."
)
@click.option(
    "--slots", type=click.IntRange(SLOTS.least, SLOTS.greatest), default=SLOTS.default, show_default=True,
    help="Slots of the queue.",
)  # fmt: skip
@click.option("--target", metavar="NAME", default="twin", show_default=True, help="Where it runs.")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@json_option("Print what was written as JSON.")
def command(
    path: Path, clusters: int, workers: int, slots: int, target: str, force: bool, as_json: bool
) -> None:
    """Write a commented testbed to PATH, ready to be deployed.

    PATH is testbed.yaml when left out.
    """
    from olafctl.targets import testbeds
    from olafctl.templates import fill
    from olafswitch.errors import BadInput, OlafError, Problem

    if path.exists() and not force:
        raise BadInput(Problem("is there already", str(path), "choose another path, or use --force"))
    text = fill(
        "testbed/testbed.yaml.j2",
        name=_testbed_name(path.stem),
        target=target,
        clusters=clusters,
        workers=workers,
        slots=slots,
        indices=max(16, 1 << (clusters - 1).bit_length()),
        last_port=1 + min(clusters * workers, _PORTS_AT_MOST),
    )
    testbeds.load_testbed(path, text)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OlafError(
            Problem(f"cannot be written: {error.strerror}", str(path), "choose another path")
        ) from None
    document = {"path": str(path), "name": _testbed_name(path.stem)}
    show_result(document, f"wrote {path}; next: olafctl deploy {path}", as_json)


def _testbed_name(stem: str) -> str:
    """Return a testbed's name made from a file's."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:40] or "testbed"
