"""The processes of a deployment: started detached, found again and ended whatever crashed in between.

Every process carries the state folder in its environment, so the folder alone is enough to find them all,
also those that were never recorded. Each is started by a shell that waits for it and logs how it ended, for a
killed process cannot.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from olafctl.network import interfaces
from olafctl.network.ip import HOST, OWNER
from olafswitch.errors import OlafError, Problem
from olafswitch.ports.namespace import processes_in

_TERMINATION_SECONDS = 5.0
_LAST_LINES = 5
_LIFE = ".life"
_WATCH = """\
mark=$1; life=$2; name=$3; shift 3
printf 'runs as %s\n' "$$" > "$life"
env "$mark" "$@"
code=$?
[ "$code" -gt 128 ] && how="was ended by signal $(kill -l "$code")" || how="exited with code $code"
end=$(printf '%s  %s %s' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$name" "$how")
printf '%s\\n' "$end"
[ "$(cat "$life" 2>/dev/null)" = "runs as $$" ] && printf '%s\\n' "$end" > "$life"
exit "$code"
"""
"""The shell has no mark in its own environment: ending a deployment leaves it to log the end."""


def spawn_process(
    argv: Sequence[str], state: Path, log: Path, pass_fds: Sequence[int] = (), folder: Path | None = None
) -> subprocess.Popen[bytes]:
    """Start ``argv`` in its own session (and in ``folder``), with its output going to ``log``.

    :func:`list_died` reports its end. Raises OlafError.
    """
    if shutil.which(argv[0]) is None:
        raise OlafError(Problem("cannot be started: the program does not exist", argv[0]))
    mark = f"{OWNER}={state.resolve()}"
    try:
        with log.open("ab") as output:
            return subprocess.Popen(
                [
                    "/bin/sh",
                    "-c",
                    _WATCH,
                    "olaf",
                    mark,
                    str(_life_file(log).resolve()),
                    _program_name(argv),
                    *argv,
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=pass_fds,
                cwd=folder,
                start_new_session=True,
            )
    except OSError as error:
        raise OlafError(Problem(f"cannot be started: {error.strerror}", argv[0])) from error


def spawn_ready(argv: Sequence[str], state: Path, log: Path, seconds: float) -> Any:
    """Start ``argv`` with ``--ready-fd N`` added and return the JSON line that it writes there when ready.

    Raises OlafError when it ends or writes nothing within ``seconds``; it is ended then.
    """
    reading, writing = os.pipe()
    process: subprocess.Popen[bytes] | None = None
    try:
        try:
            process = spawn_process([*argv, "--ready-fd", str(writing)], state, log, (writing,))
        finally:
            os.close(writing)
        if (answer := _read_line(reading, seconds)) is None:
            what = f"is not ready after {seconds:g} s: {last_words(log) or 'no output'}"
            raise OlafError(Problem(what, "starting", f"see {log}"))
        if not answer:
            raise OlafError(Problem(last_words(log) or "exited without output", "starting", f"see {log}"))
        return json.loads(answer)
    except BaseException:
        if process is not None:
            _kill_started(process)
        raise
    finally:
        os.close(reading)


def say_ready(descriptor: int | None, value: Any) -> None:
    """Send ``value`` to :func:`spawn_ready` from the started process; ``None``: no process waits for it."""
    if descriptor is None:
        return
    with os.fdopen(descriptor, "w") as pipe:
        pipe.write(json.dumps(value) + "\n")


STOPPED = (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
"""The states of a process that a signal, or a debugger, has stopped."""


def find_processes(state: Path) -> Sequence[psutil.Process]:
    """Return every process of the deployment in ``state`` except the caller that this user may inspect: those
    that carry its folder, and those in one of its network namespaces."""
    wanted = str(state.resolve())
    others = _other_processes()
    inside = processes_in(interfaces.namespaces_of(state), (process.pid for process in others))
    return [
        process
        for process in others
        if (process.pid in inside or _deployment_of(process) == wanted) and is_running(process)
    ]


def of_engine(state: Path) -> Sequence[psutil.Process]:
    """Return the processes of the deployment in ``state`` that are not programs of its hosts."""
    return [process for process in find_processes(state) if _is_of_engine(process)]


def list_died(state: Path) -> Sequence[str]:
    """Return the processes of ``state`` that have ended by themselves, each with how, when and its log."""
    return [how for _, how in _find_dead(state)]


def words_of_dead(state: Path) -> Mapping[str, str]:
    """Return the last lines of the log of each process that has ended by itself, by the log's name."""
    return {log: words for log, _ in _find_dead(state) if (words := last_words(state / log))}


def _find_dead(state: Path) -> Iterator[tuple[str, str]]:
    for life in sorted(state.glob(f"*{_LIFE}")):
        log = life.name.removesuffix(_LIFE)
        with suppress(OSError):
            noted = life.read_text().strip()
            watcher = noted.removeprefix("runs as ")
            if watcher == noted:
                yield log, f"{noted} (see {log})"
            elif _find_watcher(life) is None and not _is_written(state, log):
                yield log, f"what wrote {log} exited without output"


def list_stopped(state: Path) -> Sequence[str]:
    """Return the processes of the deployment's engine that a signal has stopped, each with the remedy."""
    found = []
    for process in of_engine(state):
        with suppress(psutil.Error):
            if process.status() in STOPPED:
                found.append(f"{_program_name(process.cmdline())} (kill -CONT {process.pid} lets it go on)")
    return found


def find_states() -> set[Path]:
    """Return the state folders, existing or deleted, of every process of a deployment that this user may
    inspect."""
    found = (_deployment_of(process) for process in psutil.process_iter())
    return {Path(folder) for folder in found if folder is not None}


def is_running(process: psutil.Process) -> bool:
    """Return whether any thread of the process still runs."""
    try:
        # A first thread that ended is a zombie while others still have the process's files.
        return process.is_running() and (
            process.status() != psutil.STATUS_ZOMBIE or process.num_threads() > 1
        )
    except psutil.Error:
        return False


def end_all(state: Path) -> None:
    """End every process of ``state``: SIGTERM first, killed after 5 s.

    Raises OlafError when one remains.
    """
    _end_processes(lambda: find_processes(state))
    _forget_ended(state)


def end_engine(state: Path) -> None:
    """End the processes of ``state`` except its hosts' programs: SIGTERM first, killed after 5 s.

    Raises OlafError when one remains.
    """
    _end_processes(lambda: of_engine(state))
    _forget_ended(state)


def end_in(namespace: str) -> None:
    """End every process in a network namespace: SIGTERM first, killed after 5 s.

    Raises OlafError when one remains.
    """

    def inside() -> Sequence[psutil.Process]:
        others = _other_processes()
        found = processes_in([namespace], (process.pid for process in others))
        return [process for process in others if process.pid in found and is_running(process)]

    _end_processes(inside)


def last_words(log: Path) -> str:
    """Return the end of ``log`` on one line, for an error; empty without output."""
    with suppress(OSError):
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
        return " / ".join(lines[-_LAST_LINES:])
    return ""


def _end_processes(find: Callable[[], Sequence[psutil.Process]]) -> None:
    mine = find()
    for how in (signal.SIGTERM, signal.SIGKILL):
        for process in mine:
            with suppress(psutil.Error):
                process.send_signal(how)
        psutil.wait_procs(mine, _TERMINATION_SECONDS)
        mine = find()  # processes that they started meanwhile belong to it, too
        if not mine:
            return
    problems = (Problem("does not end", f"process {process.pid}", "end it as its owner") for process in mine)
    raise OlafError(*problems)


def _other_processes() -> Sequence[psutil.Process]:
    """Return every process but the caller."""
    return [process for process in psutil.process_iter() if process.pid != os.getpid()]


def _life_file(log: Path) -> Path:
    """Return the file with the state of the process that writes ``log``."""
    return log.with_name(log.name + _LIFE)


def _forget_ended(state: Path) -> None:
    """Remove the notes of processes that were ended on purpose, once their watchers have written the end."""
    notes = list(state.glob(f"*{_LIFE}"))
    psutil.wait_procs(filter(None, map(_find_watcher, notes)), _TERMINATION_SECONDS)
    for life in notes:
        life.unlink(missing_ok=True)


def _find_watcher(life: Path) -> psutil.Process | None:
    """Return the shell that keeps this note, while it runs."""
    with suppress(OSError, ValueError, psutil.Error):
        found = psutil.Process(int(life.read_text().strip().removeprefix("runs as ")))
        return found if str(life.resolve()) in found.cmdline() else None
    return None


def _is_written(state: Path, log: str) -> bool:
    """Return whether a process of the deployment still has ``log`` as its output, though its watcher was
    killed."""
    for process in find_processes(state):
        with suppress(OSError):
            if Path(f"/proc/{process.pid}/fd/1").samefile(state / log):
                return True
    return False


def _program_name(argv: Sequence[str]) -> str:
    """Return a program's name for a log: a Python module's, or the program's, in whatever network it runs."""
    if list(argv[:3]) == ["ip", "netns", "exec"]:
        argv = argv[4:]
    return argv[2] if argv[1:2] == ["-m"] else Path(argv[0]).name


def _deployment_of(process: psutil.Process) -> str | None:
    """Return the state folder in a process's environment."""
    return _read_environment(process).get(OWNER)


def _is_of_engine(process: psutil.Process) -> bool:
    environment = _read_environment(process)
    return OWNER in environment and HOST not in environment


def _read_environment(process: psutil.Process) -> Mapping[str, str]:
    """Return a process's environment; empty where this user may not inspect it."""
    try:
        environment: dict[str, str] = process.environ()
    except (psutil.Error, OSError):
        return {}
    return environment


def _kill_started(started: subprocess.Popen[bytes]) -> None:
    """Kill the shell that :func:`spawn_process` started, and the program that it waits for."""
    with suppress(psutil.NoSuchProcess):
        shell = psutil.Process(started.pid)
        family = [*shell.children(recursive=True), shell]
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(family, _TERMINATION_SECONDS)
    started.wait()


def _read_line(descriptor: int, seconds: float) -> bytes | None:
    """Return the first line; nothing when the other end closes before it is complete, None when ``seconds``
    pass."""
    end = time.monotonic() + seconds
    line = b""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    while waiting.poll(max(end - time.monotonic(), 0) * 1000):
        part = os.read(descriptor, 65536)
        line += part
        if not part or line.endswith(b"\n"):
            return line if part else b""
    return None
