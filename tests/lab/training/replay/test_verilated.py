"""The paper's microbenchmark through the Verilog queue itself, without the P4 around it."""

from pathlib import Path

import pytest

from olafctl.queue.verilate import build_queue
from olafctl.wire.geometry import Geometry
from olafctl.wire.modes import Mode
from olaflab.papers.olaf.demo.experiment import TOGETHER, in_turn
from olaflab.training.replay import trace as traces
from olaflab.training.replay.run import Measurement, Setting, clusters_of, relative_reduction, replay_trace
from olaflab.training.replay.trace import ReplayLoad, schedule_updates
from olaftest.queue.model import QueueModel
from tests.lab.training.replay import small
from tests.lab.training.replay.lone_queue import LoneQueue

IN_TURN = in_turn()[0]


@pytest.fixture(scope="module")
def library() -> Path:
    return build_queue(Geometry())


@pytest.mark.parametrize(
    ("load", "rate", "fresher"),
    [(IN_TURN, 40, 0.6), (IN_TURN, 20, 0.7), (TOGETHER, 40, 0.45), (TOGETHER, 20, 0.6), (TOGETHER, 5, 0.7)],
)
def test_olaf_loses_five_times_less_and_is_fresher(
    library: Path, load: ReplayLoad, rate: int, fresher: float
) -> None:
    fifo, olaf = (_measure_queue(library, load, mode, rate * 10**9) for mode in (Mode.FIFO, Mode.OLAF))
    assert fifo.violations == olaf.violations == ()
    assert 5 * olaf.lost <= fifo.lost
    less = relative_reduction(fifo.average_age, olaf.average_age)
    assert less is not None and less > fresher


def _measure_queue(library: Path, load: ReplayLoad, mode: Mode, rate: int) -> Measurement:
    testbed, trace = small.small_testbed("nine-clusters"), traces.load_trace(small.SHIPPED)
    plan = schedule_updates(trace, clusters_of(testbed), load)
    with QueueModel(library) as model:
        return replay_trace(
            LoneQueue(testbed, model), testbed, trace, plan, load.blocks, Setting(mode, rate)
        ).measurement
