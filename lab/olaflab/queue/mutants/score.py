"""Runs the conformance traffic against every mutant, and reports which ones it finds.

A mutant is *killed* when the traffic shows a difference from the golden model, an assertion in the Verilog
fails, a figure is missed, or the run does not come to an end. One that does none of it *survives*.
"""

import ctypes
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from olafctl.queue import verilog
from olafctl.queue.verilate import Progress
from olafctl.wire.geometry import Geometry
from olaflab.queue import conform
from olaflab.queue.golden import Unexplained
from olaflab.queue.model import QueueModel
from olaflab.queue.mutants import figures, operators, races, schema
from olaflab.queue.mutants.equivalent import ARGUMENTS
from olaflab.queue.mutants.operators import Mutant
from olafswitch.errors import OlafError

GEOMETRIES = (
    Geometry(indices=3, slots=3, beats=4, members=3, adder_latency=5),
    Geometry(indices=16, slots=5, beats=7, adder_latency=6),
    Geometry(indices=1, slots=1, beats=6, members=1, adder_latency=3),
    Geometry(indices=9, slots=8, beats=24),
)
"""Small, so that every corner is met soon; every adder latency."""
_FRAMES_OF_A_SEED = 850
_TRIES_OF_A_SEED = 300
_SECONDS_OF_A_SEED = 10.0
"""Of processor time; a seed takes about one."""


@dataclass(frozen=True)
class Verdict:
    """What became of one mutant."""

    mutant: Mutant
    killed_by: str | None
    """What showed the difference; None when nothing did."""
    frames: int
    """Frames until then."""

    @property
    def argument(self) -> str | None:
        """Why it is no different from the queue as it is, where that has been argued."""
        return ARGUMENTS.get(self.mutant.name)


@dataclass
class Score:
    """Verdicts on all mutants, in their order."""

    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def killed(self) -> int:
        return sum(verdict.killed_by is not None for verdict in self.verdicts)

    @property
    def survivors(self) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.killed_by is None]

    @property
    def percent(self) -> float:
        """Of those that change something at all."""
        equivalent = sum(verdict.argument is not None for verdict in self.survivors)
        return 100 * self.killed / max(1, len(self.verdicts) - equivalent)


def choose(count: int, seed: int) -> list[Mutant]:
    """``count`` mutants of OlafQueue, the same for the same Verilog and ``seed``."""
    return operators.select(schema.mutable(verilog.sources(GEOMETRIES[0])), count, seed)


def run(
    mutants: Sequence[Mutant],
    seeds: int,
    jobs: int = 2,
    geometries: Sequence[Geometry] = GEOMETRIES,
    progress: Progress = lambda step: None,
    done: Callable[[Verdict], None] = lambda verdict: None,
) -> Score:
    """Try every mutant on ``seeds`` seeds of each of ``geometries``, ``jobs`` at a time.

    Raises OlafError when the queue as it is fails: then no verdict would mean anything.
    """
    libraries = [(geometry, schema.build(geometry, mutants, progress)) for geometry in geometries]
    verdicts: dict[int, Verdict] = {}
    for number, killed_by, frames in _trials(libraries, len(mutants), seeds, jobs):
        if number == 0:
            if killed_by is not None:
                raise OlafError(f"the queue without a mutant does not pass: {killed_by}")
            continue
        verdicts[number] = Verdict(mutants[number - 1], killed_by, frames)
        done(verdicts[number])
    return Score([verdicts[number] for number in sorted(verdicts)])


_Libraries = Sequence[tuple[Geometry, Path]]


def _trials(
    libraries: _Libraries, mutants: int, seeds: int, jobs: int
) -> Iterator[tuple[int, str | None, int]]:
    """Each trial in a process of its own: a mutant may crash the simulator, or never end."""
    context = multiprocessing.get_context("fork")
    waiting = iter(range(mutants + 1))
    running: dict[int, tuple[int, BaseProcess, Connection]] = {}
    while True:
        while len(running) < jobs and (number := next(waiting, None)) is not None:
            ours, theirs = context.Pipe(duplex=False)
            process: BaseProcess = context.Process(target=_trial, args=(libraries, number, seeds, theirs))
            process.start()
            theirs.close()
            running[process.sentinel] = (number, process, ours)
        if not running:
            return
        for sentinel in wait(list(running)):
            assert isinstance(sentinel, int)
            number, process, results = running.pop(sentinel)
            process.join()
            try:
                killed_by, frames = results.recv()
            except EOFError:
                killed_by, frames = _died(process), 0
            results.close()
            yield number, killed_by, frames


def _died(process: BaseProcess) -> str:
    code = process.exitcode or 0
    return "the run does not end" if code == -signal.SIGPROF else f"the simulator ends with {code}"


def _trial(libraries: _Libraries, number: int, seeds: int, results: Connection) -> None:
    frames = 0
    killed_by = None
    # A failed assertion prints a line in every cycle from then on.
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    try:
        for seed in range(seeds):
            for geometry, library in libraries:
                # Ends this process when the time is over, also in the middle of a simulation.
                signal.setitimer(signal.ITIMER_PROF, _SECONDS_OF_A_SEED)
                ctypes.CDLL(str(library)).olaf_mutant_choose(number)
                with QueueModel(library) as model:
                    frames += conform.run_seed(model, geometry, seed, _FRAMES_OF_A_SEED).frames
                    model.reset()
                    model.disturb(seed)
                    if geometry.adder_latency <= 4:
                        figures.check_merges_without_stalls(model)
                    figures.check_takes_turns(model, min(geometry.indices, geometry.slots))
                    if min(geometry.indices, geometry.slots) > 2:
                        figures.check_keeps_the_rate(model, min(geometry.indices, geometry.slots))
                    figures.check_reset_forgets_the_turn(model)
                    if geometry.beats >= 16:
                        model.reset()
                        races.check_breaks_off_while_leaving(model, geometry)
                    if geometry.adder_latency >= 5:
                        model.reset()
                        races.check_locks_during_stalls(model, geometry, seed, _TRIES_OF_A_SEED)
    except (Unexplained, OlafError) as error:
        killed_by = str(error)
    except Exception:
        killed_by = traceback.format_exc(limit=-1)
    results.send((killed_by, frames))
