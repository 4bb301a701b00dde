"""One processor receives for all hosts of a deployment, and threads of an engine stay off it."""

import os
import subprocess
import threading
from pathlib import Path

import pytest

from olafctl.network import interfaces, steering
from olafctl.network.interfaces import VethPair
from olafswitch.ports.host import InterfaceHostPort

SOON = 60.0
HEAD = bytes(12) + b"\x88\xb5"
BURST = 200

several_processors = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="only one processor")
as_root = pytest.mark.skipif(interfaces.why_not() is not None, reason=str(interfaces.why_not()))


@as_root
@several_processors
def test_one_processor_receives_for_every_host(state: Path) -> None:
    names = ["worker1", "worker2"]
    interfaces.create_pairs(
        state, [VethPair(interfaces.interface_of(state, f"p{n}"), name) for n, name in enumerate(names)]
    )
    receiver = interfaces.receiver_of(state)
    assert receiver in os.sched_getaffinity(0)
    for name in names:
        output = read(state, f"/sys/class/net/{name}/queues/rx-0/rps_cpus")
        assert int(output.replace(",", ""), 16) == 1 << receiver


@as_root
def test_frames_to_a_host_keep_their_order(state: Path) -> None:
    inner = interfaces.interface_of(state, "p1")
    interfaces.create_pairs(state, [VethPair(inner, "worker1")])
    near, far = InterfaceHostPort(inner), InterfaceHostPort("worker1", interfaces.namespace_of(state))
    for begin in range(0, 10 * BURST, BURST):
        burst = [HEAD + number.to_bytes(4, "big") + bytes(42) for number in range(begin, begin + BURST)]
        for frame in burst:
            near.send(frame)
        assert [far.receive(SOON) for _ in burst] == burst


@several_processors
def test_only_what_starts_within_avoids_the_processor() -> None:
    usable = os.sched_getaffinity(0)
    kept_off = min(usable)
    with steering.keep_off(kept_off):
        assert affinity_of_a_new_thread() == usable - {kept_off}
    assert affinity_of_a_new_thread() == usable
    with steering.keep_off(None):
        assert affinity_of_a_new_thread() == usable


def test_the_same_deployment_always_has_the_same_processor() -> None:
    chosen = {key: steering.choose_processor(key) for key in ("00", "01", "ff")}
    assert all(steering.choose_processor(key) == one for key, one in chosen.items())
    if len(os.sched_getaffinity(0)) > 1:
        assert chosen["00"] != chosen["01"]


@pytest.mark.parametrize(("number", "text"), [(0, "1"), (5, "20"), (31, "80000000"), (40, "100,00000000")])
def test_sysfs_takes_processors_in_groups_of_32(number: int, text: str) -> None:
    assert steering.processor_mask(number) == text


def affinity_of_a_new_thread() -> set[int]:
    """Return the processors on which a thread that is started now may run."""
    found: set[int] = set()
    thread = threading.Thread(target=lambda: found.update(os.sched_getaffinity(0)))
    thread.start()
    thread.join()
    return found


def read(state: Path, file: str) -> str:
    """Return a file as the namespace of ``state`` sees it."""
    command = ["ip", "netns", "exec", interfaces.namespace_of(state), "cat", file]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
