"""A v1model program in C++ and in Verilog: the same entries, the same frames, the same result."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from olafswitch import cache
from olafswitch.p4.check.program import check_program
from olafswitch.p4.compiler import compile_text, own_digest
from olafswitch.p4.hardware.simulated import SimulatedSwitch
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4.syntax.parse import parse_program
from olafswitch.p4.syntax.preprocess import preprocess_file
from olafswitch.p4.verilog.compile import compile_module, list_library
from olafswitch.p4runtime.dataplane import ActionCall, Key, Replica, TableFull
from olafswitch.p4runtime.program import ProgramInfo
from olaftest.programs.walks import Walks, draw_members, fill_tables

PORTS = (0, 1, 2, 3, 5)
_RESULT = "result.json"
_CELLS = 16
"""Cells that are compared of each counter and register."""


class Difference(Exception):
    """The first frame, counter or register that differs."""


@dataclass(frozen=True)
class Compared:
    """Frames that came in and that left, and the cycles that the Verilog took for them."""

    frames: int
    left: int
    cycles: int


def compare_programs(
    source: Path, frames: int, pauses: tuple[float, float] = (0.2, 0.2), seed: int = 1
) -> Compared:
    """Compare by random entries, members, groups and ``frames`` random frames.

    ``pauses``: how often nothing comes in, and nothing may leave. Raises Difference, and Refused where the
    program is outside of the subset.
    """
    return compare_text(preprocess_file(source, (), {}), frames, pauses, seed, str(source))


def compare_text(
    text: str, frames: int, pauses: tuple[float, float] = (0.2, 0.2), seed: int = 1, file: str = "program.p4"
) -> Compared:
    """Compare as :func:`compare_programs`, a preprocessed program."""
    r = random.Random(seed)
    program = compile_text(text, optimize="-O1", file=file)
    info = ProgramInfo(program.p4info)
    made = SimulatedSwitch.of_text(text, info, seed=seed, file=file, quick=frames < 2000)
    native = NativeSwitch(optimize="-O1")
    try:
        native.commit(native.prepare(program.p4info, program.device_config))
        fill_tables(info, r, _make_adder(native, made))
        for value_set in info.value_sets.values():
            keys = draw_members(value_set, r)
            native.set_value_set(value_set.id, keys)
            made.set_value_set(value_set.id, keys)
        for group in range(1, 5):
            replicas = [Replica(r.choice(PORTS), instance) for instance in range(r.randrange(4))]
            native.set_multicast_group(group, replicas)
            made.set_multicast_group(group, replicas)
        walks = Walks(check_program(parse_program(text), file), r)
        made.source.pause(pauses[0])
        made.sink.pause(pauses[1])
        begin = made.bench.cycles()
        expected: list[tuple[int, bytes]] = []
        for _ in range(frames):
            port, frame = r.choice(PORTS), walks.draw_frame()
            expected += [each for each in native.process(port, frame, 0) if each[1]]  # no beat is empty
            made.offer(port, frame)
        sent = [each for out in made.received() for each in made.leaving(out)]
        for number, (got, wanted) in enumerate(zip_longest(sent, expected)):
            _check_same(f"what leaves as number {number}", _show_packets(got), _show_packets(wanted))
        _same_state(info, made, native)
        return Compared(frames, len(sent), made.bench.cycles() - begin)
    finally:
        made.close()
        native.close()


def compare_cached(text: str, frames: int, file: str) -> Compared:
    """Compare as :func:`compare_text`, and keep the result until the program or its Verilog changes."""
    made = compile_module(text, file, "simulated")
    parts = [own_digest(), made.text, *(path.read_text() for path in list_library()), text, str(frames)]

    def run_comparison(work: Path) -> None:
        (work / _RESULT).write_text(json.dumps(vars(compare_text(text, frames, file=file))))

    folder, _ = cache.build_once("compared", cache.digest(parts), run_comparison)
    return Compared(**json.loads((folder / _RESULT).read_text()))


def _make_adder(native: NativeSwitch, made: SimulatedSwitch) -> Callable[[int, Key, int, ActionCall], None]:
    """Insert an entry on both, in the place of one with its match; none of which hardware has no room."""

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

    return add


def _same_state(info: ProgramInfo, made: SimulatedSwitch, native: NativeSwitch) -> None:
    counted = {each["name"] for each in made.about["counters"]}
    for counter in info.counters.values():
        for index in range(min(counter.size, _CELLS)) if counter.name in counted else ():
            where = f"counter {counter.name}[{index}]"
            _check_same(where, made.counter(counter.id, index), native.counter(counter.id, index))
    used = {each["name"] for each in made.about["registers"]}
    for register in info.registers.values():
        for index in range(min(register.size, _CELLS)) if register.name in used else ():
            where = f"register {register.name}[{index}]"
            _check_same(where, made.register(register.id, index), native.register(register.id, index))


def _check_same(where: str, got: object, wanted: object) -> None:
    if got != wanted:
        raise Difference(f"{where}: {got} from Verilog, {wanted} from C++")


def _show_packets(sent: tuple[int, bytes] | None) -> str:
    return f"port {sent[0]}: {sent[1].hex()}" if sent is not None else "nothing"
