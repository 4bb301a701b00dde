"""Ports in simulated time: workers, servers and whatever lies between them as one discrete-event run.

The same party code runs here and over sockets. Nothing depends on the speed of the machine: with a seeded
medium a run repeats exactly.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import sys
from contextlib import AbstractContextManager
from typing import Callable, Protocol

from olaf.transport.port import Address, Bytes, Party, Run


class Medium(Protocol):
    """Carries datagrams: a wire, an engine, or a model of either.

    It may keep a datagram, change it, or make others of it, and delivers by ``network.arrive`` at any later
    time; events of its own it sets by ``network.at``.
    """

    def carry(self, network: VirtualNetwork, source: Address, to: Address, datagram: bytes, tos: int) -> None:
        """Carry a datagram that a port has sent at ``network.time``."""


class Wire:
    """A network without loss: every datagram arrives once, ``delay`` seconds later."""

    def __init__(self, delay: float = 1e-4) -> None:
        self._delay = delay

    def carry(self, network: VirtualNetwork, source: Address, to: Address, datagram: bytes, tos: int) -> None:
        """Deliver a datagram once."""
        network.arrive(network.time + self._delay, source, to, datagram)


class VirtualNetwork:
    """The event queue, the time, and the ports by address."""

    def __init__(self, medium: Medium | None = None, epoch: int = 0) -> None:
        """``epoch``: wall time at time 0, in ns since the epoch."""
        self.time = 0.0
        self.epoch = epoch
        self._medium: Medium = medium or Wire()
        self._ports: dict[Address, VirtualPort] = {}
        self._events: list[tuple[float, int, Callable[[], object]]] = []
        self._order = itertools.count()

    def port(self, address: Address) -> VirtualPort:
        """Open a port; a datagram to an address without one is lost.

        Raises ValueError when there is one already.
        """
        if address in self._ports:
            raise ValueError(f"{address[0]}:{address[1]} is in use")
        self._ports[address] = VirtualPort(self, address)
        return self._ports[address]

    def at(self, time: float, event: Callable[[], object]) -> None:
        """Call ``event`` at this time, after those set earlier for the same time."""
        heapq.heappush(self._events, (max(time, self.time), next(self._order), event))

    def send(self, source: Address, to: Address, datagram: bytes, tos: int) -> None:
        """Give one datagram to the medium."""
        self._medium.carry(self, source, to, datagram, tos)

    def arrive(self, time: float, source: Address, to: Address, datagram: bytes) -> None:
        """Deliver a datagram at this time, if there is a port then."""
        self.at(time, lambda: self._deliver_datagram(source, to, datagram))

    def run(self, until: float | None = None, stop: Callable[[], bool] = lambda: False) -> bool:
        """Run events until ``stop`` holds, the time is ``until``, or nothing is left; returns ``stop()``."""
        while not stop():
            if not self._events or (until is not None and self._events[0][0] > until):
                if until is not None:
                    self.time = max(self.time, until)
                return stop()
            self.time, _, event = heapq.heappop(self._events)
            event()
        return True

    def remove(self, address: Address) -> None:
        """Remove a port that is closed."""
        self._ports.pop(address, None)

    def _deliver_datagram(self, source: Address, to: Address, datagram: bytes) -> None:
        port = self._ports.get(to)
        if port is not None:
            port.deliver(datagram, source)


class VirtualPort:
    """One address of a virtual network."""

    def __init__(self, network: VirtualNetwork, address: Address) -> None:
        self._network = network
        self._address = address
        self._party: Party | None = None
        self._ticks = 0
        """Numbers the tick that counts; one set earlier for another time is void."""
        self.skew = 0
        """ns by which this machine's wall clock is ahead; may be changed at any time."""

    @property
    def address(self) -> Address:
        """As given."""
        return self._address

    def reachable(self, peer: Address) -> Address:
        """Return the address, which everyone sees alike."""
        return self._address

    def mtu(self, peer: Address) -> int:
        """Return the largest MTU there is."""
        return 65535

    @property
    def room(self) -> int:
        """Without bounds: what arrives is received at once."""
        return sys.maxsize

    @property
    def lock(self) -> AbstractContextManager[object]:
        """Nothing: there is one thread."""
        return contextlib.nullcontext()

    def now(self) -> float:
        """Return the simulated seconds."""
        return self._network.time

    def wall(self) -> int:
        """Return the simulated wall time."""
        return self._network.epoch + round(self._network.time * 1e9) + self.skew

    def send(self, to: Address, header: bytes, body: Bytes = b"", tos: int = 0) -> bool:
        """Send a datagram, which is always possible."""
        self._network.send(self._address, to, header + bytes(body), tos)
        return True

    def send_run(self, to: Address, run: Run) -> int:
        """Send all datagrams, one by one."""
        return sum(self.send(to, bytes(datagram)) for datagram in run)

    def serve(self, party: Party) -> None:
        """Tick it at once."""
        self._party = party
        self.wake()

    def wake(self) -> None:
        """Tick at this time, after what is running."""
        self._schedule_tick(self.now())

    def wait(self, until: Callable[[], bool], seconds: float) -> bool:
        """Run the simulation."""
        return self._network.run(self.now() + seconds, until)

    def close(self) -> None:
        """Close the port: datagrams to it are lost from now on."""
        self._party = None
        self._ticks += 1
        self._network.remove(self._address)

    def deliver(self, datagram: bytes, source: Address) -> None:
        """Hand over one datagram, then tick: its arrival may have changed what is due."""
        if self._party is not None:
            self._party.receive(Run(memoryview(datagram)), source)
            self._tick_party(self._ticks)

    def _schedule_tick(self, time: float) -> None:
        self._ticks += 1
        number = self._ticks
        self._network.at(time, lambda: self._tick_party(number))

    def _tick_party(self, number: int) -> None:
        if self._party is None or number != self._ticks:
            return
        due = self._party.tick()
        if due is not None:
            self._schedule_tick(due)
