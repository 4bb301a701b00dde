"""The Verilated queue alone as a Running target: what the two P4 blocks would say is said here."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from olafctl.ports.attachment import Attachment
from olafctl.queue.model import CYCLE_NS, QueueModel, Sidecar
from olafctl.targets.interface import Device, Registers, TimedFrame
from olafctl.testbed.model import Testbed
from olafctl.wire import layouts
from olafctl.wire.layouts import Kind

_SOURCE = slice(26, 30)
_BATCH = 2048


class VerilatedQueue:
    """Each replay goes through one queue; register settings are made once, before."""

    devices: Sequence[Device] = ()
    attachments: Sequence[Attachment] = ()

    def __init__(self, testbed: Testbed, model: QueueModel) -> None:
        self._model = model
        self._port = testbed.parameter_servers[0].port
        self._workers = {worker.ip.packed: worker for worker in testbed.workers}

    @property
    def registers(self) -> Registers:
        return self._model.registers

    def alive(self) -> bool:
        return True

    def logs(self) -> Sequence[Path]:
        return ()

    def replay(self, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]:
        self._model.registers.write("clear", 1)
        origin = self._model.cycle + 1
        for timed in frames:
            worker = self._workers[timed.frame[_SOURCE]]
            cycle = origin + timed.time // CYCLE_NS
            sidecar = Sidecar(
                size=len(timed.frame), kind=Kind.UPDATE, cluster=worker.cluster, worker=worker.member
            )
            self._model.offer(sidecar, timed.frame, cycle)
            self._model.run(cycle)
            yield from self._left(origin)
        self._model.settle(10_000_000)
        yield from self._left(origin)

    def _left(self, origin: int) -> Iterator[TimedFrame]:
        for departure in self._model.take():
            yield TimedFrame((departure.last + 1 - origin) * CYCLE_NS, self._port, departure.frame)


assert layouts.ETHERNET.size + layouts.IPV4.offset("src_addr") // 8 == _SOURCE.start
