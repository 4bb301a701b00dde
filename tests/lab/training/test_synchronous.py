"""DDP over backend "olaf" through a deployed twin, on kernel sockets: gloo's bits, job after job."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")
pytest.importorskip("torch", reason="the extra [train] is not installed")

from olafctl.control.deploy import deploy_testbed
from olafctl.control.destroy import destroy_deployment
from olafctl.control.store import Store, folder_of
from olafctl.daemon.keeping import LocalClient
from olafctl.network import interfaces
from olafctl.targets import registry
from olafctl.targets.interface import of_root
from olafctl.targets.testbeds import load_testbed
from tests.targets.conftest import why_not

NAME = "rounds"
TESTBED = """
name: rounds
engine: {indices: 8, slots: 2, beats: 22, address: 10.0.0.250}
ports:
  - {numbers: 1-2, name: worker, transport: veth}
  - {number: 3, name: ps, transport: veth}
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters:
  - {count: 1, workers: 2, name: pair, ports: 1-2, ip: 10.0.1.1, mode: iswitch, values: 600, epoch: EPOCH}
"""
RANK = Path(__file__).with_name("ddp_rank.py")


def bring_up(epoch: int) -> None:
    testbed = load_testbed(Path("rounds.yaml"), TESTBED.replace("EPOCH", str(epoch)))
    deploy_testbed(testbed, lambda step: None, with_hosts=True)


@pytest.fixture
def deployed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if reason := why_not("twin") or interfaces.why_not():
        pytest.skip(reason)
    monkeypatch.setenv("OLAF_STATE", str(tmp_path))
    bring_up(1)
    yield
    destroy_deployment(Store(folder_of(NAME)))


@pytest.mark.usefixtures("deployed")
def test_weights_equal_gloos_with_loss_and_in_a_second_job() -> None:
    ranks = [_run_rank(number, 0.01) for number in range(2)]
    try:
        for rank in ranks:
            assert rank.stdout is not None
            assert rank.stdout.readline() == "waiting\n"
        bring_up(2)  # another job on the same addresses
        LocalClient(Store(folder_of(NAME))).call("Reset", cluster="pair")
        for rank in ranks:
            assert rank.stdin is not None
            rank.stdin.write("go\n")
            rank.stdin.flush()
        first, second = (json.loads(rank.communicate(timeout=120)[0]) for rank in ranks)
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    for found in (first, second):
        assert found["olaf 1"] == found["gloo 1"] == first["gloo 1"]
        assert found["olaf 2"] == found["gloo 2"] == first["gloo 2"]
        assert not found["old epoch answered"]
    assert first["gloo 1"] != first["gloo 2"]
    assert first["lost"] + second["lost"] > 0
    running = registry.get_target("twin").find(
        load_testbed(Path("rounds.yaml"), TESTBED.replace("EPOCH", "2")), folder_of(NAME)
    )
    assert running is not None
    assert of_root(running.queues).read_all()["merged"] >= 50


def _run_rank(number: int, loss: float) -> "subprocess.Popen[str]":
    environment = {
        **os.environ,
        "OLAF_ADDRESS": "10.0.0.250:20300",
        "OLAF_LOCAL": f"10.0.1.{number + 1}:20300",
        "OLAF_SEGMENTS": "2",
        "OLAF_MTU": "1372",
        "GLOO_SOCKET_IFNAME": "eth0",
        "MASTER_ADDR": "10.0.1.1",
        "PORTS": "29501,29502,29503,29504",
        "WORLD_SIZE": "2",
        "RANK": str(number),
    }
    line = [sys.executable, "-m", "olafctl", "exec", "--deployment", NAME, f"pair-w{number}", "--"]
    return subprocess.Popen(
        [*line, sys.executable, str(RANK), str(loss)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
