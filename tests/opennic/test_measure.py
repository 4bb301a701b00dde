"""The measuring FIFO passes good frames whole, with their true size; bad frames leave no trace."""

import random

import pytest

from olafswitch.simulation.bench import Bench, Signals, Sink, Source
from tests.opennic.conftest import MakeBench, reset_bench

PULSES = ("accepted", "dropped_oversize", "dropped_malformed", "dropped_full", "dropped_cut")


def connect_ends(this: Bench) -> tuple[Source, Sink]:
    return (
        this.source(Signals.axis("s_axis".replace("_axis", ""), [("s_tuser", 16)])),
        this.sink(Signals.axis("m", [("m_tuser", 16), ("m_size", 16)])),
    )


@pytest.mark.parametrize("idle, busy", [(0.0, 0.0), (0.5, 0.1), (0.1, 0.6)])
def test_random_frames_leave_as_they_came_with_their_size(bench: MakeBench, idle: float, busy: float) -> None:
    pick = random.Random(7)
    this = bench("olaf_box_measure", USER_BITS=16, DEPTH_BITS=8, MAX_BYTES=9216)
    source, sink = connect_ends(this)
    source.pause(idle)
    sink.pause(busy)
    sent = []
    for number in range(300):
        frame = pick.randbytes(pick.choice([1, 60, 63, 64, 65, 128, 1500, 9036, 9216, pick.randint(1, 9216)]))
        sent.append((frame, number))
        source.send(frame, [number])
    while source.pending:
        this.run_cycles(1000)
    this.run_cycles(2000)
    got = sink.frames()
    assert [(frame.data, frame.user) for frame in got] == [
        (frame, (number, len(frame))) for frame, number in sent
    ]


def test_a_frame_with_a_hole_or_too_long_leaves_no_trace(bench: MakeBench) -> None:
    this = bench("olaf_box_measure", USER_BITS=16, DEPTH_BITS=8, MAX_BYTES=1024)
    source, sink = connect_ends(this)
    good = bytes(range(200))
    source.send(good, [1])
    source.beat(bytes(64), [2], last=False, keep=(1 << 60) - 1)
    source.beat(bytes(64), [2], last=True)
    source.beat(bytes(64), [3], last=True, keep=0xF0F)
    source.beat(bytes(64), [4], last=True, keep=0)
    source.send(bytes(1025), [5])
    source.send(bytes(30_000), [6])
    source.send(good, [7])
    counted = dict.fromkeys(PULSES, 0)
    for _ in range(700):
        this.run_cycles(1)
        for name in PULSES:
            counted[name] += this[name]
    assert [frame.user for frame in sink.frames()] == [(1, 200), (7, 200)]
    assert counted == {
        "accepted": 2, "dropped_oversize": 2, "dropped_malformed": 3, "dropped_full": 0, "dropped_cut": 0,
    }  # fmt: skip


def test_what_may_not_wait_is_dropped_whole_and_counted(bench: MakeBench) -> None:
    pick = random.Random(3)
    this = bench("olaf_box_measure", USER_BITS=16, DEPTH_BITS=6, MAX_BYTES=1500, DROP_WHEN_FULL=1)
    source, sink = connect_ends(this)
    sink.pause(0.9)
    frames = {number: pick.randbytes(pick.randint(1, 1500)) for number in range(400)}
    beats = sum((len(frame) + 63) // 64 for frame in frames.values())
    for number, frame in frames.items():
        source.send(frame, [number])
    counted = dict.fromkeys(PULSES, 0)
    for _ in range(beats + 10):
        this.run_cycles(1)
        for name in PULSES:
            counted[name] += this[name]
    assert source.pending == 0, "the input was made to wait"
    sink.pause(0)
    this.run_cycles(200)
    got = sink.frames()
    assert all(frames[frame.user[0]] == frame.data for frame in got)
    assert 0 < len(got) == counted["accepted"] < 400
    assert counted["accepted"] + counted["dropped_full"] == 400


def test_the_rest_of_a_frame_that_reset_cut_is_dropped(bench: MakeBench) -> None:
    this = bench("olaf_box_measure", USER_BITS=16, DEPTH_BITS=8, MAX_BYTES=9216)
    source, sink = connect_ends(this)
    source.send(bytes(9000), [1])
    source.send(bytes(100), [2])
    this.run_cycles(50)
    reset_bench(this)
    this.run_cycles(300)
    assert [frame.user for frame in sink.frames()] == [(2, 100)]


def test_one_beat_per_cycle(bench: MakeBench) -> None:
    this = bench("olaf_box_measure", USER_BITS=16, DEPTH_BITS=9, MAX_BYTES=9216)
    source, sink = connect_ends(this)
    for number in range(40):
        source.send(bytes(1500), [number])
    this.run_cycles(40 * 24 + 40)
    got = sink.frames()
    assert len(got) == 40
    assert got[-1].last - got[0].first + 1 == 40 * 24
