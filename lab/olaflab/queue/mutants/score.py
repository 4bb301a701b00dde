"""Runs the conformance traffic against every mutant, and says which ones it does not find.

A mutant is *killed* when the traffic shows a difference from the golden model, an assertion in the Verilog
fails, a figure is missed, or the run does not come to an end. One that does none of it *survives*.
"""

import ctypes
import multiprocessing
import os
import signal
import traceback
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from olafctl.wire.geometry import Geometry
from olaflab.queue.mutants import figures, races, schema
from olaflab.queue.mutants.schema import Mutant
from olafswitch.errors import OlafError
from olaftest.queue import conform
from olaftest.queue.golden import Unexplained
from olaftest.queue.model import QueueModel

GEOMETRY = Geometry(indices=3, slots=3, beats=4, members=3, adder_latency=5)
"""Small, so that every corner is met soon."""
_FRAMES_OF_A_SEED = 850
_TRIES_OF_A_SEED = 300
_SECONDS_OF_A_SEED = 10.0
"""Of processor time; a seed takes about one."""


def survivors(mutants: Sequence[Mutant], seeds: int, jobs: int = 2) -> list[Mutant]:
    """The mutants that ``seeds`` seeds do not kill; ``jobs`` at a time.

    Raises OlafError when the queue as it is fails: then nothing would mean anything.
    """
    alive = []
    for number, killed_by in _trials(schema.build(GEOMETRY, mutants), len(mutants), seeds, jobs):
        if number > 0 and killed_by is None:
            alive.append(mutants[number - 1])
        elif number == 0 and killed_by is not None:
            raise OlafError(f"the queue without a mutant does not pass: {killed_by}")
    return alive


def _trials(library: Path, mutants: int, seeds: int, jobs: int) -> Iterator[tuple[int, str | None]]:
    """Each trial in a process of its own: a mutant may crash the simulator, or never end."""
    context = multiprocessing.get_context("fork")
    waiting = iter(range(mutants + 1))
    running: dict[int, tuple[int, BaseProcess, Connection]] = {}
    while True:
        while len(running) < jobs and (number := next(waiting, None)) is not None:
            ours, theirs = context.Pipe(duplex=False)
            process: BaseProcess = context.Process(target=_trial, args=(library, number, seeds, theirs))
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
                killed_by = results.recv()
            except EOFError:
                killed_by = _died(process)
            results.close()
            yield number, killed_by


def _died(process: BaseProcess) -> str:
    code = process.exitcode or 0
    return "the run does not end" if code == -signal.SIGPROF else f"the simulator ends with {code}"


def _trial(library: Path, number: int, seeds: int, results: Connection) -> None:
    killed_by = None
    # A failed assertion prints a line in every cycle from then on.
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    try:
        for seed in range(seeds):
            # Ends this process when the time is over, also in the middle of a simulation.
            signal.setitimer(signal.ITIMER_PROF, _SECONDS_OF_A_SEED)
            ctypes.CDLL(str(library)).olaf_mutant_choose(number)
            with QueueModel(library) as model:
                conform.run_seed(model, GEOMETRY, seed, _FRAMES_OF_A_SEED)
                model.reset()
                model.disturb(seed)
                figures.check_takes_turns(model, GEOMETRY.slots)
                figures.check_keeps_the_rate(model, GEOMETRY.slots)
                figures.check_reset_forgets_the_turn(model)
                model.reset()
                races.check_locks_during_stalls(model, GEOMETRY, seed, _TRIES_OF_A_SEED)
    except (Unexplained, OlafError) as error:
        killed_by = str(error)
    except Exception:
        killed_by = traceback.format_exc(limit=-1)
    results.send(killed_by)
