"""Locks of a deployment have one holder at a time, also when the file disappears while others take it."""

import fcntl
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pytest

from olafctl.control.locks import CHANGE, USE, hold_lock, lock_deployment, unless_changing
from olafswitch.errors import OlafError


def test_only_one_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    with lock_deployment(folder):
        for name in (CHANGE, USE):
            with pytest.raises(OlafError, match="one: another olafctl is at work"), hold_lock(folder, name):
                pass
        with unless_changing(folder) as quiet:
            assert not quiet
        (folder / "something").touch()
    with unless_changing(folder) as quiet, pytest.raises(OlafError), lock_deployment(folder):
        assert quiet


def test_a_use_keeps_others_out_but_not_a_regrouping(tmp_path: Path) -> None:
    with hold_lock(tmp_path, USE):
        with pytest.raises(OlafError, match="at work"), lock_deployment(tmp_path):
            pass
        with hold_lock(tmp_path, CHANGE):
            pass


def test_what_was_made_for_the_lock_alone_goes_with_it(tmp_path: Path) -> None:
    with lock_deployment(tmp_path / "one"):
        assert (tmp_path / "one" / CHANGE).is_file()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_on_a_removed_file_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = fcntl.flock
    removed: list[IO[str]] = []

    def late(file: IO[str], how: int) -> None:
        if not removed:
            (tmp_path / CHANGE).unlink()
            removed.append(file)
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with hold_lock(tmp_path, CHANGE):
        assert removed and (tmp_path / CHANGE).is_file()
        with pytest.raises(OlafError, match="at work"), hold_lock(tmp_path, CHANGE):
            pass


def test_a_lock_that_outlives_its_holder_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed olafctl's lock stays with the program that it was about to start."""
    with subprocess.Popen(["true"]) as ended:
        pass
    (tmp_path / CHANGE).write_text(f"{ended.pid} olafctl deploy")
    inherited = (tmp_path / CHANGE).open("a")
    fcntl.flock(inherited, fcntl.LOCK_EX)
    monkeypatch.setattr(time, "sleep", lambda seconds: inherited.close())
    with hold_lock(tmp_path, CHANGE):
        assert inherited.closed


def test_a_lock_is_waited_for_with_patience(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as other:
        other.enter_context(hold_lock(tmp_path, CHANGE))
        with pytest.raises(OlafError, match="at work"), hold_lock(tmp_path, CHANGE, patience=0.1):
            pass
        monkeypatch.setattr(time, "sleep", lambda seconds: other.close())
        with hold_lock(tmp_path, CHANGE, patience=60.0):
            pass


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["/usr/bin/olafctl", "deploy", "my.yaml"], "olafctl deploy"),
        (["olafctl", "--log-level", "info", "--log-json", "daemon", "my"], "olafctl daemon"),
        (["olafctl", "--log-level=info", "daemon"], "olafctl daemon"),
        (["olafctl"], "olafctl"),
    ],
)
def test_the_holder_of_a_lock_is_reported_by_its_verb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], shown: str
) -> None:
    monkeypatch.setattr(sys, "argv", words)
    refused = pytest.raises(OlafError, match=rf"\({shown}, process \d+\)")
    with lock_deployment(tmp_path / "bed"), refused, lock_deployment(tmp_path / "bed"):
        pass
