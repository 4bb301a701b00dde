"""On the wall clock: limited rates take their time, windows pass, and waiting costs no processor time."""

import time
from pathlib import Path

import pytest

from olafctl.queue.registers import CLOCK_HZ, rate_word
from olafctl.targets import processes
from olafctl.targets.interface import of_root
from olafctl.wire.modes import Mode

from .conftest import SOON, Live, update
from .test_live import FIRST, PS, UPLINK


@pytest.fixture(autouse=True)
def as_it_was(live: Live) -> None:
    of_root(live.running.queues).write("clear", 1)


def seconds_of_processor(live: Live) -> float:
    ticks = 0
    for process in processes.find_processes(live.state):
        fields = (Path("/proc") / str(process.pid) / "stat").read_text().rpartition(")")[2].split()
        if "simple_switch" not in (Path("/proc") / str(process.pid) / "comm").read_text():
            ticks += int(fields[11]) + int(fields[12])
    return ticks / 100


def test_the_queues_clock_keeps_pace_while_an_update_waits(live: Live) -> None:
    registers, worker = of_root(live.running.queues), live.testbed.workers[0]
    registers.write("mode", Mode.FIFO.number)
    registers.write("rate", rate_word(10_000))
    try:
        for seq in range(3):
            live.ports[FIRST].send(update(live.testbed, worker, seq))
        assert live.ports[PS].receive(SOON) is not None
        cycle, begin = registers.read("cycle"), time.monotonic()
        assert live.ports[PS].receive(SOON) is not None
        assert live.ports[PS].receive(SOON) is not None
        passed = (registers.read("cycle") - cycle) % 2**32 / CLOCK_HZ
        # Two frames of 1024 bits take 0.2 s on the queue's clock, and on the wall's.
        assert passed == pytest.approx(time.monotonic() - begin, rel=0.25)
    finally:
        registers.write("rate", 0)
        registers.write("mode", Mode.OLAF.number)


def test_while_updates_are_held_nothing_spins_and_bypass_flows(live: Live) -> None:
    registers = of_root(live.running.queues)
    registers.write("hold", 1)
    try:
        live.ports[FIRST].send(update(live.testbed, live.testbed.workers[0], 1))
        gateway = bytes.fromhex(live.testbed.hosts[0].mac.replace(":", ""))
        other = gateway + bytes(6) + b"\x88\xb6" + bytes(50)
        live.ports[FIRST].send(other)
        assert live.ports[UPLINK].receive(SOON) == other
        before = seconds_of_processor(live)
        assert live.ports[PS].receive(0.6) is None
        assert seconds_of_processor(live) - before < 0.3
    finally:
        registers.write("hold", 0)
    assert live.ports[PS].receive(SOON) is not None


def test_a_cluster_is_active_for_its_window_of_real_time(live: Live) -> None:
    registers = of_root(live.running.queues)
    window = registers.read("active_window")
    registers.write("active_window", 2**31 - 1)
    live.ports[FIRST].send(update(live.testbed, live.testbed.workers[0], 1))
    assert live.ports[PS].receive(SOON) is not None
    assert registers.read("active_clusters") == 1
    registers.write("active_window", 250_000)
    live.ports[FIRST].send(update(live.testbed, live.testbed.workers[0], 2))
    assert live.ports[PS].receive(SOON) is not None
    assert live.ports[PS].receive(0.05) is None
    assert registers.read("active_clusters") == 0
    registers.write("active_window", window)
