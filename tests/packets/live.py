"""A live deployment seen from its hosts: send and receive real frames, in a known order, without sleeping.

A barrier sends a broadcast marker from every front port and waits until the markers have come out at all the
others. A port's frames stay in order, so after a barrier every earlier frame has reached the queue, and every
update that had left the queue has arrived.
"""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet

from olafctl.control import devices
from olafctl.control.deploy import current_testbed, recorded_testbed
from olafctl.control.pipeline import REFUSALS, VNP4_1
from olafctl.control.store import Store
from olafctl.daemon.keeping import LocalClient
from olafctl.membership.model import Cluster, Host, Member
from olafctl.queue.registers import DISPOSITIONS, Command
from olafctl.targets.interface import Registers, Running, device_name, of_root
from olafctl.targets.settings import configured
from olafctl.testbed.model import Testbed
from olafctl.testbed.topology import Topology
from olafctl.wire.layouts import Refusal
from olafctl.wire.modes import Mode
from olafswitch.p4runtime.entities import TableEntry
from olafswitch.ports.host import HostPort
from olafswitch.ports.transport import Transport

DEADLINE = 60.0
"""The seconds after which an event that must happen counts as missing."""
MARKER = 0x88B6
"""An EtherType for local experiments (IEEE 802)."""
STRANGER_MAC = "02:00:99:99:99:99"
BROADCAST = "ff:ff:ff:ff:ff:ff"

_MARKER_HEADER = bytes(Ether(src=STRANGER_MAC, dst=BROADCAST, type=MARKER))

Arrivals = dict[int, list[bytes]]
"""Frames by the front port at which they arrived, in order."""


class Counted(dict[str, int]):
    """The growth of each of the queue's counters."""


@dataclass
class Live:
    """A deployment: its testbed, its running target, and the hosts' sides of its front ports."""

    store: Store
    testbed: Testbed
    running: Running

    def __post_init__(self) -> None:
        self._hosts: dict[int, HostPort] = {
            attachment.number: self.running.host_port(attachment.number)
            for attachment in self.running.attachments
            if attachment.transport is not Transport.NIC
        }
        self._inbox: Arrivals = {number: [] for number in self._hosts}
        self._nonces = itertools.count(time.time_ns())
        everyone = (*self.testbed.parameter_servers, *self.testbed.workers, *self.testbed.hosts)
        self._senders = {STRANGER_MAC, *(host.mac for host in everyone)}

    def close(self) -> None:
        for port in self._hosts.values():
            port.close()

    # The hosts

    @property
    def server(self) -> Host:
        return self.testbed.parameter_servers[0]

    @property
    def merging(self) -> Sequence[Cluster]:
        """The clusters of which every engine merges all updates."""
        return [cluster for cluster in self.testbed.clusters if self._merges(cluster)]

    @property
    def served(self) -> Sequence[Cluster]:
        """The clusters whose members send to the parameter server: their updates are merged, or not."""
        return [each for each in self.testbed.clusters if not self.testbed.mode_of(each).sums]

    def _merges(self, cluster: Cluster) -> bool:
        engines = self.testbed.engines
        modes = {engine.mode_of(cluster) for engine in engines}
        rewards = {engine.reward_of(cluster) for engine in engines}
        return modes == {Mode.OLAF} and rewards == {None} and cluster.staleness_bound is None

    def cluster(self, workers: int, nth: int = 0, *, merging: bool = True) -> Cluster:
        """Return the ``nth`` cluster of at least this many workers, of those that merge, or of all that are
        served. Skip the test when there are fewer."""
        of = self.merging if merging else self.served
        fitting = [cluster for cluster in of if len(cluster.workers) >= workers]
        if nth >= len(fitting):
            pytest.skip(f"needs {nth + 1} clusters of {workers} workers{' of mode olaf' * merging}")
        return fitting[nth]

    @property
    def ports(self) -> Sequence[int]:
        return tuple(self._hosts)

    @property
    def engine(self) -> Host:
        """The host to which members of iswitch clusters send."""
        assert self.testbed.engine_host is not None
        return self.testbed.engine_host

    @property
    def slots(self) -> int:
        """The slots of the only queue. Skips the test where shards have a part each."""
        if self.testbed.shards > 1:
            pytest.skip("is about the slots of one queue, and the engine has shards")
        return self.testbed.root.slots

    def round_cluster(self, workers: int = 1, segments: int = 1) -> Cluster:
        """Return a cluster of mode iswitch. Skip the test when none has that size, or several engines share
        in its rounds."""
        assert self.registers is not None
        for cluster in self.testbed.clusters:
            mode = self.testbed.mode_of(cluster)
            rounds = mode is Mode.ISWITCH and cluster.h == len(cluster.workers)
            if rounds and len(cluster.workers) >= workers and cluster.segments >= segments:
                return cluster
        pytest.skip(f"needs a cluster of mode iswitch with {workers} workers and {segments} segments")

    def reset_rounds(self) -> None:
        """Discard every partial sum and forget every round, in every engine."""
        for cluster in self.testbed.clusters:
            if self.testbed.mode_of(cluster).sums:
                for registers in self.queues.values():
                    registers.command(Command.RESET, cluster.first, last_index(cluster))

    def device(self, host: Host, block: str) -> str:
        """Return the name of the device of ``host``'s engine that runs ``block``."""
        return device_name(self.testbed, Topology(self.testbed).home(host), block)

    def ask(self, call: str, **fields: Any) -> Any:
        """Change clusters or members as a command does where no daemon runs, and read the testbed again."""
        answer = LocalClient(self.store).call(call, **fields)
        self.look()
        return answer

    def look(self) -> None:
        """Read the testbed again, with its present members."""
        self.testbed = current_testbed(self.store)

    @property
    def changed(self) -> bool:
        """Whether the members differ from those of the testbed's text."""
        return self.testbed.workers != recorded_testbed(self.store).workers

    # Frames in and out

    def send(self, host: Host, frame: Packet | bytes) -> None:
        """Send a frame from the place of ``host``."""
        self.send_at(host.port, frame)

    def send_at(self, port: int, frame: Packet | bytes) -> None:
        """Send a frame into a front port."""
        self._hosts[port].send(bytes(frame))

    def barrier(self) -> None:
        """Wait until every frame sent before has reached the queue, and all that had left it has arrived."""
        markers = {port: _MARKER_HEADER + next(self._nonces).to_bytes(50, "big") for port in self.ports}
        for sender, marker in markers.items():
            self.send_at(sender, marker)
        for receiver in self.ports:
            self._read_until(receiver, {marker for port, marker in markers.items() if port != receiver})

    def arrivals(self) -> Arrivals:
        """Return the frames since the last call, after a barrier and with the queue at rest except for
        partial sums; only ports with frames are named."""
        for name, registers in self.queues.items():
            self.barrier()
            if not registers.read("hold"):
                self.wait(lambda now: now["resident_updates"] == now["accumulating"], name)
        self.barrier()
        taken = {number: frames for number, frames in self._inbox.items() if frames}
        self._inbox = {number: [] for number in self._hosts}
        return taken

    def exchange(self, *sent: tuple[Host, Packet | bytes]) -> Arrivals:
        """Send frames in order, each in the queue before the next, and return the frames that arrive."""
        for host, frame in sent:
            self.send(host, frame)
            self.barrier()
        return self.arrivals()

    def expect(self, port: int, frame: bytes) -> None:
        """Read a port until ``frame`` arrives. Fail after the deadline."""
        self._read_until(port, {frame})

    def receive(self, port: int, timeout: float = DEADLINE) -> bytes | None:
        """Return the next frame at a port; None when none arrives within ``timeout`` seconds."""
        return self._hosts[port].receive(timeout)

    def next_message(self, worker: Member) -> bytes:
        """Return the payload of the next control message for a worker. Fail after the deadline."""
        end = time.monotonic() + DEADLINE
        while True:
            frame = self._hosts[worker.port].receive(max(end - time.monotonic(), 0))
            assert frame is not None, f"no message for {worker.name} within {DEADLINE} s"
            packet = Ether(frame)
            if packet.dst == worker.mac and IP in packet and packet[IP].tos == self.testbed.control_tos:
                return bytes(packet[UDP].payload)

    # The queues

    @property
    def queues(self) -> Mapping[str, Registers]:
        """The registers of every engine's queue, by its name, each before its parent's."""
        return dict(reversed([*self.running.queues.items()]))

    @property
    def registers(self) -> Registers:
        """The registers of the only queue. Skips the test where there are several engines."""
        return self._queue("")

    @contextmanager
    def held(self, *engines: str) -> Iterator[None]:
        """Let no update begin to leave these engines' queues, or the only one's, inside the context."""
        with self.settings(*engines, hold=1):
            yield

    @contextmanager
    def settings(self, *engines: str, **values: int) -> Iterator[None]:
        """Give global registers of these engines' queues, or of the only one, other values inside."""
        queues = [self._queue(name) for name in engines or ("",)]
        before = [{name: registers.read(name) for name in values} for registers in queues]
        try:
            for registers in queues:
                for name, value in values.items():
                    registers.write(name, value)
            yield
        finally:
            for registers, known in zip(queues, before, strict=True):
                for name, value in known.items():
                    registers.write(name, value)

    @contextmanager
    def configured(self, *clusters: Cluster, **values: Any) -> Iterator[None]:
        """Give the indices of ``clusters``, or of all that merge, other settings inside the context."""
        spans = [(each.first, last_index(each)) for each in clusters or self.merging]
        with configured(self.registers, spans, **values):
            yield

    @contextmanager
    def counting(self, engine: str = "") -> Iterator[Counted]:
        """Yield the growth of the counters of an engine's queue, or of the only one; it is known
        afterwards."""
        registers = self._queue(engine)
        before = registers.read_all()
        grown = Counted()
        yield grown
        now = registers.read_all()
        grown.update({name: now[name] - before[name] for name in now})

    @contextmanager
    def refusing(self, engine: str = "") -> Iterator[Counter[Refusal]]:
        """Yield the frames that VNP4₁ of an engine, or of the only one, refused, by reason, known after the
        context."""
        self._queue(engine)
        before = self.refused(engine)
        grown: Counter[Refusal] = Counter()
        yield grown
        grown.update(self.refused(engine) - before)

    def refused(self, engine: str = "") -> Counter[Refusal]:
        """Return how many frames VNP4₁ of an engine, or of the only one, has refused, by reason."""
        device = device_name(self.testbed, engine or self.testbed.root.name, VNP4_1)
        with devices.watch_devices(self.running) as sessions:
            counted = sessions[device].direct_counters(REFUSALS)
        packets = {entry.key: count.packets for entry, count in counted.items()}
        entries = {reason: TableEntry(REFUSALS, {"reason": reason}, "refuse") for reason in Refusal}
        return Counter({reason: packets[entry.key] for reason, entry in entries.items()})

    def wait(self, reached: Callable[[dict[str, int]], bool], engine: str = "") -> dict[str, int]:
        """Read the registers until ``reached`` holds. Fail after the deadline."""
        end = time.monotonic() + DEADLINE
        registers = self._queue(engine)
        while not reached(now := registers.read_all()):
            assert time.monotonic() < end, f"not reached within {DEADLINE} s; registers: {now}"
        return now

    def assert_conserved(self) -> None:
        """Check that every update that came into a queue has left, was combined or dropped, or is in it."""
        for registers in self.queues.values():
            now = registers.read_all()
            accounted = now["out_updates"] + now["merged"] + now["resident_updates"]
            assert now["in_updates"] == accounted + sum(now[name] for name in DISPOSITIONS)

    def _queue(self, engine: str) -> Registers:
        if engine:
            return self.queues[engine]
        if len(self.testbed.engines) > 1:
            pytest.skip("is about one queue, and the testbed has several engines")
        return of_root(self.running.queues)

    def _read_until(self, port: int, marks: Set[bytes]) -> None:
        """Read a port until all of ``marks`` came; frames of our hosts go to the inbox, the kernel's own are
        dropped."""
        end = time.monotonic() + DEADLINE
        missing = set(marks)
        while missing:
            frame = self._hosts[port].receive(max(end - time.monotonic(), 0))
            assert frame is not None, f"nothing more at port {port} within {DEADLINE} s"
            if frame in missing:
                missing.remove(frame)
            elif frame[12:14] != MARKER.to_bytes(2, "big") and frame[6:12].hex(":") in self._senders:
                self._inbox[port].append(frame)


def last_index(cluster: Cluster) -> int:
    """Return the last of a cluster's indices."""
    return cluster.first + cluster.segments - 1


def udp(source: Host | Member, destination: Host, dport: int, sport: int | None = None) -> Packet:
    """Return Ethernet, IPv4 and UDP without a checksum, from one host to another."""
    return (
        Ether(src=source.mac, dst=destination.mac)
        / IP(src=str(source.ip), dst=str(destination.ip))
        / UDP(sport=source.udp_port if sport is None else sport, dport=dport, chksum=0)
    )
