"""The processes of a deployment: started detached, found again and ended whatever crashed in between.

Every process carries the state folder in its environment, so the folder alone is enough to find them all,
also those that nobody came to record.
"""

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olafctl.errors import OlafError, Problem

_MARK = "OLAF_DEPLOYMENT"
_PROC = Path("/proc")
_POLITE_SECONDS = 5.0
_LAST_LINES = 5


@dataclass(frozen=True)
class Process:
    """A process: ``started`` (clock ticks since boot) tells it from a later one of the same pid."""

    pid: int
    started: int

    def alive(self) -> bool:
        """Whether any of its threads still runs (a zombie's do not)."""
        fields = _stat(self.pid)
        return fields is not None and _runs(fields) and int(fields[19]) == self.started


def spawn(
    argv: Sequence[str], state: Path, log: Path, pass_fds: Sequence[int] = (), folder: Path | None = None
) -> subprocess.Popen[bytes]:
    """Start ``argv`` in a session of its own (and in ``folder``), its output going to ``log``.

    Raises OlafError.
    """
    env = {**os.environ, _MARK: str(state.resolve())}
    try:
        with log.open("ab") as output:
            return subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=env,
                pass_fds=pass_fds,
                cwd=folder,
                start_new_session=True,
            )
    except OSError as error:
        raise OlafError(Problem(f"cannot be started: {error.strerror}", argv[0])) from error


def spawn_ready(argv: Sequence[str], state: Path, log: Path, seconds: float) -> Any:
    """Start ``argv`` with ``--ready-fd N`` added and return the JSON value it writes there when ready.

    Raises OlafError when it ends or says nothing within ``seconds``; it is ended then.
    """
    reading, writing = os.pipe()
    process: subprocess.Popen[bytes] | None = None
    try:
        try:
            process = spawn([*argv, "--ready-fd", str(writing)], state, log, (writing,))
        finally:
            os.close(writing)
        answer = _read_all(reading, seconds)
        if not answer:
            raise OlafError(Problem(last_words(log), "starting", f"see {log}"))
        return json.loads(answer)
    except BaseException:
        if process is not None:
            process.kill()
            process.wait()
        raise
    finally:
        os.close(reading)


def say_ready(descriptor: int, value: Any) -> None:
    """In the started process: tell :func:`spawn_ready` ``value``."""
    with os.fdopen(descriptor, "w") as pipe:
        json.dump(value, pipe)


def of(state: Path) -> Sequence[Process]:
    """Every process of the deployment in ``state`` that this user may look at, but the caller."""
    mark = f"{_MARK}={state.resolve()}".encode()
    return [process for process in _all() if process.pid != os.getpid() and mark in _environment(process.pid)]


def states() -> set[Path]:
    """The state folders, there or deleted, of every process of a deployment that this user may look at."""
    mark = f"{_MARK}=".encode()
    variables = (variable for process in _all() for variable in _environment(process.pid))
    return {Path(os.fsdecode(each.removeprefix(mark))) for each in variables if each.startswith(mark)}


def end_all(state: Path) -> None:
    """End every process of ``state``: asked first, killed after 5 s.

    Raises OlafError when one stays.
    """
    mine = of(state)
    for how, patience in ((signal.SIGTERM, _POLITE_SECONDS), (signal.SIGKILL, _POLITE_SECONDS)):
        for process in mine:
            _signal(process, how)
        _wait(mine, patience)
        mine = of(state)  # what they started meanwhile belongs to it too
        if not mine:
            return
    problems = (Problem("does not end", f"process {process.pid}", "end it as its owner") for process in mine)
    raise OlafError(*problems)


def last_words(log: Path) -> str:
    """The end of ``log`` on one line, for an error."""
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return " / ".join(lines[-_LAST_LINES:]) or "ended without a word"


def _all() -> Iterator[Process]:
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            fields = _stat(int(entry.name))
            if fields is not None and _runs(fields):
                yield Process(int(entry.name), int(fields[19]))


def _stat(pid: int) -> Sequence[str] | None:
    """The fields of /proc/PID/stat from the state on: the command before it may hold anything."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _runs(fields: Sequence[str]) -> bool:
    # A first thread that ended is a zombie while others still hold the process's files.
    return fields[0] != "Z" or int(fields[17]) > 1


def _environment(pid: int) -> Sequence[bytes]:
    try:
        return (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return ()


def _signal(process: Process, how: signal.Signals) -> None:
    with suppress(OSError):
        handle = os.pidfd_open(process.pid)
        try:
            # The handle holds the pid still while its identity is looked at.
            if process.alive():
                signal.pidfd_send_signal(handle, how)
        finally:
            os.close(handle)


def _wait(processes: Sequence[Process], seconds: float) -> None:
    end = time.monotonic() + seconds
    for process in processes:
        with suppress(OSError):
            handle = os.pidfd_open(process.pid)
            try:
                if process.alive():
                    _readable(handle, end)
            finally:
                os.close(handle)
            with suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)


def _read_all(descriptor: int, seconds: float) -> bytes:
    end = time.monotonic() + seconds
    answer = b""
    while _readable(descriptor, end):
        part = os.read(descriptor, 65536)
        if not part:
            return answer
        answer += part
    return b""


def _readable(descriptor: int, end: float) -> bool:
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(max(end - time.monotonic(), 0) * 1000))
