"""The path out to a port: congestion holds frames back, and a dead port loses frames and nothing else."""

import random

import pytest

from olafswitch.simulation.bench import Bench, Signals, Sink, Source
from tests.opennic.conftest import MakeBench

SIDEBAND = [("m_tuser_size", 16), ("m_tuser_src", 16), ("m_tuser_dst", 16)]


def connect_ends(this: Bench) -> tuple[Source, Sink]:
    return this.source(Signals.axis("s", [("s_size", 16)])), this.sink(Signals.axis("m", SIDEBAND))


@pytest.mark.parametrize("idle, busy", [(0.0, 0.0), (0.3, 0.7)])
def test_frames_leave_with_size_and_destination(bench: MakeBench, idle: float, busy: float) -> None:
    pick = random.Random(2)
    this = bench("olaf_box_tx", PORT=1, STALL_CYCLES=300)
    source, sink = connect_ends(this)
    source.pause(idle)
    sink.pause(busy)
    frames = [pick.randbytes(pick.choice([1, 60, 64, 65, 1500, 9600])) for _ in range(80)]
    for frame in frames:
        source.send(frame, [len(frame)])
    while source.pending:
        this.run_cycles(500)
    this.run_cycles(3000)
    assert [(frame.data, frame.user) for frame in sink.frames()] == [
        (frame, (len(frame), 0, 1 << 7)) for frame in frames
    ]
    assert this["resting"] == 1


def test_a_port_that_does_not_move_drops_what_has_no_room(bench: MakeBench) -> None:
    this = bench("olaf_box_tx", PORT=1, STALL_CYCLES=300)
    source, sink = connect_ends(this)
    sink.pause(1)
    for _ in range(20):
        source.send(bytes(9600), [9600])
    this.run_cycles(250)
    waiting = source.pending
    this.run_cycles(50)
    assert source.pending == waiting > 0, "the input must wait before the port counts as stalled"
    dropped = 0
    for _ in range(4000):
        this.run_cycles(1)
        dropped += this["dropped_stalled"]
    assert source.pending == 0
    sink.pause(0)
    this.run_cycles(400)
    assert len(sink.frames()) + dropped == 20
    source.send(bytes(100), [100])
    this.run_cycles(50)
    assert len(sink.frames()) == 1
