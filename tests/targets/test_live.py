"""The facilities of every target besides moving frames, which packet tests test: registers, being found."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import cycle

import pytest

from olafctl.control.desired import desired_state
from olafctl.control.devices import control_devices, converge_state
from olafctl.queue.registers import IndexSettings
from olafctl.targets.interface import of_root
from olafctl.wire.modes import Mode
from olafswitch.errors import OlafError

from .conftest import SOON, Live

PS, FIRST, SECOND, UPLINK = 1, 2, 3, 4


@pytest.fixture(autouse=True)
def quiet_and_clear(live: Live) -> None:
    for port in live.ports.values():
        assert port.receive(0.0) is None
    of_root(live.running.queues).write("clear", 1)


def test_a_jumbo_frame_bypasses_untouched(live: Live) -> None:
    gateway = live.testbed.hosts[0]
    frame = bytes.fromhex(gateway.mac.replace(":", "")) + bytes(6) + b"\x86\xdd" + bytes(range(250)) * 36
    live.ports[FIRST].send(frame)
    assert live.ports[UPLINK].receive(SOON) == frame


def test_frames_pass_while_a_controller_writes(live: Live) -> None:
    """A worker leaves and joins until 100 changes are written; a stranger's frames all arrive, in order."""
    (cluster,) = live.testbed.clusters
    smaller = desired_state(live.testbed, [replace(cluster, workers=cluster.workers[:-1])])
    whole = desired_state(live.testbed)

    def write_changes() -> int:
        written = 0
        with control_devices(live.running) as sessions:
            for wanted in cycle([smaller, whole]):
                written += converge_state(live.running, sessions, wanted).size
                if wanted is whole and written >= 100:
                    return written
        raise AssertionError

    head = bytes.fromhex(live.testbed.hosts[0].mac.replace(":", "")) + bytes(6) + b"\x86\xdd"
    with ThreadPoolExecutor(1) as pool:
        changes = pool.submit(write_changes)
        sent = 0
        while not changes.done():
            frames = [head + number.to_bytes(4, "big") * 50 for number in range(sent, sent + 8)]
            for frame in frames:
                live.ports[FIRST].send(frame)
            assert [live.ports[UPLINK].receive(SOON) for _ in frames] == frames
            sent += len(frames)
    assert changes.result() >= 100
    assert sent


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
