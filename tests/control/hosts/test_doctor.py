"""The doctor, run as a host behind an engine."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.control.hosts.conftest import BED, SOON, bring_up, exec_line, needs_interfaces

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")

BEGIN = """
import numpy, olaf
worker = olaf.Worker("10.0.0.254:20300", 100)
worker.begin(numpy.ones(100, numpy.float32))
assert worker.wait(60)
"""


def examined(host: str, *options: str) -> dict[str, dict[str, Any]]:
    line = ["olaf.doctor", "10.0.0.254:20300", "--values", "100", "--json", *options]
    done = subprocess.run(
        exec_line("lab", host, sys.executable, "-m", *line),
        capture_output=True, text=True, timeout=SOON, check=False,
    )  # fmt: skip
    return {found["check"]: found for found in json.loads(done.stdout)}


@needs_interfaces
def test_it_distinguishes_workers_wrong_ports_and_strangers(state: Path) -> None:
    bring_up("lab")
    serve = ["olafctl", "server", str(BED), "--policy", "plain"]
    with subprocess.Popen(
        exec_line("lab", "ps", sys.executable, "-m", *serve), stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert "listening" in server.stdout.readline()
        subprocess.run(exec_line("lab", "red0", sys.executable, "-c", BEGIN), check=True, timeout=SOON)

        known = examined("red0", "--local", "0.0.0.0:20300")
        assert (known["engine"]["verdict"], known["model"]["verdict"]) == ("ok", "ok")
        assert "came through an engine" in known["engine"]["what"]

        other_port = examined("red1", "--local", "0.0.0.0:20301", "--wait", "0.5")
        assert (other_port["server"]["verdict"], other_port["engine"]["verdict"]) == ("ok", "fault")
        assert "--local" in other_port["engine"]["remedy"]

        other_epoch = examined("blue0", "--epoch", "5", "--wait", "0.5")
        assert "epoch=0" in other_epoch["epoch"]["remedy"]

        stranger = examined("left", "--wait", "0.5")
        assert "in no cluster" in stranger["server"]["what"]
        server.terminate()
