"""A queue alone as a Running target, Verilated or in C++: what the two P4 blocks would say is said here."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from olafctl.queue.software import build_software_queue
from olafctl.targets.interface import Registers, TargetDevice, TimedFrame
from olafctl.testbed.model import Testbed
from olafctl.wire import layouts
from olafctl.wire.layouts import FrameKind
from olafswitch.ports.attachment import Attachment
from olaftest.queue.model import CYCLE_NS, AnyQueue, Sidecar
from olaftest.queue.registers import LoneRegisters

_SOURCE = slice(26, 30)
_SEGMENT = slice(60, 62)


class LoneQueue:
    """Each replay goes through one queue; register settings are made once, before."""

    devices: Sequence[TargetDevice] = ()
    attachments: Sequence[Attachment] = ()

    def __init__(self, testbed: Testbed, model: AnyQueue) -> None:
        self.model = model
        self._port = testbed.parameter_servers[0].port
        self._workers = {worker.ip.packed: worker for worker in testbed.workers}

        self._number = {cluster.name: cluster.number for cluster in testbed.clusters}
        self._first = {cluster.name: cluster.first for cluster in testbed.clusters}

    @property
    def queues(self) -> Mapping[str, Registers]:
        return {"engine": LoneRegisters(self.model.registers)}

    def alive(self) -> bool:
        return True

    def logs(self) -> Sequence[Path]:
        return ()

    def replay(self, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]:
        self.model.registers.write("clear", 1)
        origin = self.model.cycle + 1
        for timed in frames:
            worker = self._workers[timed.frame[_SOURCE]]
            cycle = origin + timed.time // CYCLE_NS
            sidecar = Sidecar(
                size=len(timed.frame),
                kind=FrameKind.UPDATE,
                cluster=self._number[worker.cluster],
                index=self._first[worker.cluster] + int.from_bytes(timed.frame[_SEGMENT], "big"),
                member=worker.number,
                worker=worker.replica,
            )
            self.model.offer(sidecar, timed.frame, cycle)
            self.model.run(cycle)
            yield from self._left(origin)
        self.model.settle(10_000_000)
        yield from self._left(origin)

    def _left(self, origin: int) -> Iterator[TimedFrame]:
        for departure in self.model.take_departures():
            yield TimedFrame((departure.last + 1 - origin) * CYCLE_NS, self._port, departure.frame)


assert layouts.ETHERNET.size + layouts.IPV4.offset("src_addr") // 8 == _SOURCE.start


def in_cpp(testbed: Testbed) -> LoneQueue:
    """Make a new queue in C++ of the testbed's one engine."""
    return LoneQueue(testbed, AnyQueue(build_software_queue(testbed.root.geometry)))
