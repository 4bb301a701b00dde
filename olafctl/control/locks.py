"""Who may touch a deployment now: locks in its own folder, let go by the kernel whatever dies."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from olafctl.errors import OlafError, Problem

CHANGE = "olaf.lock"
"""Held while what runs is changed."""
USE = "olaf.use.lock"
"""Held by whoever needs the engine's settings and the whole deployment to stay."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nobody else changes or uses the deployment in ``folder``, which is made, and removed when nothing
    but the locks is left in it.

    Raises OlafError when another is at it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(folder, error) from None
    with ExitStack() as stack:
        for name in (CHANGE, USE):
            stack.enter_context(held(folder, name))
        stack.callback(_remove_empty, folder)
        yield


@contextmanager
def held(folder: Path, name: str) -> Iterator[None]:
    """One of the locks of the deployment in ``folder``. Raises OlafError when another holds it."""
    while True:
        lock = _open(folder, name)
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                what = "another olafctl is at work on this deployment"
                raise OlafError(Problem(what, folder.name, "wait for it to end")) from None
            # Whoever held it before may have removed the file: then others lock a new one.
            if _is_file(lock, folder / name):
                yield
                return


@contextmanager
def unless_changing(folder: Path) -> Iterator[bool]:
    """Whether nobody changes the deployment in ``folder``; if so, nobody begins to meanwhile."""
    try:
        lock = (folder / CHANGE).open()
    except OSError:
        yield True
        return
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def _open(folder: Path, name: str) -> IO[str]:
    try:
        return (folder / name).open("a")
    except OSError as error:
        raise _unusable(folder, error) from None


def _is_file(opened: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(opened.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        if {entry.name for entry in folder.iterdir()} <= {CHANGE, USE}:
            (folder / USE).unlink(missing_ok=True)
            (folder / CHANGE).unlink(missing_ok=True)
            folder.rmdir()


def _unusable(folder: Path, error: OSError) -> OlafError:
    remedy = "make it writable, or set OLAF_STATE"
    return OlafError(Problem(f"cannot be used: {error.strerror}", str(folder), remedy))
