"""An operator's terminal, pipe or disk must not change what a command does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run

OLAFCTL = [sys.executable, "-m", "olafctl"]
BED = Path(__file__).parents[1] / "packets" / "testbed.yaml"


@pytest.fixture(autouse=True)
def buffered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffer the output, as for an operator; some machines that run tests do not."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)


def test_a_deploy_with_unread_progress_finishes(run: Run, state: Path) -> None:
    line = [*OLAFCTL, "deploy", str(BED)]
    try:
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as deploying:
            assert deploying.stdout is not None and deploying.stderr is not None
            deploying.stderr.readline()
            deploying.stderr.close()  # `2>&1 | head -1` does this
            deploying.stdout.read()
        assert deploying.returncode == 0
        assert json.loads(run("status", "--json").out)["drift"] == []
    finally:
        assert run("destroy", "--all").code == 0


def test_progress_onto_a_full_disk_is_lost_and_nothing_else(run: Run, state: Path) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([*OLAFCTL, "build", str(BED)], stderr=full, check=False)
    assert ended.returncode == 0


def test_an_unread_error_keeps_its_code() -> None:
    for line, code in ((["deploy", "no-such-testbed"], 2), (["no-such-verb"], 2)):
        with Path("/dev/full").open("w") as full:
            assert subprocess.run([*OLAFCTL, *line], stderr=full, check=False).returncode == code


def test_unread_results_are_a_plain_failure() -> None:
    line = [*OLAFCTL, "init", "--help"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as asking:
        assert asking.stdout is not None and asking.stderr is not None
        asking.stdout.close()
        assert asking.stderr.read() == b""
    assert asking.returncode == 1


def test_what_a_terminal_cannot_show_is_shown_otherwise() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    ended = subprocess.run([*OLAFCTL, "demo", "--help"], env=environment, capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"60 \\u2192 40 and 60 \\u2192 20 Gb/s" in b" ".join(ended.stdout.split())


INTERRUPTED = """
import builtins, os, signal, sys
from olafctl.__main__ import main
left, load = int(sys.argv.pop(1)), builtins.__import__
def counting(*arguments, **named):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGINT)
    return load(*arguments, **named)
builtins.__import__ = counting
main()
"""


@pytest.mark.parametrize("imports", [1, 20, 400])
def test_an_interrupt_while_modules_are_loaded_is_one_line(imports: int) -> None:
    line = [sys.executable, "-c", INTERRUPTED, str(imports), "status"]
    ended = subprocess.run(line, check=False, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted\n")


def test_an_error_steers_no_terminal(run: Run) -> None:
    ended = run("deploy", "bed\x1b[2J\n.yaml")
    assert ended.code == 2
    assert "bed\\x1b[2J\\n.yaml" in ended.err
    assert "\x1b" not in ended.err
