"""The one interface behind which every target is; a new target is one new sub-package."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from olafctl.queue.registers import Command, IndexSettings
from olafctl.queue.settings import Ranges
from olafctl.testbed.model import Testbed
from olafswitch.errors import Problem
from olafswitch.p4runtime.address import Access
from olafswitch.ports.attachment import Attachment
from olafswitch.ports.capture import FrameListener
from olafswitch.ports.host import HostPort

_T = TypeVar("_T")
Progress = Callable[[str], None]
"""Called with each step of long work, in a few words, as it begins."""


@dataclass(frozen=True)
class TargetDevice:
    """A P4Runtime device of a running target."""

    name: str
    """``vnp4_1`` or ``vnp4_2``; with several engines ``ENGINE/vnp4_1``, see :func:`device_name`."""
    device_id: int
    address: str
    """The address of its P4Runtime server: unix:PATH or host:port."""
    p4info: Path
    config: Path
    """The device_config to push."""
    access: Access | None = None
    """The client's credentials at an address beyond this machine."""


def device_name(testbed: Testbed, engine: str, block: str) -> str:
    """Return the name of an engine's device: the block's own when there is only one engine."""
    return f"{engine}/{block}" if len(testbed.engines) > 1 else block


@dataclass(frozen=True)
class TimedFrame:
    """A frame at a front port at a virtual time in ns."""

    time: int
    port: int
    frame: bytes


@dataclass(frozen=True)
class Advanced:
    """The events up to a virtual time."""

    left: Sequence[TimedFrame]
    """The frames that left, in order."""
    next: int | None
    """The ns before which nothing leaves unless another frame arrives; None when nothing will."""


@dataclass(frozen=True)
class Spent:
    """Processor time in seconds."""

    engine: float
    """The time in the P4 blocks and the queues."""
    messages: float
    """The time of reading arriving frames and writing leaving ones."""


class VirtualTime(Protocol):
    """An engine in virtual time, driven step by step, from time 0, an empty queue and zeroed counters on.

    Times never decrease, from frame to frame and from frame to advance.
    """

    @property
    def spent(self) -> Spent:
        """The session's processor time in the engine's process, as of the last advance."""

    def arrive(self, frame: TimedFrame) -> None:
        """Let a frame arrive at a front port."""

    def advance(self, time: int) -> Advanced:
        """Run to virtual ``time`` in ns. Raises OlafError for a frame that the engine cannot take."""

    def close(self) -> None:
        """End the session: the updates in the queue leave unseen."""


class Registers(Protocol):
    """The queue's registers by name, as the register map defines them."""

    permit: Callable[[], None]
    """Called before each write; raises OlafError where a write is not allowed."""

    def elect(self, election_id: int | None) -> None:
        """Write as the controller of this election id from now on; with None as no controller.

        From then on the queue refuses writes of lower ids, as the devices do. Raises OlafError where a later
        controller came first.
        """

    def read(self, name: str) -> int: ...

    def write(self, name: str, value: int) -> None: ...

    def read_all(self) -> dict[str, int]:
        """Return all readable registers in one consistent snapshot."""

    def settings(self) -> Ranges:
        """Return the settings of every index."""

    def configure(self, first: int, last: int, settings: IndexSettings) -> None:
        """Give the indices ``first`` … ``last`` these settings, each of them at one instant."""

    def command(self, command: Command, first: int, last: int) -> None:
        """Apply FBCAST or RESET to the indices ``first`` … ``last``, and return when that is done."""


def of_root(queues: Mapping[str, _T]) -> _T:
    """Return the root's entry of ``queues``, by engine."""
    return next(iter(queues.values()))


class Shards(Protocol):
    """The threads of an engine, each with its part of the clusters."""

    def counted(self) -> Sequence[dict[str, Any]]:
        """Return each thread's ``counters`` of its queue, by name, and ``processor_seconds``."""

    def owners(self, indices: Sequence[int]) -> Sequence[int]:
        """Return the shards that have these indices."""

    def place(self, first: int, last: int, shard: int) -> None:
        """Move the indices ``first`` … ``last`` to a shard, with their waiting updates, in order."""

    def steer(self, queues: Mapping[int, Mapping[str, int]]) -> None:
        """Let network cards give each address' frames, by port, to that shard, where they can."""

    def steering(self) -> Mapping[str, str]:
        """Return how each network card gives frames to shards, by port, for people."""


@runtime_checkable
class Sharded(Protocol):
    """A running target that may have engines of several threads."""

    @property
    def sharded(self) -> Mapping[str, Shards]:
        """The threads of the engines that have several, by the engine's name."""


class Running(Protocol):
    """A target that runs."""

    @property
    def devices(self) -> Sequence[TargetDevice]: ...

    @property
    def attachments(self) -> Sequence[Attachment]: ...

    @property
    def queues(self) -> Mapping[str, Registers]:
        """The registers of each engine's queue by the engine's name, each behind its parent's."""

    def alive(self) -> bool:
        """Return whether every process of the target answers."""

    def host_port(self, number: int) -> HostPort:
        """Return the host side of a front port. Raises OlafError."""

    def listen(self, number: int) -> FrameListener:
        """Listen at a front port. Raises OlafError, BadInput for a port that cannot be listened at."""

    def logs(self) -> Sequence[Path]: ...

    def stats(self) -> dict[str, Any]:
        """Return ``ports``: by number, frames and bytes each way, with the ports of links between engines;
        ``losses``: lost frames; ``carriers``: by number, whether a front port's cable is up, where known."""

    def replay(self, frames: Iterator[TimedFrame]) -> Generator[TimedFrame, None, None]:
        """Run frames (by time, never decreasing) through the engine in virtual time, and yield its output.

        Virtual time begins at 0 with an empty queue and zeroed counters. Raises OlafError where the target
        has no virtual time.
        """

    def virtual_time(self) -> VirtualTime:
        """Return a session like ``replay`` in which the next input may depend on the output.

        Raises OlafError where the target has no virtual time.
        """


@runtime_checkable
class Rewirable(Protocol):
    """A running target that can get other front ports meanwhile."""

    def rewirable(self) -> bool:
        """Return whether it can in this case."""

    def rewiring(self, testbed: Testbed) -> Sequence[str]:
        """Return the differences between its front ports and those of ``testbed``, as lines of a diff. Raises
        OlafError."""

    def rewire(self, testbed: Testbed, progress: Progress) -> None:
        """Give the target the front ports of ``testbed``, none of which is a TAP; frames pass at those that
        stay. Raises OlafError."""


@dataclass(frozen=True)
class Build:
    """A built pipeline: a folder whose name is the digest of all inputs of the build."""

    folder: Path
    key: str
    fresh: bool
    """False when the build came from the cache."""
    next_steps: str = ""
    """The operator's next steps, and their machines; empty when a deploy does all."""


class Target(Protocol):
    """A way to run the pipeline. ``state`` is the deployment's own folder, kept until destroy."""

    name: str

    def missing(self) -> Sequence[str]:
        """Return the programs that this target needs and does not find."""

    def build(self, testbed: Testbed, progress: Progress) -> Build: ...

    def problems(self, testbed: Testbed, state: Path) -> Sequence[Problem]:
        """Return why the testbed cannot start here, as far as it is known while another one still runs."""

    def start(self, testbed: Testbed, build: Build, state: Path, progress: Progress) -> Running:
        """Start processes and ports, with nothing programmed yet, in place of those in ``state``: front ports
        that fit stay, and so do hosts' programs. On failure leave no process, and nothing at all where there
        was nothing. Raises OlafError."""

    def find(self, testbed: Testbed, state: Path) -> Running | None:
        """Return the running target of ``state``, or None when nothing of it answers."""

    def stop(self, state: Path) -> None:
        """End every process and remove every port that ``state`` names, also after a crash."""
