"""The interface to the outside: one UDP port and its machine's clock.

Workers, parameter servers and rounds are parties: they get datagrams and the time, and never read
a clock or a socket themselves. ``udp`` serves them over sockets in wall time, ``virtual`` in
simulated time; the code in between is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Callable, Protocol, Union

Address = tuple[str, int]
"""IPv4 address and UDP port."""

Bytes = Union[bytes, bytearray, memoryview]


class Run:
    """Datagrams one after the other in memory: each of ``size`` bytes, but the last may be shorter."""

    __slots__ = ("_count", "_data", "size")

    def __init__(self, data: memoryview, size: int | None = None) -> None:
        """``data`` is one datagram if ``size`` is not given."""
        self._data = data
        self.size = len(data) if size is None else size
        self._count = -(-len(data) // self.size) if self.size else 1

    @property
    def data(self) -> memoryview:
        """All of them."""
        return self._data

    def __len__(self) -> int:
        """How many datagrams, at least one: it may be empty."""
        return self._count

    def __iter__(self) -> Iterator[memoryview]:
        """One by one."""
        return (self.part(number, number + 1).data for number in range(self._count))

    def part(self, start: int, stop: int) -> Run:
        """Return datagrams ``start`` to before ``stop``."""
        return Run(self._data[start * self.size : stop * self.size], self.size)

    @property
    def memory(self) -> Sequence[memoryview]:
        """Where they are: these pieces, one after the other."""
        return (self._data,)


class Frames(Run):
    """Datagrams to be sent, of which each header and each body stays where it is."""

    __slots__ = ("_memory",)

    def __init__(self, memory: Sequence[memoryview], size: int) -> None:
        """``memory``: header, body, header, body, …, ``size`` bytes each two, but the last may be fewer."""
        self._memory, self.size = memory, size
        self._count = len(memory) // 2

    @property
    def data(self) -> memoryview:
        """All of them: a copy."""
        return memoryview(b"".join(self._memory))

    @property
    def memory(self) -> Sequence[memoryview]:
        """Headers and bodies in turn."""
        return self._memory

    def part(self, start: int, stop: int) -> Frames:
        """Return datagrams ``start`` to before ``stop``."""
        return Frames(self._memory[2 * start : 2 * stop], self.size)


class Party(Protocol):
    """The object that a port calls."""

    def receive(self, run: Run, source: Address) -> object:
        """Receive datagrams, at least one. Their memory is used again afterwards."""

    def tick(self) -> float | None:
        """Do what is due; returns when to be called next (on the port's ``now``), None for not at all."""


class Port(Protocol):
    """One UDP port and the clock of the machine it is on."""

    @property
    def address(self) -> Address:
        """Where datagrams to this port go."""

    def reachable(self, peer: Address) -> Address:
        """Return this port's address as ``peer`` sees it."""

    def mtu(self, peer: Address) -> int:
        """Return the bytes of an IP packet that this machine can send towards ``peer``."""

    @property
    def room(self) -> int:
        """Bytes that may wait here to be received; what comes beyond that is lost."""

    @property
    def lock(self) -> AbstractContextManager[object]:
        """Held while the party is called; all others that read or change the party hold it too."""

    def now(self) -> float:
        """Return the seconds of a clock that never jumps."""

    def wall(self) -> int:
        """Return the ns since 1970; they may jump."""

    def send(self, to: Address, header: bytes, body: Bytes = b"", tos: int = 0) -> bool:
        """Send header and body as one datagram, now or not at all; False when it could not be sent now."""

    def send_run(self, to: Address, run: Run) -> int:
        """Send the first datagrams of a run, as many as can be sent now; how many. It is not kept."""

    def serve(self, party: Party) -> None:
        """Call this party from now on."""

    def wake(self) -> None:
        """Tick the party earlier than it last requested."""

    def wait(self, until: Callable[[], bool], seconds: float) -> bool:
        """Block until the condition holds or the time is over; returns whether it holds."""

    def close(self) -> None:
        """Stop calling the party and give the port back."""
