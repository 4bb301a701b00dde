"""Run a function in another network namespace without moving the whole process."""

import ctypes
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

_CLONE_NEWNET = 0x40000000
HOME = Path("/run/netns")
"""The folder of the namespaces' names."""
T = TypeVar("T")


def namespace_exists(namespace: str) -> bool:
    """Return whether a namespace of that name exists, as far as this user may see."""
    return _namespace_identity(HOME / namespace) is not None


def processes_in(namespaces: Iterable[str], processes: Iterable[int]) -> set[int]:
    """Return the ``processes``, by id, that are in one of ``namespaces``; a process that this user may not
    inspect is left out."""
    wanted = {_namespace_identity(HOME / name) for name in namespaces} - {None}
    return (
        {each for each in processes if _namespace_identity(Path(f"/proc/{each}/ns/net")) in wanted}
        if wanted
        else set()
    )


def run_within(namespace: str | None, act: Callable[[], T]) -> T:
    """Return the result of ``act()``, run on a thread that is in ``namespace`` (None: on this thread).

    Sockets opened by ``act`` stay in the namespace. Raises OSError when the namespace does not exist,
    PermissionError when entering it is not allowed, and whatever ``act`` raises.
    """
    if namespace is None:
        return act()
    results: list[T] = []
    failures: list[BaseException] = []

    def run_there() -> None:
        try:
            _enter_namespace(namespace)
            results.append(act())
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=run_there, name=f"in {namespace}")
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return results[0]


def _namespace_identity(file: Path) -> tuple[int, int] | None:
    """Return the numbers that identify a namespace; None when its file does not exist."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _enter_namespace(namespace: str) -> None:
    descriptor = os.open(HOME / namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(descriptor, _CLONE_NEWNET) != 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error), namespace)
    finally:
        os.close(descriptor)
