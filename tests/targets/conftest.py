"""The laptop testbed, started and programmed on each target that this machine can run."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from olafctl.membership.model import Member
from olafctl.network import interfaces
from olafctl.targets import registry
from olafctl.targets.interface import Build, Running, Target
from olafctl.targets.testbeds import load_testbed
from olafctl.testbed.model import Testbed
from olafctl.wire.layouts import FrameType
from olafswitch.ports.host import HostPort
from olaftest.deployment import open_hosts, program_devices
from olaftest.frames import OlafFrame, endpoint_of

SOON = 60.0
"""The seconds within which an event that must happen happens."""
LAPTOP = Path(__file__).resolve().parents[2] / "testbeds" / "laptop.yaml"


def quietly(step: str) -> None:
    """Print no progress in tests."""


def update(bed: Testbed, worker: Member, seq: int, frame_type: FrameType = FrameType.UPDATE) -> bytes:
    """Return a worker's update to the parameter server, or another frame on the same path."""
    ends = endpoint_of(worker), endpoint_of(bed.parameter_servers[0])
    return OlafFrame(*ends, frame_type, 0, 1, seq, 1.0, seq, np.ones(16, np.float32)).encode()


@contextmanager
def started(bed: Testbed, name: str, state: Path, programmed: bool = True) -> Iterator[Running]:
    """Run ``bed`` on the target ``name``, which is stopped at the end."""
    target = registry.get_target(name)
    running = target.start(bed, target.build(bed, quietly), state, quietly)
    try:
        if programmed:
            program_devices(running, bed)
        yield running
    finally:
        target.stop(state)


@dataclass
class Built:
    """A target with the laptop testbed built for it."""

    target: Target
    testbed: Testbed
    build: Build


@dataclass
class Live:
    """A running, programmed deployment and the host sides of its ports by number."""

    running: Running
    testbed: Testbed
    state: Path
    target: Target
    ports: dict[int, HostPort]


def why_not(name: str) -> str | None:
    """Return why ``name`` cannot run here."""
    if missing := registry.get_target(name).missing():
        return f"{name} needs {', '.join(missing)}"
    return interfaces.why_not() if name == "bmv2" else None


def need_target(name: str) -> None:
    """Skip a test where the target cannot run."""
    if reason := why_not(name):
        pytest.skip(reason)


NAMES = [
    pytest.param(name, marks=pytest.mark.slow if name in ("opennic-sim", "corundum-sim") else ())
    for name in registry.target_names()
]


@pytest.fixture(scope="session", params=NAMES)
def built(request: pytest.FixtureRequest) -> Built:
    name = request.param
    need_target(name)
    bed = dataclasses.replace(load_testbed(LAPTOP), target=name)
    target = registry.get_target(name)
    if problems := target.problems(bed, Path("/nonexistent")):
        pytest.skip(f"the target {name} cannot run it here: {problems[0]}")
    return Built(target, bed, target.build(bed, quietly))


@pytest.fixture(scope="session")
def live(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    state = tmp_path_factory.mktemp(built.target.name) / "laptop"
    running = built.target.start(built.testbed, built.build, state, quietly)
    try:
        program_devices(running, built.testbed)
        with open_hosts(running) as ports:
            yield Live(running, built.testbed, state, built.target, ports)
    finally:
        built.target.stop(state)
