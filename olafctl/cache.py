"""A content-addressed store for build results: the same inputs are never built twice."""

import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from olafctl import paths
from olafctl.errors import OlafError, Problem


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
    two processes after the same key build once.
    Raises OlafError when the cache cannot be written.
    """
    home = paths.cache() / kind
    done = home / key[:32]
    with _writable(home):
        if done.is_dir():
            return done, False
        home.mkdir(parents=True, exist_ok=True)
        lock = (home / f".{key[:32]}.lock").open("w")
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if done.is_dir():
            return done, False
        unfinished = f".building-{key[:32]}-"
        for left in home.glob(f"{unfinished}*"):
            shutil.rmtree(left, ignore_errors=True)
        with _writable(home):
            work = Path(tempfile.mkdtemp(prefix=unfinished, dir=home))
        try:
            build(work)
            work.rename(done)
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            raise
    return done, True


@contextmanager
def _writable(home: Path) -> Iterator[None]:
    """An OSError inside means that the cache cannot be used."""
    try:
        yield
    except OSError as error:
        remedy = "make it writable, or set OLAF_CACHE"
        raise OlafError(Problem(f"cannot be used: {error.strerror}", str(home), remedy)) from None
