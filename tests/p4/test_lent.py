"""A switch makes frames in memory that is lent to it, and leaves alone what was taken of that."""

import ctypes as c
import random

import pytest

from olafswitch.p4.compiler import compile_program
from olafswitch.p4.switch.library import EMIT
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4runtime.dataplane import Replica
from tests.p4.switches import PROGRAMS
from tests.p4.test_fuzz import random_frame

Sent = tuple[int, bytes]


class _Lent(c.Structure):
    """The beginning of a p4_switch (:file:`switch_abi.h`)."""

    _fields_ = (("bytes", c.c_void_p), ("room", c.c_size_t))


def _make_switch(name: str) -> NativeSwitch:
    program = compile_program(PROGRAMS / f"{name}.p4", optimize="-O1")
    switch = NativeSwitch(optimize="-O1")
    switch.commit(switch.prepare(program.p4info, program.device_config))
    for number in range(1, 40):
        switch.set_multicast_group(number, [Replica(port, port) for port in range(1 + number % 4)])
        switch.set_clone_session(number, [Replica(7, 0)], 20 * (number % 2))
    return switch


class _Lender:
    """Lends a switch memory, takes each frame that is made in it, and lends other memory in its place."""

    def __init__(self, switch: NativeSwitch, r: random.Random) -> None:
        self._r = r
        handle = switch.handle
        assert handle is not None
        self._handle, self._lent = handle, _Lent.from_address(handle.switch)
        self._run = EMIT_PROCESS(handle.process)
        self._memory = c.create_string_buffer(0)
        self._emit = EMIT(self._on_emit)
        self.taken: list[tuple[c.Array[c.c_char], bytes]] = []
        self.sent: list[Sent] = []

    def process(self, frame: bytes, now: int) -> list[Sent]:
        self.sent = []
        self._lend()
        self._run(self._handle.switch, 1, frame, len(frame), now, self._emit, None)
        self._lent.bytes = None
        return self.sent

    def _lend(self) -> None:
        self._memory = c.create_string_buffer(self._r.choice((1, 20, 64, 2000)))
        self._lent.bytes, self._lent.room = c.addressof(self._memory), len(self._memory)

    def _on_emit(self, _: int | None, port: int, frame: "c._Pointer[c.c_uint8]", length: int) -> None:
        made = c.string_at(frame, length)
        self.sent.append((port, made))
        if c.addressof(frame.contents) != c.addressof(self._memory):
            return
        self.taken.append((self._memory, made))
        if self._r.random() < 0.5:
            self._lend()
        else:
            self._lent.bytes = None


EMIT_PROCESS = c.CFUNCTYPE(None, c.c_void_p, c.c_uint32, c.c_char_p, c.c_size_t, c.c_uint64, EMIT, c.c_void_p)


@pytest.mark.parametrize("name", ["copies", "traffic", "headers", "code"])
def test_frames_are_the_same_in_lent_memory_and_stay_there(name: str) -> None:
    r = random.Random(name)
    plain, switch = _make_switch(name), _make_switch(name)
    lender = _Lender(switch, r)
    for now in range(3000):
        frame = random_frame(r)
        assert lender.process(frame, now) == plain.process(1, frame, now)
    assert len(lender.taken) > 100
    assert all(memory.raw[: len(made)] == made for memory, made in lender.taken)
