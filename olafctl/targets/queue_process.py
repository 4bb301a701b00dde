"""The process that holds a deployment's queue, seen from outside."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from olafctl.queue.registers import Command, IndexSettings
from olafctl.queue.settings import IndexRange, Ranges
from olafctl.targets import processes
from olafctl.targets.control import ask
from olafctl.targets.deployment import Deployment

SOCKET = "queue.sock"
LOG = "queue.log"
ONLY = "engine"
"""What a process calls its engine where it can have one only."""
_START_SECONDS = 60.0


class SocketRegisters:
    """A queue's registers by name, over the control socket of the process that holds the queue."""

    def __init__(self, path: Path, engine: str) -> None:
        self._path = path
        self._engine = engine

    def read(self, name: str) -> int:
        """The value of register ``name``. Raises OlafError."""
        return int(self._ask("read", name=name))

    def write(self, name: str, value: int) -> None:
        """Set register ``name``. Raises OlafError."""
        self._ask("write", name=name, value=value)

    def read_all(self) -> dict[str, int]:
        """All readable registers in one consistent snapshot. Raises OlafError."""
        return {name: int(value) for name, value in self._ask("read_all").items()}

    def settings(self) -> Ranges:
        """The settings of every index, in one request. Raises OlafError."""
        return tuple(IndexRange.from_json(part) for part in self._ask("settings"))

    def configure(self, first: int, last: int, settings: IndexSettings) -> None:
        """Give the indices ``first`` … ``last`` these settings. Raises OlafError when the queue refuses."""
        self._ask("configure", range=IndexRange(first, last, settings).as_json())

    def command(self, command: Command, first: int, last: int) -> None:
        """FBCAST or RESET the indices ``first`` … ``last``. Raises OlafError when the queue refuses."""
        self._ask("command", command=command.name, first=first, last=last)

    def _ask(self, what: str, /, **arguments: Any) -> Any:
        return ask(self._path, what, queue=self._engine, **arguments)


def queues_of(path: Path, recorded: Deployment) -> Mapping[str, SocketRegisters]:
    """The registers of each engine's queue, of the process at ``path``."""
    return {part.name: SocketRegisters(path, part.name) for part in recorded.engines}


def start(module: str, state: Path, log: str = LOG, seconds: float = _START_SECONDS) -> Any:
    """Run ``module`` as a process for ``state``; returns what it says when ready. Raises OlafError."""
    argv = [sys.executable, "-m", module, str(state.resolve())]
    return processes.spawn_ready(argv, state, state / log, seconds)
