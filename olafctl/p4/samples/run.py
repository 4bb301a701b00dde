"""Samples: a program beside an STF file of the same name."""

import multiprocessing
import traceback
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from olafctl.errors import BadInput, OlafError
from olafctl.p4.compiler import compile_program
from olafctl.p4.native import NativeSwitch
from olafctl.p4.samples.control import Control
from olafctl.p4.samples.stf import Expect, Send, Unreadable, read

OUTCOMES = ("pass", "refused", "unreadable", "wrong", "defect")


@dataclass(frozen=True)
class Result:
    """``outcome``: pass; refused by the compiler; unreadable STF; wrong packets; or a defect of Olaf."""

    name: str
    outcome: str
    reason: str = ""


def find(folder: Path, architecture: str = "v1model.p4") -> list[Path]:
    """The programs in ``folder`` that have an STF file and include the architecture (themselves, or by a file)."""
    found = []
    for stf in sorted(folder.glob("*.stf")):
        program = stf.with_suffix(".p4")
        if program.is_file() and architecture in program.read_text(errors="replace"):
            found.append(program)
    return found


def run_all(programs: Sequence[Path], jobs: int) -> Iterator[Result]:
    """Run samples in processes of their own, so that a crash is one sample's; results as they come."""
    pending = list(programs)
    if jobs == 1 and len(pending) == 1:
        yield run(pending[0])
        return
    context = multiprocessing.get_context("fork")
    running: dict[int, tuple[Path, multiprocessing.process.BaseProcess, multiprocessing.connection.Connection]] = {}
    from multiprocessing.connection import wait

    while pending or running:
        while pending and len(running) < jobs:
            program = pending.pop(0)
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=_child, args=(program, there), daemon=True)
            process.start()
            there.close()
            running[here.fileno()] = (program, process, here)
        ready = wait([entry[2] for entry in running.values()], timeout=120)
        if not ready:
            for program, process, _ in running.values():
                process.kill()
                yield Result(program.stem, "defect", "took longer than two minutes")
            running.clear()
        for connection in ready:
            key = connection.fileno()  # type: ignore[union-attr]  # these are all connections
            program, process, here = running.pop(key)
            try:
                yield here.recv()
            except EOFError:
                process.join()
                yield Result(program.stem, "defect", f"the process ended with code {process.exitcode}")
            here.close()
            process.join()


def _child(program: Path, answer: "multiprocessing.connection.Connection") -> None:
    answer.send(run(program))
    answer.close()


def run(program: Path) -> Result:
    """Compile a sample and hold what leaves the switch against its STF file."""
    name = program.stem
    try:
        compiled = compile_program(program, optimize="-O1")
    except BadInput as error:
        return Result(name, "refused", str(error))
    except OlafError as error:
        return Result(name, "defect", str(error))
    except Exception:
        return Result(name, "defect", traceback.format_exc(limit=-2))
    try:
        wrong = _play(NativeSwitch(), compiled.p4info, compiled.device_config, program.with_suffix(".stf").read_text())
    except Unreadable as error:
        return Result(name, "unreadable", str(error))
    except Exception:
        return Result(name, "defect", traceback.format_exc(limit=-3))
    return Result(name, "wrong", wrong) if wrong else Result(name, "pass")


def _play(switch: NativeSwitch, info: object, config: bytes, text: str) -> str:
    """What went wrong; empty when all is as expected."""
    switch._optimize = "-O1"
    pipeline = switch.prepare(info, config)  # type: ignore[arg-type]  # a P4Info
    switch.commit(pipeline)
    control = Control(switch, pipeline.p4info)
    sent: dict[int, list[bytes]] = defaultdict(list)
    expected: dict[int, list[Expect]] = defaultdict(list)
    for number, command in enumerate(read(text)):
        match command:
            case Send(port=port, frame=frame):
                for out, made in switch.process(port, frame, 1000 * number):
                    sent[out].append(made)
            case Expect(port=port):
                expected[port].append(command)
            case _:
                problem = control.run(command)
                if problem:
                    return problem
    switch.close()
    if not expected:
        return ""  # a file that expects no frame at all says nothing about frames
    return next((p for port in sorted({*sent, *expected}) if (p := _compare(port, sent[port], expected[port]))), "")


def _compare(port: int, sent: list[bytes], expected: list[Expect]) -> str:
    if expected and all(entry.digits is None for entry in expected):
        return ""
    if len(sent) != len(expected):
        seen = ", ".join(frame.hex() for frame in sent[:3])
        return f"port {port}: {len(sent)} frames, {len(expected)} expected; {seen}"
    for frame, entry in zip(sent, expected, strict=True):
        digits = frame.hex()
        wanted = entry.digits or ""
        same = all(w in ("*", d) for w, d in zip(wanted, digits, strict=False))
        if not same or len(digits) < len(wanted) or (entry.exact and len(digits) != len(wanted)):
            return f"port {port}: {digits}, expected {wanted}{'$' if entry.exact else ''}"
    return ""
