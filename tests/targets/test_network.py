"""Several engines in virtual time: links take exactly their time, and runs repeat, however driven."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from olafctl.targets import testbeds
from olafctl.targets.interface import Running, TimedFrame
from olafctl.testbed.model import Testbed
from olaftest.deployment import deployed_testbed
from tests.targets.conftest import need_target, update

BED = Path(__file__).parents[1] / "packets" / "two-engines.yaml"
NS_PER_CYCLE = 4
LINK_NS = 2_000
LINK_RATE = 10
"""The rate in bit/ns."""


@dataclass(frozen=True)
class ComparedPair:
    testbed: Testbed
    running: Running


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComparedPair]:
    need_target("twin")
    bed = testbeds.load_testbed(BED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OLAF_STATE", str(tmp_path_factory.mktemp("n")))
        with deployed_testbed(bed, lambda step: None) as running:
            yield ComparedPair(bed, running)


def traffic(pair: ComparedPair) -> list[TimedFrame]:
    """Return updates of all asynchronous workers, often at the same time."""
    random = Random(5)
    workers = [worker for cluster in pair.testbed.clusters[:2] for worker in cluster.workers]
    time, frames = 0, []
    for seq in range(400):
        time += random.choice((0, 1, 4, 30, 200, 5000))
        worker = random.choice(workers)
        frames.append(TimedFrame(time, worker.port, update(pair.testbed, worker, seq)))
    return frames


def test_a_link_takes_the_time_to_send_a_frame_and_its_delay(pair: ComparedPair) -> None:
    red = pair.testbed.clusters[0]
    far, near = red.workers[0], red.workers[2]
    times = {}
    for worker in (far, near):
        [left] = pair.running.replay(iter([TimedFrame(1_000, worker.port, update(pair.testbed, worker, 1))]))
        times[worker] = left.time - 1_000
    sending = len(update(pair.testbed, far, 1)) * 8 / LINK_RATE
    # Both queues are empty and of the same width: the far one adds the near one's time, to a cycle.
    assert abs(times[far] - (2 * times[near] + sending + LINK_NS)) <= NS_PER_CYCLE


def test_it_does_not_matter_how_far_each_step_goes(pair: ComparedPair) -> None:
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
