"""Unmodified clients of other projects, each in its own interpreter.

p4runtime-shell runs in the environment that the product makes; finsy needs one that OLAF_FINSY_PYTHON names.
Both drive the agent over a compiled program that moves packets, and over the registers of a program in
Verilog.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from google.protobuf import text_format

from olafswitch.p4.compiler import compile_program
from olafswitch.p4.hardware.simulated import SimulatedSwitch
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4runtime.agent import serve_devices
from tests.p4runtime.in_verilog import in_verilog
from tests.shells import finsy_python, run_session, shell_python

PROGRAM = Path(__file__).with_name("program.p4")


@dataclass(frozen=True)
class Served:
    address: str
    p4info: Path
    config: Path
    device: str


@pytest.fixture(params=["native", "hardware"])
def device(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    p4info, config = tmp_path / "p4info.txt", tmp_path / "config"
    plane: NativeSwitch | SimulatedSwitch
    if request.param == "hardware":
        plane = in_verilog()
        p4info.write_text(text_format.MessageToString(plane.p4info))
        config.write_text(json.dumps(plane.about))
    else:
        program = compile_program(PROGRAM, optimize="-O0")
        plane = NativeSwitch(optimize="-O0")
        p4info.write_text(text_format.MessageToString(program.p4info))
        config.write_bytes(program.device_config)
    with serve_devices({1: plane}, f"unix:{tmp_path}/p4runtime.sock") as agent:
        yield Served(agent.address, p4info, config, request.param)
    plane.close()


def test_p4runtime_shell(device: Served) -> None:
    run_session(shell_python(), "p4runtime.clients.shell_session", *vars(device).values())


def test_finsy(device: Served) -> None:
    run_session(finsy_python(), "p4runtime.clients.finsy_session", *vars(device).values())
