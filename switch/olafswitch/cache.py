"""A content-addressed store for build results: the same inputs are never built twice."""

import errno
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from olafswitch import paths
from olafswitch.errors import OlafError, Problem

SIZES = ".sizes.json"
"""In each result: its files and their sizes."""
Source = Callable[[str, str, Path], bool]
"""Fills a folder with the result of a kind and key made elsewhere, or returns False and leaves it empty."""
_source: ContextVar[Source | None] = ContextVar("source", default=None)


def digest(parts: Iterable[str | bytes | Path]) -> str:
    """A hex digest of strings, bytes and the contents of files, in order."""
    total = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else part
        data = data.encode() if isinstance(data, str) else data
        total.update(len(data).to_bytes(8, "big"))
        total.update(data)
    return total.hexdigest()


def build_once(kind: str, key: str, build: Callable[[Path], None]) -> tuple[Path, bool]:
    """The folder that ``build`` filled for ``key``, and whether it was built just now.

    ``build`` writes into an empty temporary folder that is renamed into place only when it returns,
    so an interrupted build leaves nothing half-made, and what a killed one left is removed by the next;
    two processes after the same key build once. A result that lost files or parts of them, as after a
    power failure, is built again.
    Raises OlafError when the cache cannot be written.
    """
    home = paths.cache() / kind
    done = home / key[:32]
    if _is_whole(done):
        return done, False
    if (source := _source.get()) is not None:
        # A lock of its own: who gives it may have to build it here first.
        with _making(home, f"{key[:32]}.taking", "taking") as work:
            if not _is_whole(done) and source(kind, key, work):
                with _making(home, key[:32]):
                    _finish(work, done)
    with _making(home, key[:32]) as work:
        if _is_whole(done):
            return done, False
        with _writable(home, full_disk_only=True):
            build(work)
        _finish(work, done)
    return done, True


def find(kind: str, key: str) -> Path | None:
    """The result of a kind and key, if it was ever built here and is whole."""
    done = paths.cache() / kind / key[:32]
    return done if _is_whole(done) else None


@contextmanager
def taking_from(source: Source) -> Iterator[None]:
    """Ask ``source`` meanwhile, before anything is built in this context, which threads have copies of."""
    token = _source.set(source)
    try:
        yield
    finally:
        _source.reset(token)


@contextmanager
def _making(home: Path, name: str, what: str = "building") -> Iterator[Path]:
    """An empty folder in ``home``, which is gone afterwards unless it was renamed; no other process has one
    of that name meanwhile, and what a killed one left is removed. Raises OlafError."""
    unfinished = f".{what}-{name}-"
    with _writable(home):
        home.mkdir(parents=True, exist_ok=True)
        lock = (home / f".{name}.lock").open("w")
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in home.glob(f"{unfinished}*"):
            shutil.rmtree(left, ignore_errors=True)
        with _writable(home):
            work = Path(tempfile.mkdtemp(prefix=unfinished, dir=home))
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _finish(work: Path, done: Path) -> None:
    with _writable(done.parent):
        if not _is_whole(done):
            if done.exists():
                shutil.rmtree(done)
            _seal(work)
            work.rename(done)


def _seal(folder: Path) -> None:
    """Write down what is in a finished result, all of it on the disk before it gets its name."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    sizes = folder / SIZES
    sizes.write_text(json.dumps({str(path.relative_to(folder)): path.stat().st_size for path in files}))
    for path in (*files, sizes):
        with path.open("rb") as written:
            os.fsync(written.fileno())


def _is_whole(folder: Path) -> bool:
    try:
        sizes = json.loads((folder / SIZES).read_text())
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError):
        return False


@contextmanager
def _writable(home: Path, full_disk_only: bool = False) -> Iterator[None]:
    """An OSError inside means that the cache cannot be used; of a build's, only that of a full disk does."""
    try:
        yield
    except OSError as error:
        if full_disk_only and error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        remedy = "make room or make it writable, or set OLAF_CACHE"
        raise OlafError(Problem(f"cannot be used: {error.strerror}", str(home), remedy)) from None
