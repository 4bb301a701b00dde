"""A worker's host is examined: each fault is found, with what to do about it."""

import io
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, redirect_stdout
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import olaf
from olaf.doctor import rings
from olaf.doctor.__main__ import main
from olaf.experience import DataKey, Ring, Writer, layout

VALUES = 100
EPOCH = 3


@pytest.fixture
def server() -> Iterator[str]:
    """Provide a parameter server without weights, with no engine in front of it."""
    epochs = {"default": EPOCH}
    with closing(olaf.ParameterServer("127.0.0.1:0", policy="plain", epochs=epochs)) as running:
        yield f"127.0.0.1:{running.address[1]}"


@pytest.fixture
def trained(server: str) -> str:
    """Provide a parameter server with weights."""
    with closing(olaf.Worker(server, VALUES, epoch=EPOCH, local="127.0.0.1:0")) as worker:
        worker.begin(np.ones(VALUES, np.float32))
        assert worker.wait(20.0)
    return server


def examined(server: str, **options: float) -> tuple[int, dict[str, dict[str, Any]]]:
    """Exit code, and the findings by what was examined."""
    line = [f"--{name}={value}" for name, value in options.items()]
    with redirect_stdout(io.StringIO()) as printed:
        code = main([server, "--json", *line])
    return code, {found["check"]: found for found in json.loads(printed.getvalue())}


def verdicts(found: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {check: finding["verdict"] for check, finding in found.items() if finding["verdict"] != "warning"}


def test_without_a_program_at_the_server_it_says_so() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    code, found = examined(address, wait=0.4)
    assert (code, found["server"]["verdict"]) == (1, "fault")
    assert "no program listens" in found["server"]["what"]
    assert "olafctl server" in found["server"]["remedy"]


@pytest.mark.parametrize(
    "address, check, part, says",
    [("", "server", "what", "nothing comes back"), ("olaf://lander@", "membership", "remedy", "daemon")],
)
def test_where_nothing_comes_back_it_says_what_may_be_missing(
    address: str, check: str, part: str, says: str
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        code, found = examined(f"{address}127.0.0.1:{silent.getsockname()[1]}", wait=0.4)
    assert (code, found[check]["verdict"]) == (1, "fault")
    assert says in found[check][part]


def test_a_server_without_weights_is_fine_but_cannot_acknowledge(server: str) -> None:
    code, found = examined(server, epoch=EPOCH, values=VALUES)
    assert code == 0
    assert verdicts(found) == {
        "route": "ok", "mtu": "ok", "server": "ok", "model": "ok", "engine": "skipped",
    }  # fmt: skip


FAULTS: dict[str, tuple[dict[str, float], str, str]] = {
    "epoch": ({"epoch": 0, "wait": 0.4}, f"epoch {EPOCH}", f"epoch={EPOCH}"),
    "model": ({"values": VALUES + 1}, "trains 100 values in 1 segments, here are 101 in 1", ""),
    "engine": ({}, "no queue status", "olafctl worker join"),
    "mtu": ({"values": 20_000, "segments": 1}, "has 80058 bytes, the MTU of lo is 65536", ""),
}
"""Faults, the options that cause them, and parts of the finding and its remedy."""


@pytest.mark.parametrize("check", FAULTS)
def test_a_fault_is_found_with_its_remedy(trained: str, check: str) -> None:
    options, what, remedy = FAULTS[check]
    code, found = examined(trained, **{"epoch": EPOCH, "values": VALUES, **options})
    assert (code, found[check]["verdict"]) == (1, "fault")
    assert what in found[check]["what"] and remedy in found[check]["remedy"]


def test_a_division_that_a_worker_takes_over_is_fine(trained: str) -> None:
    code, found = examined(trained, epoch=EPOCH, values=VALUES, mtu=400)
    assert found["model"]["verdict"] == "ok"
    assert "no queue status" in found["engine"]["what"]
    code, found = examined(trained, epoch=EPOCH, values=VALUES, segments=2)
    assert (code, found["model"]["verdict"]) == (1, "fault")


def test_an_examination_changes_no_weights(trained: str) -> None:
    examined(trained, epoch=EPOCH, values=VALUES)
    with closing(olaf.Worker(trained, VALUES, epoch=EPOCH, local="127.0.0.1:0")) as worker:
        worker.begin(np.zeros(VALUES, np.float32))
        assert worker.wait(20.0)
        (block,) = worker.poll()
    assert block.values.tolist() == [1.0] * VALUES


def test_an_address_in_no_known_form_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["olaf://nowhere"]) == 2
    assert "names no cluster" in capsys.readouterr().err


def test_a_policy_that_adds_all_steps_is_named(trained: str) -> None:
    _, found = examined(trained, epoch=EPOCH, values=VALUES)
    assert found["policy"]["verdict"] == "warning"
    assert "--workers N" in found["policy"]["remedy"]


# Rings

BLOCK = 4


class Clock:
    """Time that passes only while the doctor sleeps; then the training goes on."""

    def __init__(self, goes_on: Callable[[], object]) -> None:
        self._now, self._goes_on = 0.0, goes_on

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds
        self._goes_on()


class Head:
    """Two actors and a learner, step by step."""

    def __init__(self, name: str, **options: Any) -> None:
        self.ring = Ring(layout({"reward": ()}), 2 * BLOCK, 2, name=name, **options)
        self.trigger = DataKey(self.ring, "learn", 1, BLOCK)
        self._writers = [Writer(self.ring, actor) for actor in range(2)]
        self.taken: Any = None

    def play(self, actor: int = 0) -> None:
        self._writers[actor].write({"reward": np.zeros(BLOCK)})
        self.trigger.check()

    def take(self) -> None:
        self.taken = self.trigger.take()

    def learn(self) -> None:
        self.trigger.done(self.taken)
        self.taken = None


@pytest.fixture
def head() -> Iterator[Head]:
    made = Head(f"doctor-{os.getpid()}", full="refuse")
    yield made
    made.ring.unlink()


def watched(
    head: Head, monkeypatch: pytest.MonkeyPatch, goes_on: Callable[[], object]
) -> tuple[int, dict[str, Any]]:
    """Exit code and what is found of its ring in 10 s."""
    monkeypatch.setattr(rings, "time", Clock(goes_on))
    assert head.ring.path is not None
    name = head.ring.path.name[len("olaf-") :]
    with redirect_stdout(io.StringIO()) as printed:
        code = main(["--rings", name, "--json"])
    (found,) = json.loads(printed.getvalue())
    assert found["check"] == f"ring {name}"
    return code, found


@pytest.mark.parametrize(
    "steps, what, remedy",
    [
        ([], "for 10 s no actor has written a row", "actors that died"),
        ([Head.play], "no learner has taken any", ""),
        ([Head.play, Head.take], "the learner has not finished", ""),
    ],
)
def test_a_ring_where_all_stand_still_is_stalled(
    head: Head, monkeypatch: pytest.MonkeyPatch, steps: list[Callable[[Head], None]], what: str, remedy: str
) -> None:
    for step in steps:
        step(head)
    code, found = watched(head, monkeypatch, lambda: None)
    assert (code, found["verdict"]) == (1, "fault")
    assert what in found["what"] and remedy in found["remedy"]


def learn_in_turn(head: Head) -> None:
    if head.taken is None:
        head.play()
        head.take()
    else:
        head.learn()


@pytest.mark.parametrize(
    "steps, verdict, what, remedy",
    [
        (
            [Head.play, Head.take, Head.learn],
            "warning",
            ["the learner starves: it waited for rows 100% of 10 s; 200 rows/s of 1 of 2 actors"],
            "--actors",
        ),
        (
            [Head.play, Head.play, Head.take, Head.learn],
            "warning",
            ["actors wait for the learner", "rows were refused"],
            "",
        ),
        ([learn_in_turn], "ok", ["100 rows/s of 1 of 2 actors; the learner waited 50% of 10 s"], ""),
    ],
    ids=["without rows", "actors refused", "half of the time"],
)
def test_a_ring_in_use_shows_who_waits(
    head: Head,
    monkeypatch: pytest.MonkeyPatch,
    steps: list[Callable[[Head], None]],
    verdict: str,
    what: list[str],
    remedy: str,
) -> None:
    code, found = watched(head, monkeypatch, lambda: [step(head) for step in steps])
    assert (code, found["verdict"]) == (0, verdict)
    assert all(part in found["what"] for part in what) and remedy in found["remedy"]


@pytest.mark.skipif(sys.platform != "linux", reason="who has a ring in memory is known on Linux alone")
def test_a_ring_that_a_killed_training_left_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    name = f"doctor-left-{os.getpid()}"
    make = f"from olaf.experience import Ring, layout; Ring(layout({{'reward': ()}}), 8, name={name!r})"
    subprocess.run([sys.executable, "-c", make], check=True)
    left = list(Path("/dev/shm").glob(f"olaf-{name}*"))
    try:
        assert main(["--rings", name]) == 0
    finally:
        for path in left:
            path.unlink()
    printed = capsys.readouterr().out
    assert "no process has it any more" in printed
    assert f"rm /dev/shm/olaf-{name}" in printed


def test_a_ring_that_is_not_there_is_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rings", "none-such"]) == 1
    assert "no ring none-such" in capsys.readouterr().out


@pytest.mark.parametrize("line", [[], ["127.0.0.1:1", "--rings"]])
def test_either_a_server_or_rings_are_examined(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(line)
    assert ended.value.code == 2
    assert "give SERVER or --rings" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root's rights")
def test_measuring_without_loopback_ends_in_words() -> None:
    line = ["unshare", "--net", sys.executable, "-m", "olaf.doctor.measure"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: the parameter server did not answer over loopback; is loopback up?\n"
