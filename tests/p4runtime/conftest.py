from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from google.protobuf import text_format

from olafswitch.p4runtime.agent import AgentServer, serve_devices
from olafswitch.p4runtime.dataplane import ActionCall, DataPlane, Exact, InitialEntry, P4Info
from olafswitch.p4runtime.protocol import p4info_pb2
from olafswitch.p4runtime.session import Session
from tests.p4runtime.controller import PlainController
from tests.p4runtime.memory_plane import MemoryPlane

P4INFO_FILE = Path(__file__).with_name("program.p4info.txt")
CONSTANT, PRESET, FORWARD, NO_ACTION = 0x02000004, 0x02000007, 0x01000001, 0x01000002
DECLARED = (
    InitialEntry(CONSTANT, (Exact(1),), 0, ActionCall(FORWARD, (5, 6)), True),
    InitialEntry(CONSTANT, (Exact(2),), 0, ActionCall(NO_ACTION, ()), True),
    InitialEntry(PRESET, (Exact(7),), 0, ActionCall(NO_ACTION, ()), False),
)


@dataclass(frozen=True)
class Pushed:
    """The pipeline that a controller pushes."""

    p4info: P4Info
    device_config: bytes


@pytest.fixture(scope="session")
def p4info() -> P4Info:
    return text_format.Parse(P4INFO_FILE.read_text(), p4info_pb2.P4Info())


@pytest.fixture
def plane() -> MemoryPlane:
    return MemoryPlane(DECLARED)


@pytest.fixture
def device(plane: MemoryPlane) -> DataPlane:
    """Provide device 1 of the agent; a module over another data plane has its own fixture."""
    return plane


@pytest.fixture
def program(p4info: P4Info) -> Pushed:
    return Pushed(p4info, b"program")


@pytest.fixture
def agent(device: DataPlane) -> Iterator[AgentServer]:
    with serve_devices({1: device}, "127.0.0.1:0") as agent:
        yield agent


@pytest.fixture
def session(agent: AgentServer, program: Pushed) -> Iterator[Session]:
    """Provide a primary whose pipeline runs."""
    with Session.connect(agent.address, 1, election_id=10) as session:
        session.push(program.p4info, program.device_config, cookie=99)
        yield session


@pytest.fixture
def controller(agent: AgentServer) -> Iterator[PlainController]:
    """Provide a bare connection that has not arbitrated."""
    with PlainController(agent.address) as controller:
        yield controller


@pytest.fixture
def primary(controller: PlainController, program: Pushed) -> PlainController:
    """Provide the primary of a device whose pipeline runs."""
    assert controller.arbitrate(10).status.code == 0
    pipeline = program.p4info, program.device_config
    assert controller.set_pipeline("VERIFY_AND_COMMIT", *pipeline, cookie=99) == "OK"
    return controller
