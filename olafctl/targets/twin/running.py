"""A twin that runs, seen from another process through its control socket."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from olafctl.errors import OlafError
from olafctl.targets.control import ask, take_over
from olafctl.targets.deployment import Deployment, device
from olafctl.targets.interface import Attachment, Device, TimedFrame
from olafctl.targets.replay_client import exchange

SOCKET = "twin.sock"
LOG = "twin.log"


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


class RunningTwin:
    """See :class:`olafctl.targets.interface.Running`."""

    def __init__(self, state: Path, deployment: Deployment) -> None:
        """Raises OlafError when the twin in ``state`` does not answer."""
        self._state = state
        self._socket = state / SOCKET
        self.devices: Sequence[Device] = [device(entry) for entry in ask(self._socket, "devices")]
        self.attachments: Sequence[Attachment] = deployment.attachments
        self.registers = SocketRegisters(self._socket)

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
        """Run ``frames`` through the twin in virtual time, its real ports at rest meanwhile.

        An input's time is when its first beat reaches the queue, an output's when its last beat has left
        it; both blocks take no time. Register settings are kept, counters start at zero, and both stay
        as the session leaves them. Raises OlafError for times that decrease, unknown ports, frames beyond
        16384 bytes, and while another replay runs.
        """
        return exchange(take_over(self._socket, "replay"), frames)
