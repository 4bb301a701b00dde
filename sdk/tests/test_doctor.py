"""A worker's host is examined: each fault is found, with what to do about it."""

import io
import json
import socket
from collections.abc import Iterator
from contextlib import closing, redirect_stdout
from typing import Any

import numpy as np
import pytest

import olaf
from olaf.doctor.__main__ import main

VALUES = 100
EPOCH = 3


@pytest.fixture
def server() -> Iterator[str]:
    """A parameter server without weights, with no engine in front of it."""
    epochs = {"default": EPOCH}
    with closing(olaf.ParameterServer("127.0.0.1:0", policy="plain", epochs=epochs)) as running:
        yield f"127.0.0.1:{running.address[1]}"


@pytest.fixture
def trained(server: str) -> str:
    """One with weights."""
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


def test_where_nothing_comes_back_it_says_what_may_be_missing() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        code, found = examined(f"127.0.0.1:{silent.getsockname()[1]}", wait=0.4)
    assert (code, found["server"]["verdict"]) == (1, "fault")
    assert "nothing comes back" in found["server"]["what"]


def test_a_server_without_weights_is_fine_but_cannot_acknowledge(server: str) -> None:
    code, found = examined(server, epoch=EPOCH, values=VALUES)
    assert code == 0
    assert verdicts(found) == {
        "route": "ok", "mtu": "ok", "server": "ok", "model": "ok", "engine": "skipped",
    }  # fmt: skip


def test_another_epoch_is_found(trained: str) -> None:
    code, found = examined(trained, epoch=0, wait=0.4)
    assert code == 1
    assert f"epoch {EPOCH}" in found["epoch"]["what"]
    assert f"epoch={EPOCH}" in found["epoch"]["remedy"]


def test_another_model_is_found(trained: str) -> None:
    code, found = examined(trained, epoch=EPOCH, values=VALUES + 1)
    assert (code, found["model"]["verdict"]) == (1, "fault")
    assert "trains 100 values in 1 segments, here are 101 in 1" in found["model"]["what"]


def test_an_ack_without_a_queue_status_came_through_no_engine(trained: str) -> None:
    code, found = examined(trained, epoch=EPOCH, values=VALUES)
    assert (code, found["engine"]["verdict"]) == (1, "fault")
    assert "no queue status" in found["engine"]["what"]
    assert "olafctl worker join" in found["engine"]["remedy"]


def test_segments_beyond_the_mtu_are_found(trained: str) -> None:
    code, found = examined(trained, epoch=EPOCH, values=20_000, segments=1)
    assert (code, found["mtu"]["verdict"]) == (1, "fault")
    assert "has 80058 bytes, the MTU of lo is 65536" in found["mtu"]["what"]


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


def test_a_cluster_whose_control_plane_is_silent() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        code, found = examined(f"olaf://lander@127.0.0.1:{silent.getsockname()[1]}", wait=0.4)
    assert (code, found["membership"]["verdict"]) == (1, "fault")
    assert "daemon" in found["membership"]["remedy"]


def test_a_policy_that_adds_all_steps_is_named(trained: str) -> None:
    _, found = examined(trained, epoch=EPOCH, values=VALUES)
    assert found["policy"]["verdict"] == "warning"
    assert "--workers N" in found["policy"]["remedy"]
