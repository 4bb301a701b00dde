"""Samples: programs, each with an STF file of the same name."""

import multiprocessing
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from olafswitch.errors import BadInput, OlafError
from olafswitch.p4.compiler import Program, compile_text, p4info_of
from olafswitch.p4.hardware.simulated import SimulatedSwitch
from olafswitch.p4.stf.commands import Unreadable
from olafswitch.p4.stf.play import play_file
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4.syntax.preprocess import preprocess_file
from olafswitch.p4runtime.dataplane import PipelineRefused, Unsupported
from olafswitch.p4runtime.program import ProgramInfo as P4Info

TIME_LIMIT = 300
OUTCOMES = ("pass", "refused", "unreadable", "wrong", "defect")


@dataclass(frozen=True)
class Result:
    """``outcome``: pass; refused by the compiler; unreadable STF; wrong packets; or a defect of Olaf."""

    name: str
    outcome: str
    reason: str = ""


def find_samples(folder: Path, architecture: str = "v1model.p4") -> list[Path]:
    """Find the programs in ``folder`` that have an STF file and include the architecture."""
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
        """Return the result that the process sent, or how it ended without one."""
        try:
            result: Result = self.answer.recv()
        except EOFError:
            self.process.join()
            result = Result(self.program.stem, "defect", f"the process ended with {self.process.exitcode}")
        self.answer.close()
        self.process.join()
        return result


def run_all(programs: Sequence[Path], jobs: int, verilog: bool = False) -> Iterator[Result]:
    """Run each sample in its own process, so that a crash affects only one; results as they complete."""
    pending = list(programs)
    running: list[_Job] = []
    while pending or running:
        while pending and len(running) < jobs:
            running.append(_start_job(pending.pop(0), verilog))
        ready = wait([job.answer for job in running], timeout=TIME_LIMIT)
        for job in [job for job in running if job.answer in ready]:
            running.remove(job)
            yield job.result()
        for job in [] if ready else running:
            job.process.kill()
            yield Result(job.program.stem, "defect", f"took longer than {TIME_LIMIT} s")
        running = running if ready else []


def _start_job(program: Path, verilog: bool) -> _Job:
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_run_child, args=(program, verilog, there), daemon=True)
    process.start()
    there.close()
    return _Job(program, process, here)


def _run_child(program: Path, verilog: bool, answer: Connection) -> None:
    answer.send(run_sample(program, verilog))
    answer.close()


def run_sample(program: Path, verilog: bool = False) -> Result:
    """Compile a sample, with ``verilog`` to Verilog, and compare what leaves it with its STF file."""
    name = program.stem
    try:
        text = preprocess_file(program)
        compiled = None if verilog else compile_text(text, optimize="-O1", file=str(program))
    except BadInput as error:
        return Result(name, "refused", str(error))
    except OlafError as error:
        return Result(name, "defect", str(error))
    except Exception:
        return Result(name, "defect", traceback.format_exc(limit=-2))
    try:
        stf = program.with_suffix(".stf").read_text()
        wrong = _run_native(compiled, stf) if compiled is not None else _run_simulated(text, program, stf)
    except (BadInput, PipelineRefused, Unsupported) as error:
        return Result(name, "refused", str(error))
    except Unreadable as error:
        return Result(name, "unreadable", str(error))
    except Exception:
        return Result(name, "defect", traceback.format_exc(limit=-3))
    return Result(name, "wrong", wrong) if wrong else Result(name, "pass")


def _run_native(program: Program, stf: str) -> str:
    switch = NativeSwitch(optimize="-O1")
    pipeline = switch.prepare(program.p4info, program.device_config)
    switch.commit(pipeline)
    try:
        return play_file(switch, pipeline.p4info, stf)
    finally:
        switch.close()


def _run_simulated(text: str, program: Path, stf: str) -> str:
    info = p4info_of(text, str(program))
    switch = SimulatedSwitch.of_text(text, P4Info(info), file=str(program), quick=True)
    try:
        return play_file(switch, info, stf)
    finally:
        switch.close()
