"""A port that loses datagrams at random, on the way out and in: over sockets and in virtual time."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from random import Random

from olaf.transport.port import Address, Bytes, Party, Port, Run


class LossyPort:
    """Another port, but for what is lost."""

    def __init__(self, port: Port, share: float, seed: int) -> None:
        """``share`` of the datagrams is lost, in each direction."""
        self.lost = 0
        self._port, self._share, self._random = port, share, Random(seed)

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
        return True if self._loses() else self._port.send(to, header, body, tos)

    def send_run(self, to: Address, run: Run) -> int:
        for datagram in run:
            self.send(to, b"", datagram)
        return len(run)

    def serve(self, party: Party) -> None:
        self._port.serve(_Receiver(party, self._loses))

    def wake(self) -> None:
        self._port.wake()

    def wait(self, until: Callable[[], bool], seconds: float) -> bool:
        return self._port.wait(until, seconds)

    def close(self) -> None:
        self._port.close()

    def _loses(self) -> bool:
        lost = self._random.random() < self._share
        self.lost += lost
        return lost


class _Receiver:
    """A party that does not get everything."""

    def __init__(self, party: Party, loses: Callable[[], bool]) -> None:
        self._party, self._loses = party, loses

    def receive(self, run: Run, source: Address) -> None:
        for datagram in run:
            if not self._loses():
                self._party.receive(Run(datagram), source)

    def tick(self) -> float | None:
        return self._party.tick()
