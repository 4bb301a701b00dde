"""Claims on what a machine has only once: a network card, a port's socket or capture file, a PCI card.

A claim is a socket with a name in the kernel's abstract namespace. It needs no folder that all users may
write and ends with its process, however that ends. Like a network card, it is seen in one network namespace.
"""

import hashlib
import os
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from olafctl.network.ip import OWNER
from olafswitch.errors import OlafError, Problem

_NAMES = Path("/proc/net/unix")
_ENDING = 2.0
"""The seconds that a killed process, which no longer says whose it is, may take to end."""
_LOOK_AGAIN = 0.02
_REMEDY = "destroy that deployment, end that process, or give this port another one"


class Claims:
    """The resources that this process holds, by name."""

    def __init__(self) -> None:
        self._held: dict[str, socket.socket] = {}

    def take(self, names: Iterable[str]) -> None:
        """Hold all of ``names``, or none of them. Raises OlafError naming each that another process holds."""
        new: dict[str, socket.socket] = {}
        problems = []
        for name in names:
            if name in self._held or name in new:
                continue
            claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                claim.bind(f"\0{_key_of(name)}")
                new[name] = claim
            except OSError:
                claim.close()
                problems.append(Problem(_describe_holder(_holder_of(name)), name, _REMEDY))
        if problems:
            for claim in new.values():
                claim.close()
            raise OlafError(*problems)
        self._held |= new

    def release(self, names: Iterable[str] | None = None) -> None:
        """Give ``names`` back, or all resources."""
        for name in [*self._held] if names is None else names:
            if claim := self._held.pop(name, None):
                claim.close()


def find_conflicts(names: Iterable[str], state: Path) -> Iterator[tuple[str, Problem]]:
    """Yield each of ``names`` that a process outside the deployment in ``state`` holds, with a problem."""
    own = str(state.resolve())
    for name in names:
        holder, end = None, time.monotonic() + _ENDING
        while is_taken := _is_taken(name):
            holder = _holder_of(name)
            if (holder and _deployment_of(holder)) or time.monotonic() > end:
                break
            time.sleep(_LOOK_AGAIN)
        if is_taken and holder != os.getpid() and (holder is None or _deployment_of(holder) != own):
            yield name, Problem(_describe_holder(holder), name, _REMEDY)


def _is_taken(name: str) -> bool:
    key = _key_of(name)
    return any(line.endswith(f" @{key}") for line in _NAMES.read_text(errors="replace").splitlines())


def _key_of(name: str) -> str:
    """Return a socket's name that differs between resources, however long their names are."""
    return f"olaf-claim-{hashlib.sha256(name.encode()).hexdigest()}"


def _holder_of(name: str) -> int | None:
    """Return the process that holds ``name``; None where there is none, or this user may not inspect it."""
    address = f"@{_key_of(name)}"
    found = (each.pid for each in psutil.net_connections("unix") if str(each.laddr) == address)
    return next(found, None)


def _describe_holder(holder: int | None) -> str:
    if holder is None:
        return "is taken by a deployment of another user"
    folder = _deployment_of(holder)
    whose = f"by the deployment {Path(folder).name} in {Path(folder).parent}" if folder else "already"
    return f"is taken {whose} (process {holder})"


def _deployment_of(process: int) -> str | None:
    """Return the state folder in ``process``'s environment, as far as this user may inspect it."""
    with suppress(psutil.Error, OSError):
        return psutil.Process(process).environ().get(OWNER)
    return None
