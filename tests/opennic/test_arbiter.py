"""The arbiter passes whole frames in turn; none is lost or mixed."""

import random

import pytest

from olafswitch.simulation.bench import Bench, Signals, Sink, Source
from tests.opennic.conftest import MakeBench

INPUTS = 3
USER = (("s_tuser", 16),)


def connect_ends(this: Bench) -> tuple[list[Source], Sink]:
    sources = [this.source(Signals.axis("s", USER, lane)) for lane in range(INPUTS)]
    return sources, this.sink(Signals.axis("m", [("m_tuser", 16)]))


@pytest.mark.parametrize("idle, busy", [(0.0, 0.0), (0.6, 0.1), (0.1, 0.5)])
def test_every_frame_leaves_whole_and_in_its_inputs_order(bench: MakeBench, idle: float, busy: float) -> None:
    pick = random.Random(1)
    this = bench("olaf_box_arbiter", INPUTS=INPUTS, USER_BITS=16)
    sources, sink = connect_ends(this)
    sent: list[list[bytes]] = [[] for _ in range(INPUTS)]
    for lane, source in enumerate(sources):
        source.pause(idle)
        for _ in range(100):
            frame = pick.randbytes(pick.choice([1, 64, 65, 700, 1500]))
            sent[lane].append(frame)
            source.send(frame, [lane])
    sink.pause(busy)
    while any(source.pending for source in sources):
        this.run_cycles(500)
    this.run_cycles(100)
    got: list[list[bytes]] = [[] for _ in range(INPUTS)]
    for left in sink.frames():
        got[left.user[0]].append(left.data)
    assert got == sent


def test_inputs_take_turns(bench: MakeBench) -> None:
    this = bench("olaf_box_arbiter", INPUTS=INPUTS, USER_BITS=16)
    sources, sink = connect_ends(this)
    for lane in (0, 1, 2):
        for _ in range(20):
            sources[lane].send(bytes(200), [lane])
    this.run_cycles(300)
    order = [frame.user[0] for frame in sink.frames()]
    assert all(set(order[at : at + 3]) == {0, 1, 2} for at in range(0, 60, 3))


@pytest.mark.parametrize("busy_inputs", [1, 3])
def test_no_cycle_is_lost_between_frames(bench: MakeBench, busy_inputs: int) -> None:
    this = bench("olaf_box_arbiter", INPUTS=INPUTS, USER_BITS=16)
    sources, sink = connect_ends(this)
    for lane in range(busy_inputs):
        for _ in range(30):
            sources[lane].send(bytes(1500), [lane])
    this.run_cycles(30 * busy_inputs * 24 + 10)
    got = sink.frames()
    assert len(got) == 30 * busy_inputs
    assert got[-1].last - got[0].first + 1 == 30 * busy_inputs * 24
