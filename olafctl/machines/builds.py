"""Results of builds on their way from a controller to an agent that lacks them, as archives in pieces.

An agent asks by the digest of what a result is made of, which it makes from its own sources, so an older
result is never an answer. It is given what was built for its kind of processor with its compiler.
"""

import platform
import shutil
import tarfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import Any, TypeVar

from olafctl.machines.calls import LONGEST
from olafswitch import cache, toolchain
from olafswitch.errors import OlafError, Problem

MOST = 512 << 20
"""Bytes of an archive."""
_GIVEN = ("queue", "software-queue", "verilated", "p4", "p4-runtime")
"""Kinds of results that work in any folder."""
_T = TypeVar("_T")


class Lacking(Exception):
    """Something is not in the cache that a controller may have."""


def of_here() -> dict[str, str]:
    """Return what results are for. Raises MissingTool."""
    return {"processor": platform.machine(), "compiler": str(toolchain.cxx())}


def give_archive(asked: dict[str, str], build: Callable[[], None]) -> Iterator[bytes]:
    """Yield the pieces of the archive that is ``asked`` for, the last of them empty; the only one where
    there is no such result here. Before any, an agent asks without a kind, holding no lock: ``build``
    makes all of them then. Raises OlafError."""
    kind = asked.pop("kind", "")
    key = asked.pop("key", "")
    if asked == of_here():
        if not kind:
            build()
        elif (folder := cache.find(kind, key)) is not None:
            yield from _pack_folder(folder)
    yield b""


def unpack_archive(pieces: Iterable[bytes], folder: Path, caller: str) -> bool:
    """Return whether there was an archive in ``pieces``, whose files are in ``folder`` now. Raises
    OlafError for one that is too long, or has more in it than files of that folder."""
    with TemporaryFile(dir=folder.parent) as file:
        for piece in pieces:
            if file.tell() + len(piece) > MOST:
                raise OlafError(Problem(f"sent a build of more than {MOST >> 20} MiB", caller))
            file.write(piece)
        if not file.tell():
            return False
        file.seek(0)
        try:
            with tarfile.open(fileobj=file, mode="r:") as archive:
                for member in archive:
                    _extract_member(archive, member, folder)
        except (tarfile.TarError, ValueError) as error:
            raise OlafError(Problem(f"sent what is no build: {error}", caller)) from None
    return True


def _pack_folder(folder: Path) -> Iterator[bytes]:
    with TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w:") as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file() and path.name != cache.SIZES:
                    archive.add(path, str(path.relative_to(folder)), recursive=False)
        file.seek(0)
        while piece := file.read(LONGEST // 8):
            yield piece


def _extract_member(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    path = folder / member.name
    # A sparse file would be longer than what was sent.
    if (
        member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE)
        or ".." in path.parts
        or folder not in path.parents
    ):
        raise ValueError(f"{member.name[:80]!r} is no file of it")
    content = archive.extractfile(member)
    assert content is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as target:
        shutil.copyfileobj(content, target)


def take_build(
    work: Callable[[], _T], say: Callable[[Any], None], answers: Iterator[bytes], caller: str
) -> _T:
    """Return what ``work`` gives, which builds; a result that is not in the cache is asked for by ``say``,
    and its pieces are the next of ``answers``. Raises OlafError."""
    turn = Lock()

    def pieces(**asked: str) -> Iterator[bytes]:
        say({**asked, **of_here()})
        return iter(lambda: next(answers, b""), b"")

    def lack(kind: str, key: str, folder: Path) -> bool:
        if kind in _GIVEN:
            raise Lacking
        return False

    def take(kind: str, key: str, folder: Path) -> bool:
        if kind not in _GIVEN:
            return False
        with turn:
            return unpack_archive(pieces(kind=kind, key=key), folder, caller)

    try:
        with cache.taking_from(lack):
            return work()
    except Lacking:
        deque(pieces(), maxlen=0)
    with cache.taking_from(take):
        return work()
