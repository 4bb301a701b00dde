"""Processes of a fork server, which has their libraries loaded; each sleeps while it waits."""

from __future__ import annotations

import ctypes
import multiprocessing
import multiprocessing.connection
import multiprocessing.process
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import forkserver
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Protocol

from olaf.errors import LearnerFailed, OlafError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from olaf.elastic.learners import Learners

_PATIENCE = 5.0
"""Seconds for a process to end by itself."""
_UNGUARDED = 76
"""Exit code of a process whose script would start processes again."""
_DEATH_SIGNAL = 1
"""prctl's number for the signal that a process gets when the one that forked it ends."""


@dataclass(frozen=True)
class Gone:
    """A process has ended."""

    reason: str


class Children:
    """The processes by slot."""

    def __init__(self, preload: Sequence[str]) -> None:
        """``preload`` are modules that every process finds imported, those of its functions among them."""
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(preload))
        self._pipes: dict[int, Connection] = {}
        self._processes: dict[int, multiprocessing.process.BaseProcess] = {}

    def __contains__(self, slot: int) -> bool:
        return slot in self._processes

    def start(self, slot: int, target: Callable[..., object], *arguments: object) -> None:
        """Run ``target(pipe, *arguments)``, a function of a module, in a process of its own."""
        if getattr(multiprocessing.process.current_process(), "_inheriting", False):
            os._exit(_UNGUARDED)  # the script starts its processes again where it is imported by one
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_run_child, args=(target, theirs, *arguments), daemon=True)
        process.start()
        theirs.close()
        self._pipes[slot], self._processes[slot] = ours, process

    def tell(self, slot: int, what: object) -> None:
        """Send an object. Only ``heard`` notices a process that has ended."""
        with suppress(OSError):
            self._pipes[slot].send(what)

    def heard(self, seconds: float) -> list[tuple[int, Any]]:
        """Wait up to ``seconds`` for processes: (slot, its message), or Gone where it has ended.

        Raises OlafError where a process has found that the script starts processes when it is imported.
        """
        due = {pipe: slot for slot, pipe in self._pipes.items()}
        ready = multiprocessing.connection.wait(list(due), seconds)
        found: list[tuple[int, Any]] = []
        for pipe, slot in due.items():
            if pipe not in ready:
                continue
            try:
                found.append((slot, pipe.recv()))
            except (EOFError, OSError):
                process = self._processes[slot]
                self.stop(slot)
                if process.exitcode == _UNGUARDED:
                    script = getattr(sys.modules["__main__"], "__file__", "the script")
                    raise OlafError(
                        f"{script} starts processes whenever it is imported, as each of them does: put what "
                        'it runs under if __name__ == "__main__":'
                    ) from None
                found.append((slot, Gone(f"exit code {process.exitcode}")))
        return found

    def pids(self) -> dict[int, int]:
        """Return the process ids by slot."""
        return {slot: process.pid or 0 for slot, process in self._processes.items()}

    def stop(self, slot: int, *, kill: bool = False) -> None:
        """Let a process end, which it does when it next reads; or end it, also if it is stopped."""
        self._pipes.pop(slot).close()
        process = self._processes.pop(slot)
        if not kill:
            process.join(_PATIENCE)
        if process.exitcode is None:
            process.kill()
            process.join()

    def close(self) -> None:
        """End all, whatever they are at."""
        for slot in list(self._pipes):
            self.stop(slot, kill=True)


def _run_child(target: Callable[..., object], pipe: Connection, *arguments: object) -> None:
    if sys.platform == "linux":
        _end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the parent decides when
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        target(pipe, *arguments)


def _end_with_parent() -> None:
    """End this process with its parent, which a stopped process would outlive without noticing.

    The kernel kills it with the fork server, which ends when no process has the pipe to it open. The
    parent has it, but so does every process that it forks.
    """
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    pipe = getattr(forkserver, "_forkserver")._forkserver_alive_fd  # noqa: B009 - of Python's own
    if pipe is not None:
        os.close(pipe)


class Sleeper(Protocol):
    """Puts processes to sleep, with all their threads, and wakes them; ignores those that have ended."""

    def sleep(self, pid: int) -> None:
        """Give the core back."""

    def wake(self, pid: int) -> None:
        """Let it go on where it was."""


class Freeze:
    """Stops a process: it keeps its memory and no core, and goes on within a millisecond."""

    def sleep(self, pid: int) -> None:
        """Stop a process by SIGSTOP."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)

    def wake(self, pid: int) -> None:
        """Continue a process by SIGCONT."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def stopped(pid: int) -> bool:
    """Return whether a process is stopped or has ended, so runs no more. On Linux; False elsewhere.

    On a busy machine the kernel stops a process only when its turn comes; it runs no code of its own then.
    """
    if sys.platform != "linux":
        return False
    return _look_stopped(pid) or _look_stopped(pid)  # it may stop between the two lines of one look


def _look_stopped(pid: int) -> bool:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return True
    found = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    pending = int(found["SigPnd"][0], 16) | int(found["ShdPnd"][0], 16)
    return found["State"][0] in ("T", "Z", "X") or bool(pending >> (signal.SIGSTOP - 1) & 1)


Function = Callable[[Any, Any], Any]
"""A learner: of (weights, rows) it makes a gradient, or whatever else is to be delivered."""


class Processes:
    """A runner of learners on this machine."""

    def __init__(self, function: Function, preload: Sequence[str] = ()) -> None:
        """``function`` is one of a module; ``preload`` are modules that every learner finds imported."""
        self._children = Children([function.__module__, *preload])
        self._function = function

    def start(self, slot: int) -> None:
        self._children.start(slot, _run_learner, self._function)

    def give(self, slot: int, weights: Any, rows: Any) -> None:
        self._children.tell(slot, (weights, rows))

    def stop(self, slot: int) -> None:
        self._children.stop(slot)

    def pids(self) -> dict[int, int]:
        """Return the process ids by slot."""
        return self._children.pids()

    def serve(self, learners: Learners, seconds: float) -> bool:
        """Wait up to ``seconds`` for learners, and pass on their messages; whether there were any.

        Raises LearnerFailed where a learner's function raised an exception.
        """
        heard = self._children.heard(seconds)
        for slot, message in heard:
            if isinstance(message, Gone):
                learners.died(slot, message.reason)
                continue
            kind, value = message
            if kind == "failed":
                raise LearnerFailed(f"a learner failed: {value}")
            if kind == "ready":
                learners.ready(slot)
            else:
                learners.finished(slot, value)
        return bool(heard)

    def close(self) -> None:
        """End all, those that compute too."""
        self._children.close()


def _run_learner(pipe: Connection, function: Function) -> None:
    pipe.send(("ready", None))
    while True:
        weights, rows = pipe.recv()
        try:
            answer = "finished", function(weights, rows)
        except Exception as error:
            answer = "failed", f"{type(error).__name__}: {error}"
        pipe.send(answer)
