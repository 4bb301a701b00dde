"""An engine at the level of events: Algorithm 1 of the paper in a few lines, so that measuring can be
tested without Verilog. It decides in no time and sends at the configured rate."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from olafctl.queue.registers import REGISTERS, Access, Command, IndexSettings, rate_of
from olafctl.queue.settings import Ranges, ranges
from olafctl.targets.interface import Device, Registers, TimedFrame
from olafctl.testbed.model import Testbed
from olafctl.wire.modes import Mode
from olaflab.frames import OlafFrame
from olafswitch.ports.attachment import Attachment
from olafswitch.ports.capture import Listener
from olafswitch.ports.host import HostPort


@dataclass
class _Waiting:
    frame: OlafFrame
    index: int
    worker: object
    replaceable: bool = True


class StandIn:
    """A Running target, and its own registers."""

    devices: Sequence[Device] = ()
    attachments: Sequence[Attachment] = ()

    def __init__(self, testbed: Testbed) -> None:
        self.permit: Callable[[], None] = lambda: None
        self._testbed = testbed
        self._values = {register.name: 0 for register in REGISTERS}
        self._workers = {worker.ip: worker for worker in testbed.workers}
        self._first = {cluster.name: cluster.first for cluster in testbed.clusters}
        self._settings = [IndexSettings()] * testbed.root.indices

    def elect(self, election_id: int | None) -> None:
        pass  # nobody else is there

    @property
    def queues(self) -> Mapping[str, Registers]:
        return {"engine": self}

    def alive(self) -> bool:
        return True

    def host_port(self, number: int) -> HostPort:
        raise AssertionError("it has no ports")

    def listen(self, number: int) -> Listener:
        raise AssertionError("it has no ports")

    def logs(self) -> Sequence[Path]:
        return ()

    def read(self, name: str) -> int:
        return self._values[name]

    def write(self, name: str, value: int) -> None:
        self._values[name] = value

    def read_all(self) -> dict[str, int]:
        return dict(self._values)

    def settings(self) -> Ranges:
        return ranges(self._settings)

    def configure(self, first: int, last: int, settings: IndexSettings) -> None:
        self._settings[first : last + 1] = [settings] * (last - first + 1)

    def command(self, command: Command, first: int, last: int) -> None:
        raise NotImplementedError

    def replay(self, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]:
        self._values.update({register.name: 0 for register in REGISTERS if register.access is Access.COUNTER})
        queue: list[_Waiting] = []
        leaves = 0  # when the head, if there is one, has left
        for arriving in frames:
            while queue and leaves <= arriving.time:
                yield self._out(queue, leaves)
                if queue:
                    leaves += self._service(queue[0])
            self._enqueue(queue, OlafFrame.decode(arriving.frame))
            if len(queue) == 1 and leaves <= arriving.time:
                leaves = arriving.time + self._service(queue[0])
        while queue:
            yield self._out(queue, leaves)
            if queue:
                leaves += self._service(queue[0])

    def _service(self, waiting: _Waiting) -> int:
        bits = 8 * len(waiting.frame.encode())
        rate = rate_of(self._values["rate"])
        return round(bits / rate * 1e9) if rate else 1

    def _out(self, queue: list[_Waiting], time: int) -> TimedFrame:
        self._values["out_updates"] += 1
        return TimedFrame(time, self._testbed.parameter_servers[0].port, queue.pop(0).frame.encode())

    def _enqueue(self, queue: list[_Waiting], frame: OlafFrame) -> None:
        """The head is leaving already, so only what waits behind it can be combined with."""
        self._values["in_updates"] += 1
        index = self._first[self._workers[frame.source.ip].cluster] + frame.segment
        mate = next((waiting for waiting in queue[1:] if waiting.index == index), None)
        if mate is None or self._settings[index].mode == Mode.FIFO:
            if len(queue) == self._testbed.root.slots:
                self._values["dropped_full"] += 1
                return
            self._values["appended"] += 1
            queue.append(_Waiting(frame, index, frame.source.ip))
        elif mate.replaceable and mate.worker == frame.source.ip:
            self._values["replaced_worker"] += 1
            mate.frame = frame
        else:
            self._values["merged"] += 1
            mate.replaceable = False
            mate.frame = replace(
                frame,
                flags=1,
                count=mate.frame.count + frame.count,
                gradient=mate.frame.gradient + frame.gradient,
            )
