"""A running twin, seen from another process through its control socket."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial

from olafctl.targets import deployment
from olafctl.targets.control import ask_process, take_over
from olafctl.targets.interface import Progress, TimedFrame, VirtualTime
from olafctl.targets.queue_process import RunningProcess
from olafctl.targets.replay_stream import Session, exchange_frames
from olafctl.testbed.model import Testbed
from olafswitch.errors import OlafError


class RunningTwin(RunningProcess):
    """The :class:`olafctl.targets.interface.Running` of the twin."""

    def replay(self, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]:
        """Run ``frames`` through the twin in virtual time, its real ports at rest meanwhile.

        An input's time is when its first beat reaches the queue, an output's when its last beat has left it;
        both blocks take no time. Register settings are kept, waiting updates are lost, counters start at
        zero, and all stays as the session leaves it. Raises OlafError for times that decrease, unknown ports,
        frames beyond 16384 bytes, and while another replay runs.
        """
        return exchange_frames(take_over(self._socket, "replay"), frames)

    def rewirable(self) -> bool:
        """Return whether its process, which an earlier version may have started, changes ports."""
        with suppress(OlafError):
            ask_process(self._socket, "close", ports=[])
            return True
        return False

    def rewiring(self, testbed: Testbed) -> Sequence[str]:
        """See :class:`olafctl.targets.interface.Rewirable`."""
        return deployment.list_rewiring(self._state, testbed)

    def rewire(self, testbed: Testbed, progress: Progress) -> None:
        """See :class:`olafctl.targets.interface.Rewirable`."""
        deployment.rewire_ports(self._state, testbed, progress, partial(ask_process, self._socket))
        self.attachments = deployment.require_deployment(self._state).attachments

    def virtual_time(self) -> VirtualTime:
        """Return a session like ``replay``; a refused session says so at its first advance."""
        return Session(take_over(self._socket, "replay"))
