"""In virtual time the target software sends the same frames as the twin, at the same times."""

import dataclasses
import random
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from olafctl import paths
from olafctl.targets import testbeds
from olafctl.targets.interface import Running, TimedFrame, of_root
from olafctl.testbed.model import Testbed
from olafctl.wire.layouts import FrameType
from olaftest.frames import OlafFrame, endpoint_of
from tests.targets.conftest import started

FRAMES = 1500
RATE = 20 << 16
"""5 Gb/s: updates that come wait."""
STEP = 100
SHIPPED = sorted(path.stem for path in (paths.sources() / "testbeds").glob("*.yaml"))
QUICK = ("laptop", "two-racks")
"""The testbeds of one engine and of several; `make test-all` has all others."""


def _traffic(bed: Testbed, gap: int) -> Sequence[TimedFrame]:
    """Return updates of all workers, some back to back, and answers of the parameter server, by time."""
    import numpy as np

    pick, time, made = random.Random(7), 0, list[TimedFrame]()
    server = bed.parameter_servers[0]
    for seq in range(FRAMES):
        time += pick.choice((0, 20, gap, 3 * gap))
        worker = pick.choice(bed.workers)
        values = np.full(48, seq + 0.5, np.float32)
        back = pick.random() < 0.2
        kind = FrameType.ACK if back else FrameType.UPDATE
        source, to = (server, worker) if back else (worker, server)
        ends = endpoint_of(source), endpoint_of(to)
        frame = OlafFrame(*ends, kind, 0, 1, seq, float(seq % 5), time, values).encode()
        made.append(TimedFrame(time, source.port, frame))
    return made


@contextmanager
def _engine(name: str, bed: Testbed, state: Path) -> Iterator[Running]:
    with started(dataclasses.replace(bed, target=name), name, state) as running:
        of_root(running.queues).write("rate", RATE)
        yield running


def _in_steps(running: Running, frames: Sequence[TimedFrame]) -> Sequence[TimedFrame]:
    """Return the frames that leave when the engine runs to the time of every third frame, before and after
    it, and then from one time at which a frame may leave to the next."""
    left: list[TimedFrame] = []
    with closing(running.virtual_time()) as engine:
        for number, frame in enumerate(frames):
            if number % 3 == 0:
                left += engine.advance(frame.time).left
            engine.arrive(frame)
            if number % 3 == 0:
                left += engine.advance(frame.time).left
        step = engine.advance(frames[-1].time)
        left += step.left
        while (seen := step.next) is not None:
            step = engine.advance(seen + STEP)
            assert all(item.time >= seen for item in step.left)
            left += step.left
        assert engine.spent.engine > 0
        assert engine.spent.messages > 0
    return left


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in SHIPPED]
)
def test_the_same_frames_leave_at_the_same_times(name: str, tmp_path: Path) -> None:
    bed = testbeds.load_testbed(testbeds.locate_testbed(name))
    frames = _traffic(bed, 40)
    with _engine("twin", bed, tmp_path / "twin") as running:
        twin = list(running.replay(iter(frames)))
    assert len(twin) > FRAMES // 10
    with _engine("software", bed, tmp_path / "software") as running:
        assert list(running.replay(iter(frames))) == twin
        assert _in_steps(running, frames) == twin
