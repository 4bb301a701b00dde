"""A deployed pipeline moves frames as the testbed says, on every target alike."""

import time

import numpy as np
import pytest

from olafctl.membership.model import Host, Member
from olafctl.queue.registers import IndexSettings
from olafctl.targets.interface import of_root
from olafctl.wire.frames import Endpoint
from olafctl.wire.layouts import FrameType
from olafctl.wire.modes import Mode
from olaflab.frames import OlafFrame
from olafswitch.errors import OlafError

from .conftest import Live

SOON = 60.0
NEVER = 0.2
PS, FIRST, SECOND, UPLINK = 1, 2, 3, 4


def endpoint(host: Host) -> Endpoint:
    return Endpoint(host.mac, host.ip, host.udp_port)


def update(live: Live, worker: Member, seq: int, value: float) -> bytes:
    gradient = np.full(16, value, np.float32)
    ends = endpoint(worker), endpoint(live.testbed.parameter_servers[0])
    return OlafFrame(*ends, FrameType.UPDATE, 0, 1, seq, 1.0, seq, gradient).encode()


def ack(live: Live, worker: Member) -> bytes:
    ends = endpoint(live.testbed.parameter_servers[0]), endpoint(worker)
    return OlafFrame(*ends, FrameType.ACK, 0, 1, 7, 1.0, 7, np.zeros(0, np.float32)).encode()


@pytest.fixture(autouse=True)
def quiet_and_clear(live: Live) -> None:
    for port in live.ports.values():
        assert port.receive(0.0) is None
    of_root(live.running.queues).write("clear", 1)


def test_an_update_reaches_the_parameter_server_unchanged(live: Live) -> None:
    frame = update(live, live.testbed.workers[0], 1, 0.5)
    live.ports[FIRST].send(frame)
    assert live.ports[PS].receive(SOON) == frame


def test_held_updates_of_two_workers_leave_as_one(live: Live) -> None:
    first, second = live.testbed.workers
    registers = of_root(live.running.queues)
    registers.write("hold", 1)
    try:
        live.ports[FIRST].send(update(live, first, 1, 1.0))
        live.ports[SECOND].send(update(live, second, 2, 2.0))
        assert live.ports[PS].receive(NEVER) is None
    finally:
        registers.write("hold", 0)
    frame = live.ports[PS].receive(SOON)
    assert frame is not None
    merged = OlafFrame.decode(frame)
    assert merged.count == 2
    assert merged.gradient.tolist() == [3.0] * 16
    counted = registers.read_all()
    assert (counted["in_updates"], counted["merged"], counted["out_updates"]) == (2, 1, 1)


def test_an_ack_reaches_every_worker_of_the_cluster(live: Live) -> None:
    live.ports[PS].send(ack(live, live.testbed.workers[0]))
    for number, worker in zip((FIRST, SECOND), live.testbed.workers, strict=True):
        frame = live.ports[number].receive(SOON)
        assert frame is not None
        received = OlafFrame.decode(frame)
        assert received.destination == endpoint(worker)
        assert received.status is not None
        assert received.status["slots"] == live.testbed.root.slots
    assert live.ports[UPLINK].receive(NEVER) is None


def test_a_jumbo_frame_bypasses_untouched(live: Live) -> None:
    gateway = live.testbed.hosts[0]
    frame = bytes.fromhex(gateway.mac.replace(":", "")) + bytes(6) + b"\x86\xdd" + bytes(range(250)) * 36
    live.ports[FIRST].send(frame)
    assert live.ports[UPLINK].receive(SOON) == frame


def test_registers_are_named(live: Live) -> None:
    registers = of_root(live.running.queues)
    assert registers.read("slots") == live.testbed.root.slots
    for act in (lambda: registers.read("slot"), lambda: registers.write("slots", 3)):
        with pytest.raises(OlafError):
            act()
    before = registers.read("active_window")
    registers.write("active_window", 12345)
    assert registers.read("active_window") == 12345
    registers.write("active_window", before)


def test_a_range_of_indices_is_set_and_read_in_one_request(live: Live) -> None:
    registers, indices = of_root(live.running.queues), live.testbed.root.indices
    before = registers.settings()
    rounds = IndexSettings(Mode.ISWITCH, threshold=2, reward_enable=1, reward_threshold=0x3F800000)
    registers.configure(1, 3, rounds)
    settings = {n: part.settings for part in registers.settings() for n in range(part.first, part.last + 1)}
    assert [index for index in range(indices) if settings[index] == rounds] == [1, 2, 3]
    for part in before:
        registers.configure(part.first, part.last, part.settings)
    assert registers.settings() == before
    with pytest.raises(OlafError, match=f"indices 0 … {indices}"):
        registers.configure(0, indices, rounds)
    with pytest.raises(OlafError, match="threshold"):
        registers.configure(0, 0, IndexSettings(Mode.ISWITCH, threshold=0))
    assert registers.settings() == before


def test_bursts_arrive_whole_and_in_order(live: Live) -> None:
    gateway = live.testbed.hosts[0]
    head = bytes.fromhex(gateway.mac.replace(":", "")) + bytes(6) + b"\x88\xb5"
    # No larger than what BMv2's packet ring certainly holds.
    for burst in range(10):
        frames = [head + bytes([burst, number]) + bytes(200) for number in range(25)]
        for frame in frames:
            live.ports[FIRST].send(frame)
        assert [live.ports[UPLINK].receive(SOON) for _ in frames] == frames


def test_what_runs_is_found_again(live: Live) -> None:
    found = live.target.find(live.testbed, live.state)
    assert found is not None
    assert found.alive()
    assert [device.address for device in found.devices] == [device.address for device in live.running.devices]
    assert all(log.exists() for log in found.logs())


def test_a_queue_refuses_an_earlier_controller(live: Live) -> None:
    earlier, later = (live.target.find(live.testbed, live.state) for _ in range(2))
    assert earlier is not None
    assert later is not None
    now = time.time_ns()
    for name, registers in earlier.queues.items():
        registers.elect(now)
        registers.write("hold", 0)
        later.queues[name].elect(now + 1)
        with pytest.raises(OlafError, match="another controller is primary"):
            registers.write("hold", 1)
        assert later.queues[name].read("hold") == 0
