"""Memory that processes share by a name, and locks that the kernel takes back from a process that dies."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import mmap
import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from olaf.errors import Taken
from olaf.guards import OwnProcess

_SHARED = Path("/dev/shm")
_MARK = "~"
"""Between the name of memory and what a companion of it is."""
_POPULATE = 23
"""Linux' MADV_POPULATE_WRITE (5.14), which Python does not name."""


def path_of(name: str) -> Path:
    """Return the path of the memory called ``name``; a name with a slash is a path itself.

    Raises ValueError for a name with the mark of companions.
    """
    if _MARK in Path(name).name or "\0" in name:
        raise ValueError(f"{name!r} cannot name shared memory: give a text without {_MARK!r}")
    if "/" in name:
        return Path(name)
    folder = _SHARED if _SHARED.is_dir() else Path(tempfile.gettempdir())
    return folder / f"olaf-{name}"


def order_stores() -> None:
    """Order the stores and loads before this against those after it, on every processor."""
    with _ORDER:
        pass
    with _ORDER:
        pass


_ORDER = threading.Lock()


def make_private(size: int) -> mmap.mmap:
    """Map zeroed memory of this process alone, in huge pages where the kernel has them."""
    return _use_huge_pages(mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))


def populate_pages(memory: mmap.mmap, start: int, size: int) -> None:
    """Have these bytes' pages in this process's tables now, where Linux can, and not at their first use."""
    page = mmap.PAGESIZE
    first = start // page * page
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            memory.madvise(_POPULATE, first, -(-(start + size - first) // page) * page)


def _use_huge_pages(memory: mmap.mmap) -> mmap.mmap:
    """Use huge pages, where the kernel gives any."""
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def create_shared(path: Path, head: bytes, size: int) -> mmap.mmap:
    """Create shared memory of ``size`` zeroed bytes that begins with ``head``.

    It appears whole under its path. Pages take memory when they are written to, or by :func:`reserve_pages`.
    Raises FileExistsError if there is something at the path.
    """
    descriptor, temporary = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        os.ftruncate(descriptor, size)
        os.pwrite(descriptor, head, 0)
        created = mmap.mmap(descriptor, size)
        os.link(temporary, path)
        return _use_huge_pages(created)
    finally:
        os.close(descriptor)
        Path(temporary).unlink()


def attach_shared(path: Path) -> mmap.mmap:
    """Attach shared memory that exists. Raises FileNotFoundError."""
    with path.open("r+b") as file:
        return _use_huge_pages(mmap.mmap(file.fileno(), 0))


def reserve_pages(path: Path, start: int, size: int) -> None:
    """Have the kernel set these bytes aside: a full disk is an OSError here, and later a dead process."""
    with path.open("r+b") as file:
        os.posix_fallocate(file.fileno(), start, size)


def companion_path(path: Path, what: str) -> Path:
    """Return the path of a file that belongs to the memory at ``path``: its locks, a bell.

    No name of memory has the mark, so no other memory's name begins as this one's companions do.
    """
    return path.with_name(f"{path.name}{_MARK}{what}")


def unlink_memory(name: str) -> None:
    """Remove the memory called ``name`` and its companions; processes that have it keep it."""
    path = path_of(name)
    for each in (path, *path.parent.glob(f"{glob.escape(path.name)}{_MARK}*")):
        each.unlink(missing_ok=True)


class Locks:
    """Numbered locks on one name. The kernel gives them back when their process dies, however it dies.

    They exclude other processes by byte-range locks on a companion file, and other threads of this
    process by themselves. A lock is not inherited by a process that is forked.
    """

    def __init__(self, path: Path | None) -> None:
        """None for memory of this process alone."""
        self._file = _find_file(path) if path is not None else _File(None)
        self._own = (
            OwnProcess("memory without a name", "give the ring a name, and open it by that name")
            if path is None
            else None
        )

    def check(self) -> None:
        """Raise Taken where the memory is a copy of what belongs to another process."""
        if self._own is not None:
            self._own.check()

    @contextlib.contextmanager
    def hold(self, number: int = 0) -> Iterator[None]:
        """Wait for a lock and hold it."""
        self.check()
        with self._file.lock:
            self._file.take(number, wait=True)
            try:
                yield
            finally:
                self._file.give(number)

    def claim(self, number: int, what: str) -> None:
        """Take a lock until it is released or this process ends. Raises Taken if another has it."""
        self.check()
        with self._file.lock:
            if number in self._file.claimed or not self._file.take(number, wait=False):
                raise Taken(f"{what} has a writer that still runs: give each writer its own actor")
            self._file.claimed.add(number)

    def release(self, number: int) -> None:
        """Give a claimed lock back."""
        with self._file.lock:
            if number in self._file.claimed:
                self._file.claimed.discard(number)
                self._file.give(number)


class _File:
    """Locks of one file that this process holds. It is never closed: that would give back every lock."""

    def __init__(self, path: Path | None) -> None:
        self.lock = threading.RLock()
        self.claimed: set[int] = set()
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = None if path is None else os.open(path, flags, 0o600)

    def take(self, number: int, *, wait: bool) -> bool:
        if self._descriptor is None:
            return True
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, number)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def give(self, number: int) -> None:
        if self._descriptor is not None:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, number)

    def forked(self) -> None:
        """Forget locks in a forked child, which has no other thread that could release one."""
        self.lock = threading.RLock()
        self.claimed = set()


_files: dict[tuple[int, int], _File] = {}
_registry = threading.Lock()


def _find_file(path: Path) -> _File:
    place = companion_path(path, "lock")
    with _registry:
        try:
            status = place.stat()
            known = _files.get((status.st_dev, status.st_ino))
        except FileNotFoundError:
            known = None
        if known is None:
            known = _File(place)
            status = place.stat()
            _files[status.st_dev, status.st_ino] = known
        return known


def _reset_after_fork() -> None:
    global _ORDER, _registry
    _ORDER, _registry = threading.Lock(), threading.Lock()
    for file in _files.values():
        file.forked()


os.register_at_fork(after_in_child=_reset_after_fork)


Values = npt.NDArray[np.float32]
Counts = npt.NDArray[np.int64]


class Objects:
    """Named vectors with one writer each and any number of readers, who never wait for each other."""

    def __init__(self, places: Mapping[str, tuple[npt.NDArray[Any], Counts]]) -> None:
        """Each has two places in turn, and counts: begun, published, the version in either place."""
        self._places = places

    def publish(self, name: str, values: npt.ArrayLike, version: int) -> None:
        """Replace an object: readers see the old or the new one, whole."""
        places, counts = self._places[name]
        number = int(counts[1]) + 1
        counts[0] = number
        order_stores()
        places[number % 2] = values
        counts[2 + number % 2] = version
        order_stores()
        counts[1] = number

    def published(self, name: str) -> int:
        """Count how many times an object was published."""
        return int(self._places[name][1][1])

    def read(self, name: str) -> tuple[Values, int] | None:
        """Read a copy of an object and its version; None before there is one."""
        places, counts = self._places[name]
        while True:
            number = int(counts[1])
            if number == 0:
                return None
            order_stores()
            values, version = places[number % 2].copy(), int(counts[2 + number % 2])
            order_stores()
            if counts[0] <= number + 1:
                return values, version
