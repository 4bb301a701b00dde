"""In virtual time the target software lets the frames go that the twin does."""

import dataclasses
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from olafctl.targets import registry, testbeds
from olafctl.targets.interface import Running, TimedFrame, of_root
from olafctl.testbed.model import Testbed
from olafctl.wire.frames import Endpoint
from olafctl.wire.layouts import FrameType
from olaflab.frames import OlafFrame
from tests.targets.conftest import program, quietly

FRAMES = 1500


def _traffic(bed: Testbed, gap: int) -> Sequence[TimedFrame]:
    """Updates of all workers, some back to back, and answers of the parameter server, by time."""
    import numpy as np

    pick, time, made = random.Random(7), 0, list[TimedFrame]()
    server = bed.parameter_servers[0]
    to = Endpoint(server.mac, server.ip, server.udp_port)
    for seq in range(FRAMES):
        time += pick.choice((0, 20, gap, 3 * gap))
        worker = pick.choice(bed.workers)
        its = Endpoint(worker.mac, worker.ip, worker.udp_port)
        values = np.full(48, seq + 0.5, np.float32)
        back = pick.random() < 0.2
        kind = FrameType.ACK if back else FrameType.UPDATE
        ends = (to, its) if back else (its, to)
        frame = OlafFrame(*ends, kind, 0, 1, seq, float(seq % 5), time, values).encode()
        made.append(TimedFrame(time, server.port if back else worker.port, frame))
    return made


def _through(
    name: str, bed: Testbed, frames: Sequence[TimedFrame], state: Path, rate: int
) -> Sequence[TimedFrame]:
    target = registry.get(name)
    bed = dataclasses.replace(bed, target=name)
    running: Running = target.start(bed, target.build(bed, quietly), state, quietly)
    try:
        program(running, bed)
        of_root(running.queues).write("rate", rate)
        return list(running.replay(iter(frames)))
    finally:
        target.stop(state)


@pytest.mark.parametrize("name", ["laptop", "two-racks"])
def test_the_same_frames_leave_at_the_same_times(name: str, tmp_path: Path) -> None:
    bed = testbeds.load(testbeds.locate(name))
    frames = _traffic(bed, 40)
    twin, software = (
        _through(target, bed, frames, tmp_path / target, rate=20 << 16) for target in ("twin", "software")
    )
    assert len(twin) > FRAMES // 10
    assert software == twin
    assert software == _through("software", bed, frames, tmp_path / "again", rate=20 << 16)
