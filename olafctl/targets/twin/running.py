"""A twin that runs, seen from another process through its control socket."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from olafctl.errors import OlafError
from olafctl.ports.attachment import Attachment
from olafctl.targets import queue_process
from olafctl.targets.control import ask, take_over
from olafctl.targets.deployment import Deployment, device
from olafctl.targets.interface import Device, TimedFrame, VirtualTime
from olafctl.targets.replay_stream import Session, exchange


class RunningTwin:
    """See :class:`olafctl.targets.interface.Running`."""

    def __init__(self, state: Path, recorded: Deployment) -> None:
        """Raises OlafError when the twin in ``state`` does not answer."""
        self._state = state
        self._socket = state / queue_process.SOCKET
        self.devices: Sequence[Device] = [device(entry) for entry in ask(self._socket, "devices")]
        self.attachments: Sequence[Attachment] = recorded.attachments
        self.queues = queue_process.queues_of(self._socket, recorded)

    def alive(self) -> bool:
        """Whether the process answers."""
        try:
            ask(self._socket, "devices")
        except OlafError:
            return False
        return True

    def logs(self) -> Sequence[Path]:
        """The process's log."""
        return [self._state / queue_process.LOG]

    def stats(self) -> dict[str, Any]:
        """``ports``: by number, frames and bytes each way; ``losses``: frames that went nowhere."""
        stats: dict[str, Any] = ask(self._socket, "stats")
        return stats

    def replay(self, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]:
        """Run ``frames`` through the twin in virtual time, its real ports at rest meanwhile.

        An input's time is when its first beat reaches the queue, an output's when its last beat has left
        it; both blocks take no time. Register settings are kept, what waited in the queue is gone, counters
        start at zero, and all stays as the session leaves it. Raises OlafError for times that decrease,
        unknown ports, frames beyond 16384 bytes, and while another replay runs.
        """
        return exchange(take_over(self._socket, "replay"), frames)

    def virtual_time(self) -> VirtualTime:
        """As ``replay``; a session that is refused says so when it is first advanced."""
        return Session(take_over(self._socket, "replay"))
