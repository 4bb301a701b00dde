"""A running engine as the medium of the SDK's virtual network, and programs in its time."""

import threading
from collections import Counter
from collections.abc import Callable
from ipaddress import IPv4Address

from olaf.transport.port import Address
from olaf.transport.virtual import VirtualNetwork

from olafctl.membership.model import Host, default_mac
from olafctl.targets.interface import TimedFrame, VirtualTime
from olafctl.testbed.model import Testbed
from olafctl.wire.frames import Datagram, Endpoint
from olafswitch.errors import BadInput, Problem

NS = 1_000_000_000
DELAY = 50_000
"""ns between a host and the engine: some cable, a NIC and a kernel."""


class EngineMedium:
    """Carries each datagram as an Ethernet frame through the engine; a host takes what is addressed to it."""

    def __init__(self, engine: VirtualTime, testbed: Testbed, delay: int = DELAY) -> None:
        """``engine`` is at virtual time 0 and serves ``testbed``; ``delay`` in ns, above 0."""
        self._engine, self._delay = engine, delay
        everyone = (*testbed.parameter_servers, *testbed.workers, *testbed.hosts)
        self._hosts = {host.ip: host for host in everyone}
        self._macs = {host.ip: host.mac for host in everyone}
        if testbed.root.address is not None:
            self._macs[testbed.root.address] = default_mac(testbed.root.address)
        self._due: int | None = None
        self.refused: Counter[str] = Counter()
        """Frames that a host's network card or kernel would not accept, by reason."""

    def carry(self, network: VirtualNetwork, source: Address, to: Address, datagram: bytes, tos: int) -> None:
        """Carry what a port has sent. Raises BadInput for an address that the testbed does not have."""
        begin = self._find_host(source[0])
        frame = Datagram(
            Endpoint(begin.mac, begin.ip, source[1]),
            Endpoint(self._find_mac(to[0]), IPv4Address(to[0]), to[1]),
            datagram,
            tos,
        )
        arrives = _nanoseconds(network) + self._delay
        self._engine.arrive(TimedFrame(arrives, begin.port, frame.encode()))
        self._step_at(network, arrives + self._delay)

    def _step_at(self, network: VirtualNetwork, time: int) -> None:
        if self._due is None or time < self._due:
            self._due = time
            network.at(time / NS, lambda: self._step_engine(network, time))

    def _step_engine(self, network: VirtualNetwork, time: int) -> None:
        if time != self._due:
            return  # there was an earlier one instead
        self._due = None
        advanced = self._engine.advance(time + self._delay)
        for left in advanced.left:
            self._deliver_frame(network, left)
        if advanced.next is not None:
            self._step_at(network, advanced.next + self._delay)

    def _deliver_frame(self, network: VirtualNetwork, left: TimedFrame) -> None:
        try:
            received = Datagram.decode(left.frame)
        except ValueError as error:
            self.refused[str(error)] += 1
            return
        host = self._hosts.get(received.destination.ip)
        if host is None or (host.port, host.mac) != (left.port, received.destination.mac):
            self.refused[f"addressed to {received.destination.mac} at port {left.port}"] += 1
            return
        source = str(received.source.ip), received.source.port
        to = str(host.ip), received.destination.port
        network.arrive((left.time + self._delay) / NS, source, to, received.body)

    def _find_host(self, ip: str) -> Host:
        host = self._hosts.get(IPv4Address(ip))
        if host is None:
            raise BadInput(Problem(f"no host has the address {ip}", "testbed", "add it under hosts"))
        return host

    def _find_mac(self, ip: str) -> str:
        """Find a MAC address, as the host's neighbour table has it."""
        mac = self._macs.get(IPv4Address(ip))
        if mac is None:
            raise BadInput(Problem(f"no host has the address {ip}", "testbed", "add it under hosts"))
        return mac


def address_of(host: Host) -> Address:
    """Return the address of a testbed's host in the virtual network."""
    return str(host.ip), host.udp_port


def _nanoseconds(network: VirtualNetwork) -> int:
    return round(network.time * NS)


class Script:
    """One program."""

    def __init__(self, network: VirtualNetwork, program: Callable[["Script"], None]) -> None:
        """``program`` begins when ``begin`` is called, and must call ``sleep`` from its own thread."""
        self._network = network
        self._program = program
        self._go, self._paused = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run_program, daemon=True)
        self._failure: BaseException | None = None
        self.done = False

    def begin(self, time: float) -> None:
        """Start at virtual ``time`` in seconds; what the program raises is raised by the simulation."""
        self._network.at(time, self._start_thread)

    def sleep(self, seconds: float) -> None:
        """Go on so much later in virtual time."""
        self._network.at(self._network.time + seconds, self._resume_thread)
        self._paused.release()
        self._go.acquire()

    def _start_thread(self) -> None:
        self._thread.start()
        self._resume_thread()

    def _resume_thread(self) -> None:
        self._go.release()
        self._paused.acquire()
        if self._failure is not None:
            raise self._failure

    def _run_program(self) -> None:
        self._go.acquire()
        try:
            self._program(self)
        except BaseException as failure:  # raised where the simulation runs
            self._failure = failure
        self.done = True
        self._paused.release()
