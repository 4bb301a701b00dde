"""A deployment's processes are found and ended by its folder, whichever process started or lost them."""

import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from olafctl.targets import processes
from olafswitch.errors import OlafError


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    processes.end_all(tmp_path)


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


READY = """
import json, os, sys, time
with os.fdopen(int(sys.argv[-1]), "w") as pipe:
    pipe.write(json.dumps({"pid": os.getpid()}) + chr(10))
time.sleep(600)
"""
STUBBORN = READY.replace(
    "time.sleep", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep"
)


def test_a_process_says_that_it_is_ready(state: Path) -> None:
    answer = processes.spawn_ready(python(READY), state, state / "log", 20)
    assert [process.pid for process in processes.find_processes(state)] == [answer["pid"]]


def test_a_process_that_ends_is_an_error_with_its_last_words(state: Path) -> None:
    with pytest.raises(OlafError, match="no such queue"):
        processes.spawn_ready(python("raise SystemExit('no such queue')"), state, state / "log", 20)
    assert not processes.find_processes(state)


def test_a_process_that_says_nothing_is_ended(state: Path) -> None:
    with pytest.raises(OlafError):
        processes.spawn_ready(python("import time; time.sleep(600)"), state, state / "log", 0.2)
    assert not processes.find_processes(state)


def test_end_all_ends_children_that_were_left_alone(state: Path) -> None:
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    processes.spawn_process(python(code), state, state / "log").wait()
    assert len(processes.find_processes(state)) == 1
    processes.end_all(state)
    assert not processes.find_processes(state)


def test_a_process_that_ignores_sigterm_is_killed(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_TERMINATION_SECONDS", 0.3)
    processes.spawn_ready(python(STUBBORN), state, state / "log", 20)
    processes.end_all(state)
    assert not processes.find_processes(state)


def test_others_are_left_alone(state: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    processes.spawn_ready(python(READY), other, other / "log", 20)
    processes.end_all(state)
    assert len(processes.find_processes(other)) == 1
    processes.end_all(other)


def test_how_a_process_ended_is_logged(state: Path) -> None:
    log = state / "log"
    killed = processes.spawn_process(
        python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"), state, log
    )
    assert killed.wait() == 128 + signal.SIGKILL
    assert re.search(r"^20\d\d-\S+Z  .* was ended by signal KILL$", log.read_text(), re.MULTILINE)
    processes.spawn_process(python("raise SystemExit(3)"), state, log).wait()
    assert "exited with code 3" in log.read_text().splitlines()[-1]


def test_an_end_on_purpose_leaves_no_note(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = state / "bin"
    slow.mkdir()
    (slow / "cat").write_text('#!/bin/sh\n/bin/cat "$@"\nsleep 1\n')  # between its look and its last line
    (slow / "cat").chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow}:{os.environ['PATH']}")
    processes.spawn_ready(python(READY), state, state / "log", 20)
    (note,) = state.glob("*.life")
    watcher = psutil.Process(int(note.read_text().split()[-1]))
    processes.end_all(state)
    psutil.wait_procs([watcher], 20)
    assert not note.exists()


def test_a_program_that_is_not_there_is_named(state: Path) -> None:
    with pytest.raises(OlafError, match="no-such-program"):
        processes.spawn_process(["no-such-program"], state, state / "log")


def test_the_folders_of_processes_are_known_when_they_are_gone(tmp_path: Path) -> None:
    folder = tmp_path / "bed"
    folder.mkdir()
    processes.spawn_ready(python(READY), folder, tmp_path / "log", 20)
    folder.rmdir()
    try:
        assert folder.resolve() in processes.find_states()
    finally:
        processes.end_all(folder)


def wait_for(process: psutil.Process, status: str) -> None:
    deadline = time.monotonic() + 60
    while process.status() != status:  # a signal arrives when the kernel runs the process
        assert time.monotonic() < deadline


def test_what_is_stopped_is_known_until_it_goes_on(state: Path) -> None:
    running = psutil.Process(processes.spawn_ready(python(READY), state, state / "one.log", 20)["pid"])
    assert not processes.list_stopped(state)
    running.suspend()
    wait_for(running, psutil.STATUS_STOPPED)
    [seen] = processes.list_stopped(state)
    assert f"kill -CONT {running.pid}" in seen
    running.resume()
    wait_for(running, psutil.STATUS_SLEEPING)
    assert not processes.list_stopped(state)


def test_a_program_in_a_namespace_is_reported_by_its_own_name(state: Path) -> None:
    line = ["ip", "netns", "exec", "olaf-no-such-namespace", "sleep", "600"]
    processes.spawn_process(line, state, state / "one.log").wait()
    [seen] = processes.list_died(state)
    assert "  sleep exited with code " in seen


def test_what_died_is_known_until_it_is_started_again(state: Path) -> None:
    running = processes.spawn_ready(python(READY), state, state / "one.log", 20)
    processes.spawn_process(python("raise SystemExit(3)"), state, state / "two.log").wait()
    [seen] = processes.list_died(state)
    assert re.fullmatch(r"\S+Z  \S+ exited with code 3 \(see two\.log\)", seen)
    processes.spawn_ready(python(READY), state, state / "two.log", 20)
    assert not processes.list_died(state)
    killed = next(each for each in processes.find_processes(state) if each.pid == running["pid"])
    watcher = killed.parent()
    assert watcher is not None
    watcher.kill()
    watcher.wait(20)
    assert not processes.list_died(state)
    killed.kill()
    killed.wait(20)
    assert processes.list_died(state) == ["what wrote one.log exited without output"]
    processes.end_engine(state)
    assert not processes.list_died(state)
