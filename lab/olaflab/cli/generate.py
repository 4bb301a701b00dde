"""``olaflab generate``: write, or check, everything that is generated from the one definition of it."""

import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

from olafctl import __version__, environments, paths
from olafswitch.errors import BadInput, OlafError, Problem

_PROTOC = environments.Environment("grpcio-tools", ("grpcio-tools==1.76.0",))
"""The compiler of .proto files. Code that it writes runs on every protobuf from 6.31.1 on."""
_METADATA = (
    "setup.cfg",
    "switch/pyproject.toml",
    "switch/olafswitch/__init__.py",
    "lab/pyproject.toml",
    "testkit/pyproject.toml",
    "sdk/pyproject.toml",
)
_VERSION = re.compile(r'^(version|__version__) = ".*"$', re.MULTILINE)
_OFFSETS = re.compile(r"^if not _descriptor\._USE_C_DESCRIPTORS:\n(?:  .*\n)*", re.MULTILINE)
"""What only a protobuf without its compiled part reads, which no wheel of it lacks."""
_PINNED = re.compile(r"\b(olafctl|olafswitch)==[\w.]+")


def generate_files() -> Mapping[Path, str]:
    """Return every generated file's text, by its place relative to the sources."""
    from olafctl.targets.p4_sources import render_params
    from olaflab.sources import cpp, opennic, p4, queue, sdk

    return {
        Path("p4src/headers.p4"): p4.headers_file(),
        Path("p4src/params.p4"): render_params(),
        Path("olafctl/wire/native/tuser.h"): cpp.tuser_header(),
        Path("olafctl/wire/native/modes.h"): cpp.modes_header(),
        Path("olafctl/wire/native/olaf_header.h"): cpp.header_file(),
        Path("sdk/olaf/transport/wire.py"): sdk.wire_module(),
        **queue.generate_files(),
        **opennic.generate_files(),
        **_proto_modules(),
        **_paper_pages(),
        **_version_files(),
    }


def _paper_pages() -> Mapping[Path, str]:
    """Return the papers' pages, with the list of everything that each paper shows."""
    from olaflab.papers import shelf

    pages = {name: Path("docs/papers") / f"{name}.md" for name in shelf.NAMES}
    return {
        place: shelf.fill_page(name, (paths.sources() / place).read_text(encoding="utf-8"))
        for name, place in pages.items()
    }


def _version_files() -> Mapping[Path, str]:
    """Return the metadata of the other distributions with the product's version, with which they appear."""
    texts = {place: (paths.sources() / place).read_text() for place in map(Path, _METADATA)}
    return {
        place: _PINNED.sub(rf"\1=={__version__}", _VERSION.sub(rf'\1 = "{__version__}"', text))
        for place, text in texts.items()
    }


def _proto_modules() -> Mapping[Path, str]:
    """Return the modules of the .proto files."""
    home = paths.sources()
    protos = [str(place.relative_to(home)) for place in sorted((home / "olafctl").rglob("*.proto"))]
    python = environments.python(_PROTOC, lambda step: click.echo(step, err=True))
    with tempfile.TemporaryDirectory() as made:
        compiler = [str(python), "-m", "grpc_tools.protoc", f"--proto_path={home}", f"--python_out={made}"]
        ended = subprocess.run([*compiler, *protos], capture_output=True, text=True, check=False)
        if ended.returncode:
            raise OlafError(*(Problem(line) for line in ended.stderr.splitlines()))
        return {
            place.relative_to(made): _OFFSETS.sub("", place.read_text())
            for place in Path(made).rglob("*_pb2.py")
        }


@click.command()
@click.option("--check", is_flag=True, help="Change nothing; fail if a file is not what would be written.")
def command(check: bool) -> None:
    """Write the generated files of this repository.

    They follow from the header layouts, the register map, the templates' defaults and the .proto files.
    """
    home = paths.sources()
    if not (home / "lab").is_dir():
        raise BadInput(
            Problem("the sources that it writes are not installed", str(home), "run it in a checkout")
        )
    stale = {place: text for place, text in generate_files().items() if _read_text(home / place) != text}
    if check and stale:
        raise OlafError(
            *(Problem("differs from its definition", str(name), "run `olaflab generate`") for name in stale)
        )
    for place, text in stale.items():
        (home / place).write_text(text)
        click.echo(f"wrote {place}")
    if not stale:
        click.echo("generated files are up to date")


def _read_text(path: Path) -> str | None:
    return path.read_text() if path.is_file() else None
