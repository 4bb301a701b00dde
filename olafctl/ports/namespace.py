"""Doing something in another network namespace without moving the whole process there."""

import ctypes
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

_CLONE_NEWNET = 0x40000000
HOME = Path("/run/netns")
"""Where the names of namespaces are."""
T = TypeVar("T")


def exists(namespace: str) -> bool:
    """Whether there is a namespace of that name."""
    return (HOME / namespace).exists()


def is_in(process: int, namespace: str) -> bool:
    """Whether ``process`` is in ``namespace``; False when either is not there or may not be looked at."""
    try:
        return Path(f"/proc/{process}/ns/net").samefile(HOME / namespace)
    except OSError:
        return False


def within(namespace: str | None, act: Callable[[], T]) -> T:
    """``act()``'s result, run on a thread that is in ``namespace`` (None: right here).

    Sockets opened by ``act`` stay in the namespace. Raises OSError when there is no such namespace,
    PermissionError when entering it is not allowed, and whatever ``act`` raises.
    """
    if namespace is None:
        return act()
    results: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            _enter(namespace)
            results.append(act())
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=run, name=f"in {namespace}")
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return results[0]


def _enter(namespace: str) -> None:
    descriptor = os.open(HOME / namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(descriptor, _CLONE_NEWNET) != 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error), namespace)
    finally:
        os.close(descriptor)
