"""Clients that nobody here wrote, unmodified, each in its own interpreter.

p4runtime-shell is a dependency and always runs (OLAF_SHELL_PYTHON names another interpreter for it);
finsy needs its own environment, named by OLAF_FINSY_PYTHON.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from olafctl.p4runtime.agent import Agent, serve
from tests.p4runtime.conftest import DECLARED, P4INFO_FILE
from tests.p4runtime.memory_plane import MemoryPlane

CLIENTS = Path(__file__).with_name("clients")


class EchoPlane(MemoryPlane):
    """Sends every packet that the controller injects back to it."""

    def packet_out(self, frame: bytes) -> None:
        super().packet_out(frame)
        self.packet_in(frame)


@pytest.fixture
def echo() -> Iterator[Agent]:
    with serve({1: EchoPlane(DECLARED)}, "127.0.0.1:0") as agent:
        yield agent


def test_p4runtime_shell(echo: Agent, tmp_path: Path) -> None:
    _run(os.environ.get("OLAF_SHELL_PYTHON", sys.executable), "shell_session.py", echo, tmp_path)


@pytest.mark.skipif(
    "OLAF_FINSY_PYTHON" not in os.environ, reason="OLAF_FINSY_PYTHON names no interpreter with finsy"
)
def test_finsy(echo: Agent, tmp_path: Path) -> None:
    _run(os.environ["OLAF_FINSY_PYTHON"], "finsy_session.py", echo, tmp_path)


def _run(python: str, script: str, agent: Agent, tmp_path: Path) -> None:
    config = tmp_path / "program"
    config.write_bytes(b"program")
    command = [python, "-u", str(CLIENTS / script), agent.address, str(P4INFO_FILE), str(config)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert result.stdout.endswith("done\n"), result.stdout + result.stderr
    assert result.returncode == 0
