"""Whatever dies, the state folder is enough to remove the rest and start again."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from olafctl.network import interfaces
from olafctl.targets import processes
from olafswitch.errors import OlafError
from olaftest.deployment import program_devices

from .conftest import LAPTOP, Built, quietly


def test_a_start_leaves_only_logs_once_it_is_stopped_and_nothing_where_it_fails(
    built: Built, tmp_path: Path
) -> None:
    assert built.target.find(built.testbed, tmp_path) is None
    built.target.stop(tmp_path / "not-there")
    state = tmp_path / "bed"
    state.mkdir()
    (state / "queue.sock").mkdir()  # no process can listen there
    with pytest.raises(OlafError):
        built.target.start(built.testbed, built.build, state, quietly)
    assert not processes.find_processes(state)
    assert not interfaces.left_of(state)
    (state / "queue.sock").rmdir()
    built.target.start(built.testbed, built.build, state, quietly)
    built.target.stop(state)
    assert not processes.find_processes(state)
    assert not interfaces.left_of(state)
    assert {path.suffix for path in state.rglob("*") if path.is_file()} == {".log"}
    assert not [path for path in state.rglob("*") if path.is_socket()]


def test_killing_any_process_is_noticed_and_start_converges(built: Built, tmp_path: Path) -> None:
    state = tmp_path / "bed"
    built.target.start(built.testbed, built.build, state, quietly)
    try:
        for index in range(len(processes.find_processes(state))):
            victim = sorted(processes.find_processes(state), key=lambda process: process.create_time())[index]
            os.kill(victim.pid, signal.SIGKILL)
            psutil.wait_procs([victim], 5.0)
            assert built.target.find(built.testbed, state) is None
            running = built.target.start(built.testbed, built.build, state, quietly)
            program_devices(running, built.testbed)
            assert running.alive()
    finally:
        built.target.stop(state)
    assert not interfaces.left_of(state)


KILLED_AT = """
import dataclasses, os, signal, sys
from pathlib import Path
from olafctl.targets import registry
from olafctl.targets.testbeds import load_testbed

name, source, state, fatal = sys.argv[1:]
steps = 0

def progress(step: str) -> None:
    global steps
    steps += 1
    if steps == int(fatal):
        os.kill(os.getpid(), signal.SIGKILL)

bed = dataclasses.replace(load_testbed(Path(source)), target=name)
target = registry.get_target(name)
build = target.build(bed, lambda step: None)
target.start(bed, build, Path(state), progress)
"""


@pytest.mark.slow
def test_a_start_killed_at_any_step_can_be_undone_and_repeated(built: Built, tmp_path: Path) -> None:
    state = tmp_path / "bed"
    steps: list[str] = []
    built.target.start(built.testbed, built.build, state, steps.append)
    built.target.stop(state)
    for fatal in range(1, len(steps) + 1):
        argv = [sys.executable, "-c", KILLED_AT, built.target.name, str(LAPTOP), str(state), str(fatal)]
        assert subprocess.run(argv, check=False).returncode == -signal.SIGKILL
        assert built.target.find(built.testbed, state) is None
        if fatal % 2:
            built.target.stop(state)
            assert not processes.find_processes(state)
            assert not interfaces.left_of(state)
    running = built.target.start(built.testbed, built.build, state, quietly)
    assert running.alive()
    built.target.stop(state)
    assert not interfaces.left_of(state)


def test_replay_without_virtual_time_is_refused(built: Built, tmp_path: Path) -> None:
    if built.target.name != "bmv2":
        pytest.skip("this target has virtual time")
    running = built.target.start(built.testbed, built.build, tmp_path / "bed", quietly)
    try:
        with pytest.raises(OlafError, match="virtual time"):
            next(running.replay(iter([])))
    finally:
        built.target.stop(tmp_path / "bed")
