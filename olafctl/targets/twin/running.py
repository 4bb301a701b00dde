"""A twin that runs, seen from another process through its control socket."""

from collections.abc import Iterator, Sequence
from typing import Any

from olafctl.targets.control import ask, take_over
from olafctl.targets.interface import TimedFrame, VirtualTime
from olafctl.targets.queue_process import RunningProcess
from olafctl.targets.replay_stream import Session, exchange


class RunningTwin(RunningProcess):
    """See :class:`olafctl.targets.interface.Running`."""

    def replay(self, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]:
        """Run ``frames`` through the twin in virtual time, its real ports at rest meanwhile.

        An input's time is when its first beat reaches the queue, an output's when its last beat has left
        it; both blocks take no time. Register settings are kept, what waited in the queue is gone, counters
        start at zero, and all stays as the session leaves it. Raises OlafError for times that decrease,
        unknown ports, frames beyond 16384 bytes, and while another replay runs.
        """
        return exchange(take_over(self._socket, "replay"), frames)

    def shards(self) -> Sequence[dict[str, Any]]:
        """Of each of the engine's threads its queue's counters and its seconds of processor time. Raises
        OlafError."""
        return list(ask(self._socket, "shards"))

    def owners(self, indices: Sequence[int]) -> Sequence[int]:
        """The shards that have these indices. Raises OlafError."""
        return list(ask(self._socket, "owners", indices=list(indices)))

    def place(self, first: int, last: int, shard: int) -> None:
        """Make the indices ``first`` … ``last`` a shard's, with all that waits; nothing is lost or overtaken.
        Raises OlafError."""
        ask(self._socket, "place", first=first, last=last, shard=shard)

    def virtual_time(self) -> VirtualTime:
        """As ``replay``; a session that is refused says so when it is first advanced."""
        return Session(take_over(self._socket, "replay"))
