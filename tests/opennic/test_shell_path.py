"""From CMAC to CMAC and host through the shell's own RTL, the frames are those that the twin sends."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from olafctl.targets.opennic import plugin
from olafctl.targets.opennic.registers import HOST_ETHER_TYPE, HOST_HEADER_BYTES
from olafctl.wire.layouts import CPU_PORT
from olaftest.opennic.random_frames import (
    QUEUE,
    Twin,
    blank_status,
    compile_blocks,
    prepare_box,
    program_box,
    random_frame,
)
from tests.opennic.shell_box import (
    FIRST_QUEUE,
    QUEUES,
    RX_DROPPED,
    RX_ERRORS,
    RX_RECEIVED,
    TX_DROPPED,
    TX_SENT,
    ShellBox,
    count_gaps,
    wrap_shell,
)
from tests.opennic.test_plugin import P4, SHELL, needs_shell

pytestmark = needs_shell
WORKER_MAC, STRANGER_MAC = bytes.fromhex("020000000001"), bytes.fromhex("020000000099")
Sent = tuple[int, bytes]


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[ShellBox]:
    rtl = wrap_shell(Path(SHELL).resolve(), plugin.assemble_plugin(QUEUE, P4), tmp_path)
    made = ShellBox(QUEUE, compile_blocks(), rtl, seed=4)
    program_box(made)
    prepare_box(made)
    yield made
    made.close()


def to_worker(size: int, number: int) -> bytes:
    """Return a frame that the box bridges to port 1."""
    return (WORKER_MAC + STRANGER_MAC + b"\x12\x34" + bytes([number])).ljust(size, bytes([number]))


def test_the_shells_wrong_sizes_do_no_harm(shell: ShellBox) -> None:
    """After a receive error the shell repeats the size of the frame before; the box measures sizes itself."""
    sizes = [100, 150, 90, 70, 1500, 64, 9036, 60]
    frames = [to_worker(size, number) for number, size in enumerate(sizes)]
    for number, frame in enumerate(frames):
        shell.rx[1].send(frame, [int(number == 1)])
    shell.settle()
    good = [frame for number, frame in enumerate(frames) if number != 1]
    seen = shell.seen[1].frames()
    assert [frame.data for frame in seen] == good
    noted = [frame.user[0] for frame in seen]
    assert noted == [100, *sizes[1:-1]], "the shell's fault is gone: the docs and the plug-in may be simpler"
    left = shell.tx[0].frames()
    assert [frame.data for frame in left] == good
    assert count_gaps(left) == 0, "a CMAC cannot wait inside of a frame"
    assert shell.counted(1, RX_ERRORS) == shell.counted(1, RX_DROPPED) == 1


def test_random_frames_leave_as_from_the_twin(shell: ShellBox) -> None:
    traffic = Traffic(shell, seed=14)
    for _ in range(20):
        traffic.send_batch(frames=16, busy=[0.0, 0.0, 0.2, 0.6])
    assert traffic.lost == sum(traffic.overrun) == 0
    assert traffic.errors > 10
    assert all(traffic.left[port] > 10 for port in (1, 2, CPU_PORT))


def test_frames_that_outrun_the_outputs_are_lost_whole(shell: ShellBox) -> None:
    traffic = Traffic(shell, seed=15)
    for _ in range(2):
        traffic.send_batch(frames=300, busy=[0.95])
    assert traffic.lost > 0


def test_frames_that_outrun_the_box_are_lost_in_the_adapters(shell: ShellBox) -> None:
    """Both CMACs send at 165 Gb/s."""
    traffic = Traffic(shell, seed=16)
    traffic.send_batch(frames=600, busy=[0.0], paced=False)
    assert all(traffic.overrun)
    assert shell.uncounted(0) > 0, "the shell counts every frame that it drops: the docs may be simpler"


class Traffic:
    """Random frames into every input; each batch is matched with its output."""

    def __init__(self, shell: ShellBox, seed: int) -> None:
        self._shell, self._pick, self._twin = shell, random.Random(seed), Twin()
        self._sent = 0
        self._good, self._bad, self._passed = [0, 0], [0, 0], [0, 0]
        self._from_host = self._nowhere = 0
        self.lost = 0
        """The good frames that were lost."""
        self.left: Counter[int] = Counter()
        """The frames that left, by port."""

    @property
    def overrun(self) -> list[int]:
        """The good frames that the receive adapters did not pass on, by port."""
        return [good - passed for good, passed in zip(self._good, self._passed, strict=True)]

    @property
    def errors(self) -> int:
        """The number of frames sent with a receive error."""
        return sum(self._bad)

    def send_batch(self, frames: int, busy: Sequence[float], paced: bool = True) -> None:
        """Send frames, let all come to rest, and account for each; ``busy`` are the pauses of the outputs."""
        shell, pick = self._shell, self._pick
        for sink in (*shell.tx, shell.c2h, shell.completions):
            sink.pause(pick.choice(busy))
        for source in (*shell.rx, shell.h2c):
            source.pause(pick.choice([0.0, 0.2, 0.5] if paced else [0.0]))
        came: list[list[bytes]] = [[], []]
        due: list[list[Sent]] = []
        for _ in range(frames):
            port, kind = pick.randrange(2), pick.randrange(20)
            frame = random_frame(pick, self._sent)
            self._sent += 1
            if kind < 2:
                shell.rx[port].send(frame, [1])
                self._bad[port] += 1
            elif kind == 2:
                header = bytes(12) + HOST_ETHER_TYPE.to_bytes(2, "big") + (port + 1).to_bytes(2, "big")
                shell.from_host(header + frame)
                self._from_host += 1
                due.append([(port + 1, blank_status(frame))])
            else:
                shell.rx[port].send(frame, [0])
                came[port].append(frame)
            if paced and pick.randrange(3) == 0:
                shell.run_cycles(pick.choice([100, 600]))
        shell.settle()
        for port, good in enumerate(came):
            passed = [frame.data for frame in shell.seen[port].frames()]
            assert is_subsequence(passed, good), "a receive adapter changed, invented or reordered a frame"
            due += [
                [(out, blank_status(one)) for out, one in self._twin.run_frame(port + 1, each)]
                for each in passed
            ]
            self._good[port] += len(good)
            self._passed[port] += len(passed)
        self._trace_frames(due)
        self._compare_frames()

    def _trace_frames(self, due: Sequence[Sequence[Sent]]) -> None:
        """Check that each frame that left was expected, and that all copies of a frame left or none."""
        have = Counter(collect_leaving(self._shell))
        for (port, _), number in have.items():
            self.left[port] += number
        for copies in due:
            here = Counter(copies) & have
            have -= here
            assert here.total() in (0, len(copies)), "some copies of a frame left and some did not"
            self.lost += here.total() < len(copies)
            self._nowhere += not copies
        assert not have, "a frame left that the twin does not send"

    def _compare_frames(self) -> None:
        """Check the counters of the shell, the box and the queue against the frames."""
        shell, box = self._shell, self._shell.registers.counters()
        for port in range(2):
            kept_back = self._bad[port] + self._good[port] - self._passed[port]
            assert shell.counted(port, RX_RECEIVED) == self._passed[port] == box[f"in_port_{port}"]
            assert shell.counted(port, RX_DROPPED) + shell.uncounted(port) == kept_back
            assert shell.counted(port, TX_SENT) == self.left[port + 1] == box[f"out_port_{port}"]
            assert shell.counted(port, TX_DROPPED) == 0
        queue = shell.queue.read_all()
        dropped = queue["dropped_full"] + queue["dropped_bypass"] + box["dropped_punt"]
        # The queue may also drop frames that the twin's VNP4₂ sends nowhere.
        assert self.lost <= dropped <= self.lost + self._nowhere
        assert box["in_host"] == self._from_host
        assert box["out_host"] == self.left[CPU_PORT]
        assert box["in_vnp4_1"] == sum(self._passed) + self._from_host
        assert not sum(
            number for name, number in box.items() if name.startswith(("oversize", "malformed", "cut"))
        )


def is_subsequence(some: Sequence[bytes], frames: Sequence[bytes]) -> bool:
    """Return whether ``some`` are frames of ``frames``, in the same order."""
    rest = iter(frames)
    return all(one in rest for one in some)


def collect_leaving(shell: ShellBox) -> Iterator[Sent]:
    """Yield all frames that left, with the port; the host's in the control plane's form."""
    for number, sink in enumerate(shell.tx):
        for frame in sink.frames():
            yield number + 1, blank_status(frame.data)
    frames = shell.c2h.frames()
    assert [frame.user for frame in frames] == list(shell.completed())
    for frame in frames:
        size, queue = frame.user
        assert size == len(frame.data)
        assert FIRST_QUEUE <= queue < FIRST_QUEUE + QUEUES
        yield CPU_PORT, frame.data[HOST_HEADER_BYTES - 2 :]
