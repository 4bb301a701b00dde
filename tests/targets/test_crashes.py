"""Whatever dies, the state folder is enough to take the rest away and start again."""

import os
import signal
from pathlib import Path

import pytest

from olafctl.errors import OlafError
from olafctl.ports import interfaces
from olafctl.targets import processes

from .conftest import Built, program, quietly


def test_nothing_is_found_in_an_empty_folder(built: Built, tmp_path: Path) -> None:
    assert built.target.find(built.testbed, tmp_path) is None
    built.target.stop(tmp_path)
    built.target.stop(tmp_path / "not-there")


def test_stop_leaves_only_logs(built: Built, tmp_path: Path) -> None:
    state = tmp_path / "bed"
    built.target.start(built.testbed, built.build, state, quietly)
    built.target.stop(state)
    assert not processes.of(state)
    assert not interfaces.left_of(state)
    assert {path.suffix for path in state.rglob("*") if path.is_file()} == {".log"}
    assert not [path for path in state.rglob("*") if path.is_socket()]


def test_killing_any_process_is_noticed_and_start_converges(built: Built, tmp_path: Path) -> None:
    state = tmp_path / "bed"
    built.target.start(built.testbed, built.build, state, quietly)
    try:
        for index in range(len(processes.of(state))):
            victim = sorted(processes.of(state), key=lambda process: process.started)[index]
            os.kill(victim.pid, signal.SIGKILL)
            processes._wait([victim], 5.0)
            assert built.target.find(built.testbed, state) is None
            running = built.target.start(built.testbed, built.build, state, quietly)
            program(running, built.testbed)
            assert running.alive()
    finally:
        built.target.stop(state)
    assert not interfaces.left_of(state)


def test_a_start_that_fails_leaves_nothing(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "bed"
    state.mkdir()
    (state / "queue.sock").mkdir()  # nobody can listen there
    with pytest.raises(OlafError):
        built.target.start(built.testbed, built.build, state, quietly)
    assert not processes.of(state)
    assert not interfaces.left_of(state)
    (state / "queue.sock").rmdir()


def test_replay_without_virtual_time_is_refused(built: Built, tmp_path: Path) -> None:
    if built.target.name != "bmv2":
        pytest.skip("this target has virtual time")
    running = built.target.start(built.testbed, built.build, tmp_path / "bed", quietly)
    try:
        with pytest.raises(OlafError, match="virtual time"):
            next(running.replay(iter([])))
    finally:
        built.target.stop(tmp_path / "bed")
