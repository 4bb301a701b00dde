"""From CMAC to CMAC and host through the shell's own RTL: what leaves is what leaves the twin."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from olafctl.bench.box import QUEUE, Twin, blank, compiled, prepare, random_frame
from olafctl.targets.opennic import plugin
from olafctl.targets.opennic.registers import HOST_ETHER_TYPE, HOST_HEADER_BYTES
from olafctl.wire.layouts import CPU_PORT
from tests.opennic.shell_box import (
    FIRST_QUEUE,
    QUEUES,
    RX_DROPPED,
    RX_ERRORS,
    RX_RECEIVED,
    TX_DROPPED,
    TX_SENT,
    ShellBox,
    around,
    gaps,
)
from tests.opennic.test_plugin import SHELL, needs_shell, p4

pytestmark = needs_shell
WORKER_MAC, STRANGER_MAC = bytes.fromhex("020000000001"), bytes.fromhex("020000000099")
Sent = tuple[int, bytes]


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[ShellBox]:
    rtl = around(Path(SHELL).resolve(), plugin.make(QUEUE, p4()), tmp_path)
    made = ShellBox(QUEUE, compiled(), rtl, seed=4)
    prepare(made)
    yield made
    made.close()


def to_worker(size: int, number: int) -> bytes:
    """A frame that the box bridges to port 1."""
    return (WORKER_MAC + STRANGER_MAC + b"\x12\x34" + bytes([number])).ljust(size, bytes([number]))


def test_the_shells_wrong_sizes_do_no_harm(shell: ShellBox) -> None:
    """After a receive error the shell gives frames the size of the one before; the box measures its own."""
    sizes = [100, 150, 90, 70, 1500, 64, 9036, 60]
    frames = [to_worker(size, number) for number, size in enumerate(sizes)]
    for number, frame in enumerate(frames):
        shell.rx[1].send(frame, [int(number == 1)])
    shell.settle()
    good = [frame for number, frame in enumerate(frames) if number != 1]
    seen = shell.seen[1].frames()
    assert [frame.data for frame in seen] == good
    told = [frame.user[0] for frame in seen]
    assert told == [100, *sizes[1:-1]], "the shell's fault is gone: the docs and the plug-in may be simpler"
    left = shell.tx[0].frames()
    assert [frame.data for frame in left] == good
    assert gaps(left) == 0, "a CMAC cannot wait inside of a frame"
    assert shell.counted(1, RX_ERRORS) == shell.counted(1, RX_DROPPED) == 1


def test_random_frames_leave_as_from_the_twin_and_each_is_accounted_for(shell: ShellBox) -> None:
    pick, twin = random.Random(14), Twin()
    sent = errors = 0
    for _ in range(20):
        for sink in (*shell.tx, shell.c2h, shell.completions):
            sink.pause(pick.choice([0.0, 0.0, 0.2, 0.6]))
        for source in (*shell.rx, shell.h2c):
            source.pause(pick.choice([0.0, 0.2, 0.5]))
        came: list[list[bytes]] = [[], []]
        due: list[list[Sent]] = []
        for _ in range(16):
            frame, port, sent = random_frame(pick, sent), pick.randrange(2), sent + 1
            kind = pick.randrange(20)
            if kind < 2:
                shell.rx[port].send(frame, [1])
                errors += 1
            elif kind == 2:
                header = bytes(12) + HOST_ETHER_TYPE.to_bytes(2, "big") + (port + 1).to_bytes(2, "big")
                shell.from_host(header + frame)
                due.append([(port + 1, blank(frame))])
            else:
                shell.rx[port].send(frame, [0])
                came[port].append(frame)
            if pick.randrange(3) == 0:
                shell.run(pick.choice([100, 600]))
        shell.settle()
        for port, frames in enumerate(came):
            passed = [frame.data for frame in shell.seen[port].frames()]
            assert follows(passed, frames), "a receive adapter changed, invented or reordered a frame"
            print("adapter", port, len(frames), len(passed))
            due += [[(out, blank(one)) for out, one in twin.sends(port + 1, frame)] for frame in passed]
        trace(shell, due)
        print({n: [shell.counted(n, c) for c in (RX_RECEIVED, RX_DROPPED, RX_ERRORS, TX_SENT, TX_DROPPED)] for n in range(2)}, sent, errors)
    print(shell.registers.counters(), shell.queue.read_all())


def follows(some: list[bytes], frames: list[bytes]) -> bool:
    """Whether ``some`` are frames of ``frames``, in the same order."""
    rest = iter(frames)
    return all(one in rest for one in some)


def leaves(shell: ShellBox) -> Iterator[Sent]:
    """All frames that left, with the port; the host's as the control plane sees them."""
    for number, sink in enumerate(shell.tx):
        for frame in sink.frames():
            yield number + 1, blank(frame.data)
    completed = list(shell.completed())
    frames = shell.c2h.frames()
    assert [frame.user for frame in frames] == completed
    for frame in frames:
        size, queue = frame.user
        assert size == len(frame.data)
        assert FIRST_QUEUE <= queue < FIRST_QUEUE + QUEUES
        yield CPU_PORT, frame.data[HOST_HEADER_BYTES - 2 :]


def trace(shell: ShellBox, due: list[list[Sent]]) -> None:
    have = Counter(leaves(shell))
    missing = 0
    for copies in due:
        here = Counter(copies) & have
        have -= here
        assert here.total() in (0, len(copies)), "some copies of a frame left and some did not"
        missing += here.total() < len(copies)
    assert not have, "a frame left that the twin does not send"
    print("missing", missing, "due", len(due))
