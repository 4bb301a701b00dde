"""The process with a deployment's queues, seen from outside by its control socket."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from olafctl.queue.registers import Command, IndexSettings
from olafctl.queue.settings import IndexRange, Ranges
from olafctl.targets import deployment, processes
from olafctl.targets.control import ask_process
from olafctl.targets.deployment import Deployment
from olafctl.targets.interface import TargetDevice, TimedFrame, VirtualTime
from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.ports.attachment import Attachment
from olafswitch.ports.capture import FrameListener, listen_at
from olafswitch.ports.host import HostPort, open_host_port

SOCKET = "queue.sock"
LOG = "queue.log"
ONLY = "engine"
"""The engine's name in a process that can have only one."""
_START_SECONDS = 60.0


class SocketRegisters:
    """A queue's registers by name, over the control socket of the process with the queue."""

    def __init__(self, request: Callable[..., Any], engine: str) -> None:
        """Create the registers; ``request`` is :func:`olafctl.targets.control.ask_process` of the process."""
        self._request = request
        self._engine = engine
        self._election: dict[str, int] = {}
        self.permit: Callable[[], None] = lambda: None

    def elect(self, election_id: int | None) -> None:
        """Write as the controller of this election id from now on; None: as none. Raises OlafError."""
        self._election = {}
        if election_id is not None:
            self._election["election"] = election_id
            self._ask("elect", **self._election)

    def read(self, name: str) -> int:
        """Return the value of register ``name``. Raises OlafError."""
        return int(self._ask("read", name=name))

    def write(self, name: str, value: int) -> None:
        """Set register ``name``. Raises OlafError."""
        self.permit()
        self._ask("write", name=name, value=value, **self._election)

    def read_all(self) -> dict[str, int]:
        """Return all readable registers in one consistent snapshot. Raises OlafError."""
        return {name: int(value) for name, value in self._ask("read_all").items()}

    def settings(self) -> Ranges:
        """Return the settings of every index, in one request. Raises OlafError."""
        return tuple(IndexRange.from_json(part) for part in self._ask("settings"))

    def configure(self, first: int, last: int, settings: IndexSettings) -> None:
        """Give the indices ``first`` … ``last`` these settings. Raises OlafError when the queue refuses."""
        self.permit()
        part = IndexRange(first, last, settings).as_json()
        self._ask("configure", range=part, **self._election)

    def command(self, command: Command, first: int, last: int) -> None:
        """Send FBCAST or RESET to the indices ``first`` … ``last``. Raises OlafError if it is refused."""
        self.permit()
        self._ask("command", command=command.name, first=first, last=last, **self._election)

    def _ask(self, what: str, /, **arguments: Any) -> Any:
        return self._request(what, queue=self._engine, **arguments)


class SocketShards:
    """The :class:`olafctl.targets.interface.Shards` of a process; its calls raise OlafError."""

    def __init__(self, request: Callable[..., Any]) -> None:
        """Create the shards; ``request`` is :func:`olafctl.targets.control.ask_process` of the process."""
        self._request = request

    def counted(self) -> Sequence[dict[str, Any]]:
        return list(self._request("shards"))

    def owners(self, indices: Sequence[int]) -> Sequence[int]:
        return list(self._request("owners", indices=list(indices)))

    def place(self, first: int, last: int, shard: int) -> None:
        self._request("place", first=first, last=last, shard=shard)

    def steer(self, queues: Mapping[int, Mapping[str, int]]) -> None:
        self._request("steer", queues={str(port): dict(at) for port, at in queues.items()})

    def steering(self) -> Mapping[str, str]:
        return dict(self._request("steering"))


class RunningProcess:
    """The :class:`olafctl.targets.interface.Running` of one process, without virtual time."""

    called: str
    """The target's name in an error."""

    def __init__(self, state: Path, recorded: Deployment) -> None:
        """Connect to the process in ``state``. Raises OlafError when it does not answer."""
        self._state = state
        self._socket = state / SOCKET
        self.devices: Sequence[TargetDevice] = [
            deployment.parse_device(entry) for entry in ask_process(self._socket, "devices")
        ]
        self.attachments: Sequence[Attachment] = recorded.attachments
        self.queues: Mapping[str, SocketRegisters] = {
            part.name: SocketRegisters(partial(ask_process, self._socket), part.name)
            for part in recorded.engines
        }
        self.sharded: Mapping[str, SocketShards] = {
            part.name: SocketShards(partial(ask_process, self._socket))
            for part in recorded.engines
            if part.shards > 1
        }

    def alive(self) -> bool:
        """Return whether the process answers."""
        try:
            ask_process(self._socket, "devices")
        except OlafError:
            return False
        return True

    def host_port(self, number: int) -> HostPort:
        """Return the host side of a front port. Raises OlafError."""
        return open_host_port(self._attachment(number))

    def listen(self, number: int) -> FrameListener:
        """Listen at a front port. Raises OlafError, BadInput."""
        return listen_at(self._attachment(number))

    def _attachment(self, number: int) -> Attachment:
        found = next((each for each in self.attachments if each.number == number), None)
        if found is None:
            raise BadInput(Problem(f"front port {number} does not exist", self._state.name))
        return found

    def logs(self) -> Sequence[Path]:
        """Return the process's log."""
        return [self._state / LOG]

    def stats(self) -> dict[str, Any]:
        """Return ``ports``: by number, frames and bytes each way; ``losses``: lost frames."""
        stats: dict[str, Any] = ask_process(self._socket, "stats")
        return stats

    def replay(self, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]:
        """Raise OlafError: the target has no virtual time."""
        raise self._no_virtual_time()

    def virtual_time(self) -> VirtualTime:
        """Raise OlafError: the target has no virtual time."""
        raise self._no_virtual_time()

    def _no_virtual_time(self) -> OlafError:
        what = f"{self.called} has no virtual time"
        return OlafError(Problem(what, "replay", "deploy the testbed on the twin"))


_Running = TypeVar("_Running", bound=RunningProcess)


def find_process(target: str, state: Path, opened: Callable[[Path, Deployment], _Running]) -> _Running | None:
    """Return the running target ``target`` in ``state``, from ``opened``, if it answers."""
    recorded = deployment.load_deployment(state)
    if recorded is None or recorded.target != target or not processes.find_processes(state):
        return None
    try:
        return opened(state, recorded)
    except OlafError:
        return None


def start_process(module: str, state: Path, log: str = LOG, seconds: float = _START_SECONDS) -> Any:
    """Run ``module`` as a process for ``state``; return its message when ready. Raises OlafError."""
    argv = [sys.executable, "-m", module, str(state.resolve())]
    return processes.spawn_ready(argv, state, state / log, seconds)
