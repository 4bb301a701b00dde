"""Locks in a deployment's folder, so that one process at a time changes it; the kernel ends a dead one's."""

import fcntl
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from olafswitch.errors import OlafError, Problem

CHANGE = "olaf.lock"
"""Held while the running deployment is changed."""
USE = "olaf.use.lock"
"""Held by a command during which the engine's settings and the whole deployment must stay."""
HOSTS = "olaf.hosts.lock"
"""Held by a command that acts as the hosts, and goes on when the engine is started again meanwhile."""
ALL = (CHANGE, USE, HOSTS)

_OUTLIVES = 10.0
"""The seconds that a lock may outlive its holder: a program that it starts has the lock until it runs."""
_LOOK_AGAIN = 0.01


@contextmanager
def lock_deployment(folder: Path, names: Sequence[str] = (CHANGE, USE)) -> Iterator[None]:
    """Hold the locks ``names`` of the deployment in ``folder``. The folder is made, and removed when nothing
    but locks is left in it. Only this user may read files made meanwhile, by other processes too.

    Raises OlafError when another process holds one of the locks.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise _unusable_folder(folder, error) from None
    with ExitStack() as stack:
        stack.callback(os.umask, os.umask(0o077))
        for name in names:
            stack.enter_context(hold_lock(folder, name))
        stack.callback(_remove_empty, folder)
        yield


@contextmanager
def hold_lock(folder: Path, name: str, patience: float = 0.0) -> Iterator[None]:
    """Hold one lock of the deployment in ``folder``. Raises OlafError when another process holds it for
    longer than ``patience`` seconds."""
    begun = time.monotonic()
    while True:
        lock = _open_lock(folder, name)
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = _Holder.of(folder / name)
                if time.monotonic() - begun < (patience if holder.lives() else _OUTLIVES):
                    time.sleep(_LOOK_AGAIN)
                    continue
                what = f"another olafctl is at work on this deployment{holder}"
                raise OlafError(Problem(what, folder.name, "wait for it to end")) from None
            # Its last holder may have removed the file: then others lock a new file.
            if _is_file(lock, folder / name):
                _sign_lock(lock)
                yield
                return


@contextmanager
def unless_changing(folder: Path) -> Iterator[bool]:
    """Yield whether no process changes the deployment in ``folder``; if so, none begins to meanwhile."""
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


def _open_lock(folder: Path, name: str) -> IO[str]:
    try:
        return (folder / name).open("a")
    except OSError as error:
        raise _unusable_folder(folder, error) from None


def _sign_lock(lock: IO[str]) -> None:
    """Write down who holds the lock, for others' error messages; a full disk is not an error."""
    with suppress(OSError):
        lock.truncate(0)
        lock.write(f"{os.getpid()} {_own_command()}")
        lock.flush()


def _own_command() -> str:
    """Return this process's program and verb, without the options between them."""
    program, *words = sys.argv
    rest = iter(words)
    for word in rest:
        if word == "--log-level":
            next(rest, None)
        elif not word.startswith("-"):
            return f"{Path(program).name} {Path(word).name}"
    return Path(program).name


@dataclass(frozen=True)
class _Holder:
    """The process that a lock names as its holder."""

    number: str
    command: str

    @classmethod
    def of(cls, lock: Path) -> "_Holder":
        try:
            number, _, command = lock.read_text(errors="replace").partition(" ")
        except OSError:
            return cls("", "")
        return cls(number, command)

    def lives(self) -> bool:
        """Return False when that process has ended, or no longer has the lock."""
        try:
            return psutil.Process(int(self.number)).status() != psutil.STATUS_ZOMBIE
        except (ValueError, psutil.Error):
            return False

    def __str__(self) -> str:
        return f" ({self.command}, process {self.number})" if self.command else ""


def _is_file(opened: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(opened.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        if {entry.name for entry in folder.iterdir()} <= set(ALL):
            for name in reversed(ALL):
                (folder / name).unlink(missing_ok=True)
            folder.rmdir()


def _unusable_folder(folder: Path, error: OSError) -> OlafError:
    remedy = "make it writable, or set OLAF_STATE"
    return OlafError(Problem(f"cannot be used: {error.strerror}", str(folder), remedy))
