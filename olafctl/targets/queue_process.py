"""The process that holds a deployment's queues, seen from outside by its control socket."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from olafctl.queue.registers import Command, IndexSettings
from olafctl.queue.settings import IndexRange, Ranges
from olafctl.targets import deployment, processes
from olafctl.targets.control import ask
from olafctl.targets.deployment import Deployment
from olafctl.targets.interface import Device, TimedFrame, VirtualTime
from olafswitch.errors import OlafError, Problem
from olafswitch.ports.attachment import Attachment

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
        self.permit: Callable[[], None] = lambda: None

    def read(self, name: str) -> int:
        """The value of register ``name``. Raises OlafError."""
        return int(self._ask("read", name=name))

    def write(self, name: str, value: int) -> None:
        """Set register ``name``. Raises OlafError."""
        self.permit()
        self._ask("write", name=name, value=value)

    def read_all(self) -> dict[str, int]:
        """All readable registers in one consistent snapshot. Raises OlafError."""
        return {name: int(value) for name, value in self._ask("read_all").items()}

    def settings(self) -> Ranges:
        """The settings of every index, in one request. Raises OlafError."""
        return tuple(IndexRange.from_json(part) for part in self._ask("settings"))

    def configure(self, first: int, last: int, settings: IndexSettings) -> None:
        """Give the indices ``first`` … ``last`` these settings. Raises OlafError when the queue refuses."""
        self.permit()
        self._ask("configure", range=IndexRange(first, last, settings).as_json())

    def command(self, command: Command, first: int, last: int) -> None:
        """FBCAST or RESET the indices ``first`` … ``last``. Raises OlafError when the queue refuses."""
        self.permit()
        self._ask("command", command=command.name, first=first, last=last)

    def _ask(self, what: str, /, **arguments: Any) -> Any:
        return ask(self._path, what, queue=self._engine, **arguments)


class RunningProcess:
    """See :class:`olafctl.targets.interface.Running`. Of its own it has no virtual time."""

    called: str
    """The target's name in an error."""

    def __init__(self, state: Path, recorded: Deployment) -> None:
        """Raises OlafError when the process in ``state`` does not answer."""
        self._state = state
        self._socket = state / SOCKET
        self.devices: Sequence[Device] = [deployment.device(entry) for entry in ask(self._socket, "devices")]
        self.attachments: Sequence[Attachment] = recorded.attachments
        self.queues: Mapping[str, SocketRegisters] = {
            part.name: SocketRegisters(self._socket, part.name) for part in recorded.engines
        }

    def alive(self) -> bool:
        """Whether the process answers."""
        try:
            ask(self._socket, "devices")
        except OlafError:
            return False
        return True

    def logs(self) -> Sequence[Path]:
        """The process's log."""
        return [self._state / LOG]

    def stats(self) -> dict[str, Any]:
        """``ports``: by number, frames and bytes each way; ``losses``: frames that went nowhere."""
        stats: dict[str, Any] = ask(self._socket, "stats")
        return stats

    def replay(self, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]:
        """Raises OlafError."""
        raise self._no_virtual_time()

    def virtual_time(self) -> VirtualTime:
        """Raises OlafError."""
        raise self._no_virtual_time()

    def _no_virtual_time(self) -> OlafError:
        what = f"{self.called} has no virtual time"
        return OlafError(Problem(what, "replay", "deploy the testbed on the twin"))


_Running = TypeVar("_Running", bound=RunningProcess)


def find(target: str, state: Path, opened: Callable[[Path, Deployment], _Running]) -> _Running | None:
    """What ``target`` runs in ``state``, as ``opened`` makes it, if it answers."""
    recorded = deployment.load(state)
    if recorded is None or recorded.target != target or not processes.of(state):
        return None
    try:
        return opened(state, recorded)
    except OlafError:
        return None


def start(module: str, state: Path, log: str = LOG, seconds: float = _START_SECONDS) -> Any:
    """Run ``module`` as a process for ``state``; returns what it says when ready. Raises OlafError."""
    argv = [sys.executable, "-m", module, str(state.resolve())]
    return processes.spawn_ready(argv, state, state / log, seconds)
