"""Clients of other projects, unmodified, each in its own interpreter.

p4runtime-shell runs in the environment that the product makes; finsy needs one that OLAF_FINSY_PYTHON
names. Both drive the agent over a data plane
that only remembers, and over a compiled program that moves packets.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from google.protobuf import text_format

from olafswitch.p4.compiler import compile_program
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4runtime.agent import serve
from tests.p4runtime.conftest import DECLARED, P4INFO_FILE
from tests.p4runtime.memory_plane import MemoryPlane
from tests.shells import shell_python

CLIENTS = Path(__file__).with_name("clients")
PROGRAM = Path(__file__).with_name("program.p4")


class EchoPlane(MemoryPlane):
    """Sends every packet that the controller injects back to it, as the program does."""

    def packet_out(self, frame: bytes) -> None:
        super().packet_out(frame)
        self.packet_in(frame)


@dataclass(frozen=True)
class Served:
    address: str
    p4info: Path
    config: Path


@pytest.fixture(params=["memory", "native"])
def device(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    p4info, config = tmp_path / "p4info.txt", tmp_path / "config"
    if request.param == "memory":
        plane: EchoPlane | NativeSwitch = EchoPlane(DECLARED)
        shutil.copy(P4INFO_FILE, p4info)
        config.write_bytes(b"program")
    else:
        program = compile_program(PROGRAM, optimize="-O0")
        plane = NativeSwitch(optimize="-O0")
        p4info.write_text(text_format.MessageToString(program.p4info))
        config.write_bytes(program.device_config)
    with serve({1: plane}, f"unix:{tmp_path}/p4runtime.sock") as agent:
        yield Served(agent.address, p4info, config)
    if isinstance(plane, NativeSwitch):
        plane.close()


def test_p4runtime_shell(device: Served) -> None:
    _run(str(shell_python()), "shell_session.py", device)


@pytest.mark.skipif(
    "OLAF_FINSY_PYTHON" not in os.environ, reason="OLAF_FINSY_PYTHON names no interpreter with finsy"
)
def test_finsy(device: Served) -> None:
    _run(os.environ["OLAF_FINSY_PYTHON"], "finsy_session.py", device)


def _run(python: str, script: str, device: Served) -> None:
    arguments = [device.address, str(device.p4info), str(device.config)]
    command = [python, "-u", str(CLIENTS / script), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert result.stdout.endswith("done\n"), result.stdout + result.stderr
    assert result.returncode == 0
