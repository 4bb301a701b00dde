"""Random packets cause no crash and leak no stale fields, and memory stays flat."""

import random
import resource
from pathlib import Path

import pytest

from olafswitch.p4.compiler import compile_program
from olafswitch.p4.switch.native import NativeSwitch
from tests.p4.switches import PROGRAMS

ROOT = Path(__file__).resolve().parents[2]


def _make_switch(name: str) -> NativeSwitch:
    source = PROGRAMS / f"{name}.p4"
    if not source.is_file():
        source = ROOT / "p4src" / f"{name}.p4"
    program = compile_program(source, optimize="-O1")
    switch = NativeSwitch(optimize="-O1")
    switch.commit(switch.prepare(program.p4info, program.device_config))
    return switch


def random_frame(r: random.Random) -> bytes:
    """Make a frame of any length, often one that the shipped programs understand."""
    frame = bytearray(r.randbytes(r.choice((0, 1, 13, 14, 33, 34, 42, 63, 64, 200, 1500))))
    if len(frame) > 44 and r.random() < 0.7:
        frame[12:15] = b"\x08\x00\x45"
        frame[20:22] = b"\x00\x00"
        frame[23] = 17
        frame[36:38] = b"\x4f\x4c"
        frame[42] = r.choice((0x11, 0x12, 0x13, r.randrange(256)))
    elif frame:
        frame[0] = r.randrange(24)
    return bytes(frame)


@pytest.mark.parametrize("name", ["vnp4_1", "vnp4_2", "parser", "headers", "traffic", "code", "externs"])
def test_random_frames(name: str) -> None:
    r = random.Random(name)
    switch = _make_switch(name)
    frames = [random_frame(r) for _ in range(2000)]
    switch.replay(1, frames, 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for port in (0, 1, 500, 510, 511):
        switch.replay(port, frames, 10)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2048
    switch.close()


@pytest.mark.parametrize("name", ["vnp4_1", "vnp4_2", "parser", "headers", "code"])
def test_packets_do_not_affect_later_ones(name: str) -> None:
    r = random.Random(name)
    used, frames = _make_switch(name), [random_frame(r) for _ in range(400)]
    fresh = _make_switch(name)
    alone = [fresh.process(1, frame, 0) for frame in frames]
    order = list(range(len(frames)))
    r.shuffle(order)
    for at in order:
        assert used.process(1, frames[at], 0) == alone[at]
    used.close()
    fresh.close()
