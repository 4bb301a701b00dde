"""A card's agent that runs, seen from another process through its control socket."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from olafctl.errors import OlafError, Problem
from olafctl.ports.attachment import Attachment
from olafctl.targets import deployment, processes, queue_process
from olafctl.targets.control import ask
from olafctl.targets.deployment import Deployment
from olafctl.targets.interface import Device, Registers, TimedFrame, VirtualTime


class RunningCard:
    """See :class:`olafctl.targets.interface.Running`."""

    def __init__(self, state: Path, recorded: Deployment, engine: str, logs: Sequence[str]) -> None:
        """Raises OlafError when the agent in ``state`` does not answer."""
        self._state = state
        self._socket = state / queue_process.SOCKET
        self._logs = logs
        self.devices: Sequence[Device] = [deployment.device(entry) for entry in ask(self._socket, "devices")]
        self.attachments: Sequence[Attachment] = recorded.attachments
        self.queues: Mapping[str, Registers] = {
            engine: queue_process.SocketRegisters(self._socket, queue_process.ONLY)
        }

    def alive(self) -> bool:
        """Whether the agent answers and the card answers it."""
        try:
            return bool(ask(self._socket, "card")["answers"])
        except OlafError:
            return False

    def logs(self) -> Sequence[Path]:
        """The agent's log, and the simulated card's."""
        return [self._state / name for name in self._logs]

    def stats(self) -> dict[str, Any]:
        """``ports``: by number, frames each way; ``losses``: those that went nowhere; ``card``: its links."""
        return {**ask(self._socket, "stats"), "card": ask(self._socket, "card")}

    def replay(self, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]:
        """Raises OlafError: a card has no virtual time."""
        raise _no_virtual_time()

    def virtual_time(self) -> VirtualTime:
        """Raises OlafError: a card has no virtual time."""
        raise _no_virtual_time()


def find(name: str, engine: str, state: Path, logs: Sequence[str]) -> RunningCard | None:
    """What target ``name`` runs of an engine in ``state``, if it answers."""
    recorded = deployment.load(state)
    if recorded is None or recorded.target != name or not processes.of(state):
        return None
    try:
        return RunningCard(state, recorded, engine, logs)
    except OlafError:
        return None


def _no_virtual_time() -> OlafError:
    return OlafError(Problem("a card has no virtual time", "replay", "deploy the testbed on the twin"))
