"""The host header is added and removed at every length."""

import random

import pytest

from olafswitch.simulation.bench import Signals
from tests.opennic.conftest import MakeBench

LENGTHS = [*range(17, 200), 1500, 9036]


@pytest.mark.parametrize("idle, busy", [(0.0, 0.0), (0.4, 0.4)])
def test_sixteen_bytes_come_off(bench: MakeBench, idle: float, busy: float) -> None:
    pick = random.Random(1)
    this = bench("olaf_box_strip")
    source, sink = this.source(Signals.axis("s")), this.sink(Signals.axis("m", [("m_taken", 128)]))
    source.pause(idle)
    sink.pause(busy)
    frames = [pick.randbytes(length) for length in LENGTHS]
    for frame in frames:
        source.send(frame)
    while source.pending:
        this.run_cycles(500)
    this.run_cycles(100)
    got = [(frame.data, frame.user[0].to_bytes(16, "little")) for frame in sink.frames()]
    assert got == [(frame[16:], frame[:16]) for frame in frames]


@pytest.mark.parametrize("idle, busy", [(0.0, 0.0), (0.4, 0.4)])
def test_sixteen_bytes_go_on(bench: MakeBench, idle: float, busy: float) -> None:
    pick = random.Random(1)
    this = bench("olaf_box_prepend")
    source, sink = this.source(Signals.axis("s", [("s_head", 128)])), this.sink(Signals.axis("m"))
    source.pause(idle)
    sink.pause(busy)
    frames = [(pick.randbytes(16), pick.randbytes(length)) for length in range(1, 200)]
    for head, frame in frames:
        source.send(frame, [int.from_bytes(head, "little")])
    while source.pending:
        this.run_cycles(500)
    this.run_cycles(100)
    assert [frame.data for frame in sink.frames()] == [head + frame for head, frame in frames]


def test_a_packet_out_must_bear_the_boxs_ether_type(bench: MakeBench) -> None:
    this = bench("olaf_box_host_in")
    source, sink = (
        this.source(Signals.axis("s")),
        this.sink(Signals.axis("m", [("m_size", 16), ("m_dst", 16)])),
    )
    good = bytes(12) + b"\x88\xb5" + b"\x01\x02"
    for frame in (good + bytes(60), bytes(12) + b"\x08\x00" + bytes(60), good + bytes(13), good + bytes(14)):
        source.send(frame)
    dropped = 0
    for _ in range(60):
        this.run_cycles(1)
        dropped += this["dropped"]
    assert [(len(frame.data), *frame.user) for frame in sink.frames()] == [(60, 60, 0x102), (14, 14, 0x102)]
    assert dropped == 2
