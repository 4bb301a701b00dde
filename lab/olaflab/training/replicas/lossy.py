"""A port that loses, doubles and reorders datagrams at random: over sockets and in virtual time."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from random import Random

from olaf.transport.port import Address, Bytes, Party, Port, Run


class _Link:
    """One direction: loses a datagram, delivers it twice, or lets those until the next tick overtake it."""

    def __init__(self, lose: float, double: float, delay: float, seed: str) -> None:
        self.sent = self.lost = self.doubled = 0
        self.lose = lose
        self._double, self._delay, self._random = double, delay, Random(seed)
        self._delayed: list[Callable[[], object]] = []

    def carry(self, deliver: Callable[[], object]) -> None:
        """Call ``deliver`` as often as the datagram arrives, now or later."""
        chances = (self.lose, self._double, self._delay)
        lose, double, delay = (self._random.random() < chance for chance in chances)
        self.sent += 1
        self.lost += lose
        if not lose:
            self.doubled += double
            for _ in range(1 + double):
                if delay:
                    self._delayed.append(deliver)
                else:
                    deliver()

    def flush_delayed(self) -> None:
        """Deliver what was delayed."""
        delayed, self._delayed = self._delayed, []
        for deliver in delayed:
            deliver()


class LossyPort:
    """Another port behind lossy links in both directions."""

    def __init__(
        self, port: Port, share: float, seed: int, *, double: float = 0.0, delay: float = 0.0
    ) -> None:
        """In each direction, ``share`` of the datagrams is lost, ``double`` arrives twice, and ``delay`` is
        overtaken by those that follow until the party's next tick."""
        self._port = port
        self.out, self.into = (_Link(share, double, delay, f"{seed} {way}") for way in ("out", "in"))

    @property
    def lost(self) -> int:
        """Number of datagrams lost, from and to this port."""
        return self.out.lost + self.into.lost

    @property
    def address(self) -> Address:
        return self._port.address

    def reachable(self, peer: Address) -> Address:
        return self._port.reachable(peer)

    def mtu(self, peer: Address) -> int:
        return self._port.mtu(peer)

    @property
    def room(self) -> int:
        return self._port.room

    @property
    def lock(self) -> AbstractContextManager[object]:
        return self._port.lock

    def now(self) -> float:
        return self._port.now()

    def wall(self) -> int:
        return self._port.wall()

    def send(self, to: Address, header: bytes, body: Bytes = b"", tos: int = 0) -> bool:
        datagram = bytes(header) + bytes(body)
        self.out.carry(lambda: self._port.send(to, datagram, tos=tos))
        return True

    def send_run(self, to: Address, run: Run) -> int:
        for datagram in run:
            self.send(to, b"", datagram)
        return len(run)

    def serve(self, party: Party) -> None:
        self._port.serve(_Receiver(party, self))

    def wake(self) -> None:
        self._port.wake()

    def wait(self, until: Callable[[], bool], seconds: float) -> bool:
        return self._port.wait(until, seconds)

    def close(self) -> None:
        self._port.close()


class _Receiver:
    """The party of a lossy port."""

    def __init__(self, party: Party, port: LossyPort) -> None:
        self._party, self._port = party, port

    def receive(self, run: Run, source: Address) -> None:
        for datagram in run:
            copy = bytes(datagram)
            self._port.into.carry(lambda: self._party.receive(Run(memoryview(copy)), source))  # noqa: B023

    def tick(self) -> float | None:
        self._port.out.flush_delayed()
        self._port.into.flush_delayed()
        return self._party.tick()
