"""Learners as processes of a fork server, which has their libraries loaded; they sleep while they wait."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import multiprocessing.process
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable

from olaf.errors import LearnerFailed

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from olaf.elastic.learners import Learners

Function = Callable[[Any, Any], Any]
"""A learner: of (weights, rows) it makes a gradient, or whatever else is to be delivered."""
_PATIENCE = 5.0
"""Seconds for a process to end by itself."""


class Processes:
    """A runner of learners on this machine."""

    def __init__(self, function: Function, preload: Sequence[str] = ()) -> None:
        """``function`` is one of a module; ``preload`` are modules that every learner finds imported."""
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([function.__module__, *preload])
        self._function = function
        self._pipes: dict[int, Connection] = {}
        self._processes: dict[int, multiprocessing.process.BaseProcess] = {}

    def start(self, slot: int) -> None:
        """Runner."""
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_learn, args=(theirs, self._function), daemon=True)
        process.start()
        theirs.close()
        self._pipes[slot], self._processes[slot] = ours, process

    def give(self, slot: int, weights: Any, rows: Any) -> None:
        """Runner. A learner that is gone is noticed when it is listened to."""
        with suppress(OSError):
            self._pipes[slot].send((weights, rows))

    def stop(self, slot: int) -> None:
        """Runner."""
        self._forget(slot)

    def pids(self) -> dict[int, int]:
        """The processes by slot."""
        return {slot: process.pid or 0 for slot, process in self._processes.items()}

    def serve(self, learners: Learners, seconds: float) -> bool:
        """Wait up to ``seconds`` for learners, and pass on what they say; whether any said anything.

        Raises LearnerFailed where a learner's function raised an exception.
        """
        due = {pipe: slot for slot, pipe in self._pipes.items()}
        said = multiprocessing.connection.wait(list(due), seconds)
        for pipe, slot in due.items():
            if pipe not in said:
                continue
            try:
                kind, value = pipe.recv()
            except (EOFError, OSError):
                process = self._processes[slot]
                self._forget(slot)
                learners.died(slot, f"exit code {process.exitcode}")
                continue
            if kind == "failed":
                raise LearnerFailed(f"a learner failed: {value}")
            if kind == "ready":
                learners.ready(slot)
            else:
                learners.finished(slot, value)
        return bool(said)

    def close(self) -> None:
        """End all, those that compute too."""
        for slot in list(self._pipes):
            self._processes[slot].terminate()
            self._forget(slot)

    def _forget(self, slot: int) -> None:
        self._pipes.pop(slot).close()  # it ends when it reads
        process = self._processes.pop(slot)
        process.join(_PATIENCE)
        if process.exitcode is None:
            process.kill()
            process.join()


def _learn(pipe: Connection, function: Function) -> None:
    pipe.send(("ready", None))
    while True:
        try:
            weights, rows = pipe.recv()
        except EOFError:
            return
        try:
            answer = "finished", function(weights, rows)
        except Exception as error:
            answer = "failed", f"{type(error).__name__}: {error}"
        pipe.send(answer)
