"""``olafctl generate``: write, or check, everything that is generated from the one definition of it."""

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

from olafctl import environments, paths
from olafctl.errors import OlafError, Problem

_PROTOC = environments.Environment("grpcio-tools", ("grpcio-tools==1.76.0",))
"""The compiler of .proto files. Code that it writes runs on every protobuf from 6.31.1 on."""


def generated() -> Mapping[Path, str]:
    """Every generated file's text, by its place relative to the sources."""
    from olafctl.targets.p4_sources import params
    from olaflab.sources import cpp, opennic, p4, queue, sdk, wire_page

    return {
        Path("p4src/headers.p4"): p4.headers(),
        Path("p4src/params.p4"): params(),
        Path("olafctl/wire/native/tuser.h"): cpp.tuser(),
        Path("olafctl/wire/native/modes.h"): cpp.modes(),
        Path("olafctl/wire/native/olaf_header.h"): cpp.header(),
        Path("docs/wire-format.md"): wire_page.page(),
        Path("sdk/olaf/wire.py"): sdk.wire(),
        **queue.generated(),
        **opennic.generated(),
        **_messages(),
    }


def _messages() -> Mapping[Path, str]:
    """The modules of the .proto files."""
    home = paths.sources()
    protos = [str(place.relative_to(home)) for place in sorted((home / "olafctl").rglob("*.proto"))]
    python = environments.python(_PROTOC, lambda step: click.echo(step, err=True))
    with tempfile.TemporaryDirectory() as made:
        compiler = [str(python), "-m", "grpc_tools.protoc", f"--proto_path={home}", f"--python_out={made}"]
        ended = subprocess.run([*compiler, *protos], capture_output=True, text=True, check=False)
        if ended.returncode:
            raise OlafError(*(Problem(line) for line in ended.stderr.splitlines()))
        return {place.relative_to(made): place.read_text() for place in Path(made).rglob("*_pb2.py")}


@click.command()
@click.option("--check", is_flag=True, help="Change nothing; fail if a file is not what would be written.")
def command(check: bool) -> None:
    """Write the generated files of this repository.

    They follow from the header layouts, the register map, the templates' defaults and the .proto files.
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
