"""Several engines in virtual time: links take exactly their time, runs repeat, however they are driven."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import pytest

from olafctl.membership.model import Member
from olafctl.targets import testbeds
from olafctl.targets.interface import Running, TimedFrame
from olafctl.testbed.model import Testbed
from olafctl.wire.frames import Endpoint
from olafctl.wire.layouts import FrameType
from olaflab.frames import OlafFrame
from olaflab.pipeline.twin import deployed
from tests.targets.conftest import why_not

BED = Path(__file__).parents[1] / "packets" / "two-engines.yaml"
NS_PER_CYCLE = 4
LINK_NS = 2_000
LINK_RATE = 10
"""bit/ns."""


@dataclass(frozen=True)
class Pair:
    testbed: Testbed
    running: Running

    def update(self, worker: Member, seq: int) -> bytes:
        server = self.testbed.parameter_servers[0]
        ends = [Endpoint(host.mac, host.ip, host.udp_port) for host in (worker, server)]
        gradient = np.full(30, seq, np.float32)
        return OlafFrame(ends[0], ends[1], FrameType.UPDATE, 0, 1, seq, 1.0, seq, gradient).encode()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    if reason := why_not("twin"):
        pytest.skip(reason)
    bed = testbeds.load(BED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OLAF_STATE", str(tmp_path_factory.mktemp("n")))
        with deployed(bed, lambda step: None) as running:
            yield Pair(bed, running)


def traffic(pair: Pair) -> list[TimedFrame]:
    """Updates of all asynchronous workers, often at the same time."""
    random = Random(5)
    workers = [worker for cluster in pair.testbed.clusters[:2] for worker in cluster.workers]
    time, frames = 0, []
    for seq in range(400):
        time += random.choice((0, 1, 4, 30, 200, 5000))
        worker = random.choice(workers)
        frames.append(TimedFrame(time, worker.port, pair.update(worker, seq)))
    return frames


def test_a_link_takes_the_time_to_send_a_frame_and_its_delay(pair: Pair) -> None:
    red = pair.testbed.clusters[0]
    far, near = red.workers[0], red.workers[2]
    times = {}
    for worker in (far, near):
        [left] = pair.running.replay(iter([TimedFrame(1_000, worker.port, pair.update(worker, 1))]))
        times[worker] = left.time - 1_000
    sending = len(pair.update(far, 1)) * 8 / LINK_RATE
    # Both queues are empty and of the same width: the far one adds what the near one takes, to a cycle.
    assert abs(times[far] - (2 * times[near] + sending + LINK_NS)) <= NS_PER_CYCLE


def test_runs_repeat_exactly(pair: Pair) -> None:
    frames = traffic(pair)
    first, second = (list(pair.running.replay(iter(frames))) for _ in range(2))
    assert first == second
    assert [left.time for left in first] == sorted(left.time for left in first)


def test_it_does_not_matter_how_far_each_step_goes(pair: Pair) -> None:
    frames = traffic(pair)
    random = Random(6)
    left: list[TimedFrame] = []
    with closing(pair.running.virtual_time()) as session:
        for frame in frames:
            session.arrive(frame)
            if random.random() < 0.3:
                left += session.advance(frame.time).left
        time, waiting = frames[-1].time, True
        while waiting:
            time += random.choice((1, 100, 3_000))
            step = session.advance(time)
            left, waiting = [*left, *step.left], step.next is not None
    assert left == list(pair.running.replay(iter(frames)))
