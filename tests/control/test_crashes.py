"""After kill -9 of anything, in the middle of a deploy or a run, a deploy converges."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from olafctl.control.deploy import find_deployment
from olafctl.control.destroy import destroy_deployment
from olafctl.control.locks import lock_deployment
from olafctl.control.status import is_healthy, read_status
from olafctl.control.store import Record, RecordRole, Store, folder_of
from olafctl.targets import processes
from tests.control.conftest import bed, quietly

STEPS = [
    *(
        pytest.param(step, marks=pytest.mark.slow)
        for step in ("rendering", "starting laptop", "making ports")
    ),
    *("starting the twin", "programming"),
]
PORT = ("\nparameter_servers:", "  - {number: 9}\n\nparameter_servers:")
SIGNALS = [
    pytest.param(signal.SIGINT, marks=pytest.mark.slow),
    pytest.param(signal.SIGHUP, marks=pytest.mark.slow),
    signal.SIGTERM,
]
PROGRAM = ("\nports:", "\nudp_port: 20301\n\nports:")
"""The change to another program, so that the engine starts again."""


ENDING = """
import os, sys
from olafctl.cli.main import main
from olafswitch.console import output
wanted, how, log = sys.argv[1], int(sys.argv[2]), output.log_progress
def log_progress(step):
    log(step)
    if wanted in step:
        os.kill(os.getpid(), how)
output.log_progress = log_progress
sys.argv[1:] = sys.argv[3:]
main()
"""
"""A command that ends itself when a step begins: another process might be too late."""


def ended_at(step: str, path: Path, how: signal.Signals = signal.SIGKILL) -> int:
    """Run a deploy that ends itself as soon as ``step`` begins, and return its code."""
    line = [sys.executable, "-c", ENDING, step, str(int(how)), "deploy", str(path)]
    code = subprocess.run(line, check=False, stdout=subprocess.DEVNULL).returncode
    assert code, f"the deploy never began {step!r}"
    return code


@pytest.mark.parametrize("step", STEPS)
def test_a_first_deploy_killed_in_any_step_converges_later(step: str, state: Path, tmp_path: Path) -> None:
    laptop = bed(tmp_path / "bed.yaml")
    ended_at(step, laptop.source)
    assert quietly(laptop).changed
    assert is_healthy(read_status(Store(folder_of("laptop"))))
    assert quietly(laptop).changed is False


@pytest.mark.parametrize("step", [*STEPS[1:], "changing ports"])
def test_a_change_killed_in_any_step_converges_both_ways(step: str, state: Path, tmp_path: Path) -> None:
    old = bed(tmp_path / "old.yaml")
    new = bed(tmp_path / "new.yaml", PORT, *[PROGRAM] * (step != "changing ports"))
    quietly(old)
    ended_at(step, new.source)
    store = Store(folder_of("laptop"))
    quietly(old)
    assert (is_healthy(read_status(store)), len(read_status(store)["ports"])) == (True, 4)
    quietly(new)
    assert (is_healthy(read_status(store)), len(read_status(store)["ports"])) == (True, 5)


def test_every_process_killed_while_running_is_brought_back(state: Path, tmp_path: Path) -> None:
    laptop = bed(tmp_path / "bed.yaml")
    quietly(laptop)
    store = Store(folder_of("laptop"))
    for process in processes.find_processes(store.folder):
        os.kill(process.pid, signal.SIGKILL)
    assert read_status(store)["running"] is False
    assert quietly(laptop).started
    assert is_healthy(read_status(store))
    with lock_deployment(store.folder):
        store.put(RecordRole.WANTED, Record(laptop.text, laptop.source, "twin", "a build"))
        report = read_status(store)
        assert (report["changing"], report["interrupted"]) == (True, False)
    report = read_status(store)
    assert (report["changing"], report["interrupted"]) == (False, True)


def test_an_interrupted_deploy_is_reported_and_destroy_leaves_nothing(state: Path, tmp_path: Path) -> None:
    laptop = bed(tmp_path / "bed.yaml")
    ended_at("programming", laptop.source)
    store = Store(folder_of("laptop"))
    report = read_status(store)
    assert (report["interrupted"], is_healthy(report)) == (True, False)
    assert find_deployment(store)[0].name == "laptop"
    destroy_deployment(store)
    assert list(state.iterdir()) == []
    assert list(processes.find_processes(store.folder)) == []


@pytest.mark.parametrize("how", SIGNALS)
def test_a_deploy_that_is_asked_to_end_goes_back_first(
    how: signal.Signals, state: Path, tmp_path: Path
) -> None:
    old = bed(tmp_path / "old.yaml")
    new = bed(tmp_path / "new.yaml", PORT, PROGRAM)
    assert ended_at("starting the twin", old.source, how) == 130
    assert list(state.iterdir()) == []
    quietly(old)
    assert ended_at("starting the twin", new.source, how) == 130
    report = read_status(Store(folder_of("laptop")))
    assert (is_healthy(report), len(report["ports"])) == (True, 4)
    assert quietly(old).changed is False


def test_a_second_interrupt_does_not_stop_the_going_back(state: Path, tmp_path: Path) -> None:
    old = bed(tmp_path / "old.yaml")
    new = bed(tmp_path / "new.yaml", PORT, PROGRAM)
    quietly(old)
    line = [sys.executable, "-m", "olafctl", "deploy", str(new.source)]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for output in process.stderr:
            if "starting the twin" in output:
                process.send_signal(signal.SIGTERM)
            elif "going back" in output:
                process.send_signal(signal.SIGINT)
    assert process.returncode == 130
    report = read_status(Store(folder_of("laptop")))
    assert (is_healthy(report), len(report["ports"])) == (True, 4)
