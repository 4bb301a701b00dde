"""The process that holds a deployment's queue, seen from outside."""

import sys
from pathlib import Path
from typing import Any

from olafctl.queue.internals import Command
from olafctl.queue.registers import IndexSettings
from olafctl.queue.settings import IndexRange, Ranges
from olafctl.targets import processes
from olafctl.targets.control import ask

SOCKET = "queue.sock"
LOG = "queue.log"
_START_SECONDS = 60.0


class SocketRegisters:
    """The queue's registers by name, over the control socket of the process that holds the queue."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, name: str) -> int:
        """The value of register ``name``. Raises OlafError."""
        return int(ask(self._path, "read", name=name))

    def write(self, name: str, value: int) -> None:
        """Set register ``name``. Raises OlafError."""
        ask(self._path, "write", name=name, value=value)

    def read_all(self) -> dict[str, int]:
        """All readable registers in one consistent snapshot. Raises OlafError."""
        return {name: int(value) for name, value in ask(self._path, "read_all").items()}

    def settings(self) -> Ranges:
        """The settings of every index, in one request. Raises OlafError."""
        return tuple(IndexRange.from_json(part) for part in ask(self._path, "settings"))

    def configure(self, first: int, last: int, settings: IndexSettings) -> None:
        """Give the indices ``first`` … ``last`` these settings. Raises OlafError when the queue refuses."""
        ask(self._path, "configure", range=IndexRange(first, last, settings).as_json())

    def command(self, command: Command, first: int, last: int) -> None:
        """FBCAST or RESET the indices ``first`` … ``last``. Raises OlafError when the queue refuses."""
        ask(self._path, "command", command=command.name, first=first, last=last)


def start(module: str, state: Path, log: str = LOG, seconds: float = _START_SECONDS) -> Any:
    """Run ``module`` as a process for ``state``; returns what it says when ready. Raises OlafError."""
    argv = [sys.executable, "-m", module, str(state.resolve())]
    return processes.spawn_ready(argv, state, state / log, seconds)
