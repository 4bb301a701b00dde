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
"""The file in each result that names the result's files and their sizes."""
Source = Callable[[str, str, Path], bool]
"""Fills a folder with the result of a kind and key made elsewhere, or returns False and leaves it empty."""
_source: ContextVar[Source | None] = ContextVar("source", default=None)


def digest(parts: Iterable[str | bytes | Path]) -> str:
    """Return a hex digest of strings, bytes and the contents of files, in order."""
    total = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else part
        data = data.encode() if isinstance(data, str) else data
        total.update(len(data).to_bytes(8, "big"))
        total.update(data)
    return total.hexdigest()


def build_once(kind: str, key: str, build: Callable[[Path], None]) -> tuple[Path, bool]:
    """Return the folder that ``build`` filled for ``key``, and whether it was built just now.

    ``build`` writes into an empty temporary folder that gets its name only when ``build`` returns, so an
    interrupted build leaves no partial result; the next build removes what a killed build left. Two processes
    that need the same key build it once. A result that lost files or parts of files, as after a power
    failure, is built again. Raises OlafError when the cache cannot be written.
    """
    home = paths.cache() / kind
    done = home / key[:32]
    if _is_whole(done):
        return done, False
    if (source := _source.get()) is not None:
        # This needs its own lock: the source may have to build the result here first.
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
    """Return the result of a kind and key, or None when it was never built here or is not whole."""
    done = paths.cache() / kind / key[:32]
    return done if _is_whole(done) else None


@contextmanager
def taking_from(source: Source) -> Iterator[None]:
    """Ask ``source`` for each result before it is built, within this context; threads copy the context."""
    token = _source.set(source)
    try:
        yield
    finally:
        _source.reset(token)


@contextmanager
def _making(home: Path, name: str, what: str = "building") -> Iterator[Path]:
    """Yield an empty folder in ``home`` and remove it afterwards unless it was renamed. No other process has
    a folder of that name meanwhile, and what a killed process left is removed. Raises OlafError."""
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
    """Write the sizes of a finished result's files, all on the disk before the result gets its name."""
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
    """Raise OlafError for an OSError inside, or with ``full_disk_only`` only for that of a full disk."""
    try:
        yield
    except OSError as error:
        if full_disk_only and error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        remedy = "make room or make it writable, or set OLAF_CACHE"
        raise OlafError(Problem(f"cannot be used: {error.strerror}", str(home), remedy)) from None
