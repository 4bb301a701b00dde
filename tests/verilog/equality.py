"""A v1model program in C++ and in Verilog: the same entries, the same frames, the same result."""

import random
from pathlib import Path

from olafswitch.p4.check.program import check_program
from olafswitch.p4.compiler import compile_text
from olafswitch.p4.hardware.simulated import SimulatedSwitch
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4.syntax.parse import parse
from olafswitch.p4.syntax.preprocess import preprocess
from olafswitch.p4runtime.dataplane import ActionCall, Key, TableFull
from olafswitch.p4runtime.program import Program
from tests.verilog.walks import Walks, fill

PORTS = (0, 1, 2, 3, 5)
Sent = list[tuple[int, bytes]]


def compare(source: Path, frames: int, pauses: tuple[float, float] = (0.2, 0.2), seed: int = 1) -> int:
    """Random entries and ``frames`` random frames; how many left, the same in both."""
    text = preprocess(source, (), {})
    return compare_text(text, frames, pauses, seed)


def compare_text(text: str, frames: int, pauses: tuple[float, float] = (0.2, 0.2), seed: int = 1) -> int:
    """As :func:`compare`, of a preprocessed program."""
    r = random.Random(seed)
    program = compile_text(text, optimize="-O1")
    native = NativeSwitch(optimize="-O1")
    pipeline = native.prepare(program.p4info, program.device_config)
    native.commit(pipeline)
    info = Program(program.p4info)
    made = SimulatedSwitch.of_text(text, info, seed=seed)

    def add(table: int, key: Key, priority: int, action: ActionCall) -> None:
        try:
            native.delete(table, key, priority)
        except KeyError:
            pass
        else:
            made.delete(table, key, priority)
        try:
            made.insert(table, key, priority, action)
        except TableFull:
            return
        native.insert(table, key, priority, action)

    try:
        fill(info, r, add)
        walks = Walks(check_program(parse(text), "program.p4"), r)
        made.source.pause(pauses[0])
        made.sink.pause(pauses[1])
        expected: Sent = []
        for _ in range(frames):
            port, frame = r.choice(PORTS), walks.frame()
            expected += native.process(port, frame, 0)
            made.offer(port, frame)
        sent = [each for out in made.received() for each in made.leaving(out)]
        for number, (got, wanted) in enumerate(zip(sent, expected, strict=False)):
            assert got == wanted, (
                f"frame {number}: {got[0]} {got[1].hex()}, C++ {wanted[0]} {wanted[1].hex()}"
            )
        assert len(sent) == len(expected)
        for counter in info.counters.values():
            for index in range(min(counter.size, 16)):
                assert made.counter(counter.id, index) == native.counter(counter.id, index)
        return len(sent)
    finally:
        made.close()
        native.close()
