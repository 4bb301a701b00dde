"""A job that follows another at the same addresses, by its epoch, meets none of its updates in the queue."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from olafctl.control import handover
from olafctl.control.deploy import DeployOutcome, deploy_testbed, find_deployment
from olafctl.control.store import Store, folder_of
from olafctl.membership.model import default_mac
from olafctl.queue.registers import Command, rate_word
from olafctl.targets import testbeds
from olafctl.targets.interface import Running, of_root
from olafctl.testbed.model import Testbed
from olafctl.wire.frames import Endpoint
from olafctl.wire.layouts import FrameType
from olafswitch.errors import OlafError
from olafswitch.ports.host import HostPort, open_host_port
from olaftest.daemon.switch_pair import PairRegisters
from olaftest.frames import OlafFrame, endpoint_of

RACK = """
name: rack
engine: {{indices: 16, slots: 8, beats: 24, address: 10.0.0.250}}
ports:
  - {{number: 1, name: ps, transport: unix}}
  - {{numbers: 2-3, name: tor, transport: unix}}
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters:
  - name: rounds
    mode: iswitch
    epoch: {epoch}
    workers: [{{name: r0, port: 2, ip: 10.0.1.1}}, {{name: r1, port: 3, ip: 10.0.1.2}}]
  - name: gradients
    epoch: {epoch}
    workers: [{{name: g0, port: 2, ip: 10.0.2.1}}, {{name: g1, port: 3, ip: 10.0.2.2}}]
"""
SOON = 60.0


class Rack:
    """The deployed testbed and its hosts' ports."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports: dict[int, HostPort] = {}
        self.running: Running
        self.testbed: Testbed

    def deploy(self, epoch: int) -> DeployOutcome:
        self.testbed = testbeds.load_testbed(self._folder / "rack.yaml", RACK.format(epoch=epoch))
        outcome = deploy_testbed(self.testbed, lambda step: None)
        found = find_deployment(Store(folder_of("rack")))[1]
        assert found is not None
        self.running = found
        if not self._ports:
            self._ports = {each.number: open_host_port(each) for each in found.attachments}
        return outcome

    def send(self, worker: str, epoch: int, seq: int, value: float) -> None:
        """Send an update of 16 times ``value``: a contribution to round ``seq``."""
        found = next(each for each in self.testbed.workers if each.name == worker)
        address = self.testbed.root.address
        server = self.testbed.parameter_servers[0]
        assert address is not None
        to = (
            Endpoint(default_mac(address), address, 20300)
            if worker[0] == "r"
            else Endpoint(server.mac, server.ip, 20300)
        )
        gradient = np.full(16, value, np.float32)
        frame = OlafFrame(
            endpoint_of(found), to, FrameType.UPDATE, 0, 1, seq, 0.0, seq, gradient, epoch=epoch
        )
        self._ports[found.port].send(frame.encode())

    def received(self, port: int) -> tuple[int, int, int, float]:
        """Return the epoch, the round, the count and the value of the next frame there."""
        frame = self._ports[port].receive(SOON)
        assert frame is not None
        got = OlafFrame.decode(frame)
        return got.epoch, got.seq, got.count, float(got.gradient[0])

    def taken(self, updates: int) -> None:
        """Wait until the queue has taken this many updates."""
        while of_root(self.running.queues).read("in_updates") < updates:
            pass

    def close(self) -> None:
        for port in self._ports.values():
            port.close()


@pytest.fixture
def rack(state: Path, tmp_path: Path) -> Iterator[Rack]:
    made = Rack(tmp_path)
    made.deploy(epoch=3)
    yield made
    made.close()


def test_a_partial_sum_of_the_job_before_is_in_no_result(rack: Rack) -> None:
    rack.send("r0", 3, 0, 100.0)
    rack.taken(1)
    assert rack.deploy(epoch=4).started is False
    rack.send("r0", 3, 0, 1000.0)  # this update is late
    for worker, value in (("r0", 1.0), ("r1", 2.0)):
        rack.send(worker, 4, 0, value)
    assert [rack.received(port) for port in (2, 3)] == [(4, 0, 2, 3.0)] * 2


def test_rounds_of_the_job_before_are_made_by_the_new_one(rack: Rack) -> None:
    for epoch in (3, 4):
        for number in range(3):
            for worker in ("r0", "r1"):
                rack.send(worker, epoch, number, epoch)
            assert [rack.received(port) for port in (2, 3)] == [(epoch, number, 2, 2.0 * epoch)] * 2
        rack.deploy(epoch=4)


def test_what_waits_has_left_before_the_new_job_is_let_in(rack: Rack) -> None:
    of_root(rack.running.queues).write("rate", rate_word(4000))  # each takes a third of a second
    for seq in (1, 2, 3):
        rack.send("g0", 3, seq, 100.0)
    rack.taken(3)
    rack.deploy(epoch=4)
    assert of_root(rack.running.queues).read("occupancy") == 0
    rack.send("g1", 4, 1, 1.0)
    left: list[tuple[int, int, int, float]] = []
    while not left or left[-1][0] == 3:
        left.append(rack.received(1))
    assert {value for epoch, *_, value in left if epoch == 3} == {100.0}
    assert left[-1] == (4, 1, 1, 1.0)


def test_a_deploy_of_the_same_job_keeps_its_partial_sums(rack: Rack) -> None:
    rack.send("r0", 3, 0, 1.0)
    rack.taken(1)
    of_root(rack.running.queues).write("rate", 1 << 20)  # this is something to repair
    assert rack.deploy(epoch=3).changes.size == 1
    rack.send("r1", 3, 0, 2.0)
    assert [rack.received(port) for port in (2, 3)] == [(3, 0, 2, 3.0)] * 2


class Draining(PairRegisters):
    """A queue of 5 updates, 2 of them partial sums; one more leaves at each read."""

    def __init__(self, leaving: int) -> None:
        super().__init__(16)
        self.write("hold", 1)
        self._left = iter(range(leaving))
        self._out = 100

    def read_all(self) -> dict[str, int]:
        if self.read("hold") == 0 and next(self._left, None) is not None:
            self._out += 1
        return {"occupancy": 5, "accumulating": 2, "out_updates": self._out}


def test_it_waits_for_the_updates_that_waited_and_no_later_ones() -> None:
    queue = Draining(leaving=4)
    handover.clear_ranges(queue, [(0, 3), (8, 8)], "queue")
    assert queue.commands == [(Command.RESET, 0, 3), (Command.RESET, 8, 8)]
    assert queue.read_all()["out_updates"] == 100 + 4


def test_updates_that_do_not_leave_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "_PATIENCE", 0.05)
    with pytest.raises(OlafError, match="queue of lab: updates of an earlier job wait"):
        handover.clear_ranges(Draining(leaving=2), [(0, 0)], "queue of lab")
