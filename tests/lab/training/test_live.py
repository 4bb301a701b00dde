"""``olaflab train`` in wall time, on kernel sockets: Ctrl-C, a worker that is killed, --resume."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")
pytest.importorskip("torch", reason="the extra [train] is not installed")
pytest.importorskip("gymnasium", reason="the extra [train] is not installed")
pytest.importorskip("Box2D", reason="the extra [train] is not installed")
pytest.importorskip("tensorboard", reason="the extra [train] is not installed")

from olaf.policies import Plain
from olaf.server import checkpoint
from olaf.server.model import Model
from olaf.transport.segments import Segments

from olafctl.control.deploy import deploy_testbed, find_deployment
from olafctl.control.destroy import destroy_deployment
from olafctl.control.store import Store, folder_of
from olafctl.network import interfaces
from olafctl.targets import processes
from olafctl.targets.interface import of_root
from olafctl.targets.testbeds import load_testbed
from olaftest.daemon.daemon_process import DaemonProcess, running_daemon
from tests.targets.conftest import why_not

# The geometry of tests/lab/training/cosim: one build for both.
TESTBED = """
name: live
engine: {indices: 8, slots: 2, beats: 22, active_window: 1 s}
ports:
  - {number: 1, name: ps, transport: veth}
  - {number: 2, name: tor, transport: veth}
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters: [{count: 1, workers: 2, name: lander, port: 2, ip: 10.0.1.1, values: 2205, epoch: 5}]
"""
LONG = 180.0
"""A loaded machine takes its time to import torch."""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Provide the state folder of a deployment with hosts."""
    if reason := why_not("twin") or interfaces.why_not():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("live")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OLAF_STATE", str(folder))
        deploy_testbed(load_testbed(Path("live.yaml"), TESTBED), lambda step: None, with_hosts=True)
        yield folder
        destroy_deployment(Store(folder_of("live")))


def begin_training(out: Path, updates: int, *more: str) -> "subprocess.Popen[str]":
    line = [
        sys.executable,
        "-m",
        "olaflab",
        "train",
        "live",
        "--policy",
        "plain",
        "--report",
        "0.2",
        "--json",
    ]
    return subprocess.Popen(
        [*line, "--updates", str(updates), "--out", str(out), *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def read_updates(out: Path) -> list[dict[str, str]]:
    try:
        with (out / "updates.csv").open(newline="") as file:
            return list(csv.DictReader(file))
    except FileNotFoundError:
        return []


def wait_soon(condition: Callable[[], object]) -> None:
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def member_processes(training: "subprocess.Popen[str]") -> list[psutil.Process]:
    """Find the worker processes: each has a thread for its socket; the process that forks them has none."""
    below = psutil.Process(training.pid).children(recursive=True)
    return [one for one in below if one.num_threads() > 1]


def shown_heads() -> dict[str, dict[str, float]]:
    """Return the heads by worker, as the daemon shows them."""
    line = [sys.executable, "-m", "olafctl", "top", "--json"]
    (shown,) = json.loads(subprocess.run(line, capture_output=True, check=True).stdout)
    found: dict[str, dict[str, float]] = shown["heads"]
    return found


def all_gone(processes: list[psutil.Process]) -> bool:
    _, left = psutil.wait_procs(processes, timeout=LONG)
    return not left


@pytest.mark.usefixtures("live")
def test_a_worker_dies_ctrl_c_ends_it_and_it_resumes(tmp_path: Path) -> None:
    out = tmp_path / "training"
    training = begin_training(out, 100_000)
    try:
        wait_soon(lambda: {row["worker"] for row in read_updates(out)} == {"lander-w0", "lander-w1"})
        member_processes(training)[0].kill()
        count = len(read_updates(out))
        wait_soon(lambda: len(read_updates(out)) > count + 5)
        os.kill(training.pid, signal.SIGINT)
        output, errors = training.communicate(timeout=LONG)
    finally:
        training.kill()
        training.wait()
    assert training.returncode == 0, errors
    assert "has died; the others go on" in errors
    assert "Traceback" not in errors
    (cluster,) = json.loads(output)["clusters"]
    before = read_updates(out)
    assert cluster["sent"] > 0
    assert cluster["received"] > 0
    assert len(cluster["steps"]) == len(before)
    assert {path.name for path in out.iterdir()} >= {"checkpoint.npz", "reward.png", "updates.csv"}
    assert list(out.glob("events.out.tfevents.*"))

    again = begin_training(out, 1)
    output, _ = again.communicate(timeout=LONG)
    assert again.returncode != 0
    assert "--resume" in output

    most = max(int(row["number"]) for row in before)
    resumed = begin_training(out, most + 1, "--resume")
    _, errors = resumed.communicate(timeout=LONG)
    assert resumed.returncode == 0, errors
    after = read_updates(out)
    assert after[: len(before)] == before
    for worker in ("lander-w0", "lander-w1"):
        numbers = [int(row["number"]) for row in after if row["worker"] == worker]
        assert numbers == list(range(1, most + 2))
    assert float(after[len(before)]["time"]) >= float(before[-1]["time"])


def engines_updates() -> int:
    _, running = find_deployment(Store(folder_of("live")))
    assert running is not None
    return of_root(running.queues).read("out_updates")


def has_begun(out: Path) -> None:
    wait_soon(lambda: {row["worker"] for row in read_updates(out)} == {"lander-w0", "lander-w1"})


def find_rings(training: "subprocess.Popen[str]") -> list[Path]:
    return list(Path("/dev/shm").glob(f"olaf-train-{training.pid}*"))


def test_heads_go_on_when_actors_are_killed_and_leave_nothing(live: Path, tmp_path: Path) -> None:
    testbed = tmp_path / "live.yaml"
    testbed.write_text(TESTBED)
    with running_daemon(DaemonProcess("olafctl", ["daemon", str(testbed)], f"unix:{live}/.daemon/olaf.sock")):
        _heads_go_on(tmp_path / "training")


def _heads_go_on(out: Path) -> None:
    training = begin_training(out, 100_000, "--actors", "2", "--block", "16", "--learners", "auto")
    try:
        has_begun(out)
        below = psutil.Process(training.pid).children(recursive=True)
        mapped = [one for one in below if any("olaf-train" in each.path for each in one.memory_maps())]
        actors = [
            one for one in mapped if one.parent() not in mapped and one not in member_processes(training)
        ]
        assert len(actors) == 4
        actors[0].kill()
        count = len(read_updates(out))
        wait_soon(lambda: len(read_updates(out)) > count + 10)
        wait_soon(lambda: shown_heads().keys() == {"lander-w0", "lander-w1"})
        assert all((each["lag"], 0 < each["fill"] <= 1) == (0, True) for each in shown_heads().values())
        head = member_processes(training)[0]
        head.kill()  # its actors end with it
        others = [one for one in actors[1:] if one.is_running()]
        wait_soon(lambda: sum(one.is_running() for one in others) < len(others))
        os.kill(training.pid, signal.SIGINT)
        output, errors = training.communicate(timeout=LONG)
    finally:
        training.kill()
        training.wait()
    assert training.returncode == 0, errors
    assert "actors awake" in errors
    assert "of 2 heads learn" in errors
    assert "Traceback" not in errors
    assert all_gone(below)
    assert not find_rings(training)
    found = json.loads(output)
    steps, learning = found["clusters"][0]["steps"], found["learning"]
    assert learning["invocations"] == learning["batches"] == len(learning["ledger"]) == len(steps)
    assert learning["busy"] == pytest.approx(sum(each["end"] - each["start"] for each in learning["ledger"]))
    assert learning["invoked"] == pytest.approx(sum(each["cost"] for each in learning["ledger"]))
    blocks = [step["turnout"]["blocks"] for step in steps]
    assert blocks.count(2) >= len(blocks) - 2
    assert {step["turnout"]["lag"] for step in steps} == {0}
    for worker in ("lander-w0", "lander-w1"):
        seconds = [step["turnout"]["gpu"] for step in steps if step["worker"] == worker]
        assert seconds == sorted(seconds)
    assert {int(row["blocks"]) for row in read_updates(out)} <= {1, 2}


@pytest.mark.usefixtures("live")
def test_training_survives_kills_of_the_engine_and_itself(
    tmp_path: Path,
) -> None:
    out = tmp_path / "training"
    training = begin_training(out, 100_000)
    try:
        has_begun(out)
        for process in processes.of_engine(folder_of("live")):
            process.kill()
            process.wait(LONG)
        count = len(read_updates(out))
        wait_soon(lambda: len(read_updates(out)) > count + 5)
        outcome = deploy_testbed(load_testbed(Path("live.yaml"), TESTBED), lambda step: None)
        assert (outcome.started, outcome.hosts) == (True, ())
        wait_soon(lambda: engines_updates() > 5)
        wait_soon(lambda: len(list((out / "optimisers").glob("*.npz"))) == 2)
        training.kill()
        _, errors = training.communicate(timeout=LONG)
    finally:
        training.kill()
        training.wait()
    assert "the engine does not answer: olafctl deploy live" in errors
    assert "Traceback" not in errors
    most = max(int(row["number"]) for row in read_updates(out))
    resumed = begin_training(out, most + 1, "--resume")
    output, errors = resumed.communicate(timeout=LONG)
    assert resumed.returncode == 0, errors
    assert all(count >= 0 for count in json.loads(output)["engine"].values())


@pytest.mark.usefixtures("live")
def test_the_second_ctrl_c_ends_it_at_once(tmp_path: Path) -> None:
    out = tmp_path / "training"
    training = begin_training(out, 100_000, "--step-cost", "1000")
    assert training.stderr is not None
    try:
        while "waiting for the first update" not in training.stderr.readline():
            assert training.poll() is None
        wait_soon(lambda: len(member_processes(training)) == 2)
        below = psutil.Process(training.pid).children(recursive=True)
        for worker in member_processes(training):
            worker.suspend()  # so it cannot end for the first
        os.kill(training.pid, signal.SIGINT)
        while "Ctrl-C again ends at once" not in training.stderr.readline():
            assert training.poll() is None
        os.kill(training.pid, signal.SIGINT)
        _, errors = training.communicate(timeout=LONG)
    finally:
        training.kill()
        training.wait()
    assert training.returncode == 130, errors
    assert "Traceback" not in errors
    assert all_gone(below)


@pytest.mark.usefixtures("live")
def test_a_training_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    training = begin_training(tmp_path / "training", 100_000, "--step-cost", "1000")
    try:
        wait_soon(lambda: len(member_processes(training)) == 2)
        # Mostly in the wait for the time that an update takes at least.
        wait_soon(
            lambda: all(worker.status() == psutil.STATUS_SLEEPING for worker in member_processes(training))
        )
        below = psutil.Process(training.pid).children(recursive=True)
    finally:
        training.kill()
        training.communicate(timeout=LONG)
    assert all_gone(below)


@pytest.mark.usefixtures("live")
def test_what_was_trained_before_must_fit(tmp_path: Path) -> None:
    """A folder with the weights of another network, and one whose checkpoint is damaged."""
    for name, content in (("torn", b"PK"), ("none", b"")):
        out = tmp_path / name
        out.mkdir()
        (out / "updates.csv").touch()
        (out / "checkpoint.npz").write_bytes(content)
        training = begin_training(out, 1, "--resume")
        output, errors = training.communicate(timeout=LONG)
        assert training.returncode == 2
        assert "not a whole checkpoint" in output + errors
    out = tmp_path / "other"
    out.mkdir()
    (out / "updates.csv").touch()
    model = Model(Segments(100, 1), np.zeros(100, np.float32), Plain)
    checkpoint.save(out / "checkpoint.npz", {"lander": model}, {"lander": 5})
    training = begin_training(out, 1, "--resume")
    output, errors = training.communicate(timeout=LONG)
    assert training.returncode == 2
    assert "has 100 values of lander" in output + errors


@pytest.mark.usefixtures("live")
def test_ray_runs_the_same_workers(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="the extra [ray] is not installed")
    training = begin_training(tmp_path / "training", 2, "--ray", "local")
    output, errors = training.communicate(timeout=LONG)
    assert training.returncode == 0, errors
    (cluster,) = json.loads(output)["clusters"]
    assert [step["worker"] for step in cluster["steps"]].count("lander-w0") == 2
    assert len(cluster["steps"]) == 4
    assert 0 < cluster["received"] <= cluster["sent"]


def test_without_hosts_it_says_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := why_not("twin"):
        pytest.skip(reason)
    monkeypatch.setenv("OLAF_STATE", str(tmp_path))
    deploy_testbed(
        load_testbed(Path("live.yaml"), TESTBED.replace("veth", "unix")), lambda step: None, with_hosts=False
    )
    try:
        training = begin_training(tmp_path / "out", 1)
        output, errors = training.communicate(timeout=LONG)
    finally:
        destroy_deployment(Store(folder_of("live")))
    assert training.returncode != 0
    assert "deploy --hosts" in output + errors
    assert not (tmp_path / "out").exists()
