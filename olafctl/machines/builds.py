"""Send results of builds from a controller to an agent that lacks them, as archives in pieces.

An agent asks with the digest of a result's inputs, which it computes from its own sources, so an older result
is never an answer. It gets a result that was built for its kind of processor with its compiler.
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
"""The most bytes of an archive."""
_GIVEN = ("queue", "software-queue", "verilated", "p4", "p4-runtime")
"""The kinds of results that work in any folder."""
_T = TypeVar("_T")


class Lacking(Exception):
    """A result that a controller may have is not in the cache."""


def of_here() -> dict[str, str]:
    """Return the processor and compiler that results here are built for. Raises MissingTool."""
    return {"processor": platform.machine(), "compiler": str(toolchain.cxx())}


def give_archive(asked: dict[str, str], build: Callable[[], None]) -> Iterator[bytes]:
    """Yield the pieces of the archive that is ``asked`` for, and an empty piece, alone where it is not here.
    An agent asks first without a kind, while it holds no lock: ``build`` makes all results then. Raises
    OlafError."""
    kind = asked.pop("kind", "")
    key = asked.pop("key", "")
    if asked == of_here():
        if not kind:
            build()
        elif (folder := cache.find(kind, key)) is not None:
            yield from _pack_folder(folder)
    yield b""


def unpack_archive(pieces: Iterable[bytes], folder: Path, caller: str) -> bool:
    """Unpack the archive in ``pieces`` into ``folder``; return False where there is none. Raises OlafError
    for an archive that is too long, or has more than files of that folder."""
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
    # A sparse file would be longer than the bytes that were sent.
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
    """Return the result of ``work``, which builds; ``say`` asks for a result that is not in the cache, whose
    pieces are the next ``answers``. Raises OlafError."""
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
