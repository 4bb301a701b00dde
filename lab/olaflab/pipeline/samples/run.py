"""Samples: programs, each with an STF file of the same name."""

import multiprocessing
import traceback
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from olaflab.pipeline.samples.control import Control
from olaflab.pipeline.samples.stf import Expect, Send, Unreadable, read
from olafswitch.errors import BadInput, OlafError
from olafswitch.p4.compiler import Program, compile_program
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4runtime.dataplane import PipelineRefused

TIME_LIMIT = 120
OUTCOMES = ("pass", "refused", "unreadable", "wrong", "defect")


@dataclass(frozen=True)
class Result:
    """``outcome``: pass; refused by the compiler; unreadable STF; wrong packets; or a defect of Olaf."""

    name: str
    outcome: str
    reason: str = ""


def find(folder: Path, architecture: str = "v1model.p4") -> list[Path]:
    """The programs in ``folder`` that have an STF file and include the architecture."""
    found = []
    for stf in sorted(folder.glob("*.stf")):
        program = stf.with_suffix(".p4")
        if program.is_file() and architecture in program.read_text(errors="replace"):
            found.append(program)
    return found


@dataclass(frozen=True)
class _Job:
    program: Path
    process: BaseProcess
    answer: Connection

    def result(self) -> Result:
        """The result that the process sent, or how it ended without one."""
        try:
            result: Result = self.answer.recv()
        except EOFError:
            self.process.join()
            result = Result(self.program.stem, "defect", f"the process ended with {self.process.exitcode}")
        self.answer.close()
        self.process.join()
        return result


def run_all(programs: Sequence[Path], jobs: int) -> Iterator[Result]:
    """Run each sample in its own process, so that a crash affects only one; results as they complete."""
    pending = list(programs)
    running: list[_Job] = []
    while pending or running:
        while pending and len(running) < jobs:
            running.append(_start(pending.pop(0)))
        ready = wait([job.answer for job in running], timeout=TIME_LIMIT)
        for job in [job for job in running if job.answer in ready]:
            running.remove(job)
            yield job.result()
        for job in [] if ready else running:
            job.process.kill()
            yield Result(job.program.stem, "defect", f"took longer than {TIME_LIMIT} s")
        running = running if ready else []


def _start(program: Path) -> _Job:
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(program, there), daemon=True)
    process.start()
    there.close()
    return _Job(program, process, here)


def _child(program: Path, answer: Connection) -> None:
    answer.send(run(program))
    answer.close()


def run(program: Path) -> Result:
    """Compile a sample and compare what leaves the switch with its STF file."""
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
        wrong = _play(compiled, program.with_suffix(".stf").read_text())
    except PipelineRefused as error:
        return Result(name, "refused", str(error))
    except Unreadable as error:
        return Result(name, "unreadable", str(error))
    except Exception:
        return Result(name, "defect", traceback.format_exc(limit=-3))
    return Result(name, "wrong", wrong) if wrong else Result(name, "pass")


def _play(program: Program, text: str) -> str:
    """The first difference from what is expected; empty when there is none."""
    switch = NativeSwitch(optimize="-O1")
    pipeline = switch.prepare(program.p4info, program.device_config)
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
        return ""  # a file without expected frames does not test frames
    return next(
        (p for port in sorted({*sent, *expected}) if (p := _compare(port, sent[port], expected[port]))), ""
    )


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
