"""A deployed twin, and sessions of virtual time that keep everything that crosses the engine."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from olafctl.targets.interface import Advanced, Running, Spent, TimedFrame, VirtualTime
from olafctl.targets.testbeds import load_testbed
from olafctl.testbed.model import Testbed
from tests.targets.conftest import started, why_not


@dataclass
class TwinLab:
    """A running, programmed twin."""

    running: Running
    testbed: Testbed


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwinLab]:
    pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")
    testbed = load_testbed(Path(__file__).with_name("testbed.yaml"))
    with deployed(testbed, tmp_path_factory.mktemp("cosim") / "bed") as found:
        yield found


@contextmanager
def deployed(testbed: Testbed, state: Path) -> Iterator[TwinLab]:
    """Deploy ``testbed`` on a twin of its own; skip where there can be none."""
    if reason := why_not("twin"):
        pytest.skip(reason)
    with started(testbed, "twin", state) as running:
        yield TwinLab(running, testbed)


class Recorded:
    """A session that remembers every frame in and out, in order."""

    def __init__(self, session: VirtualTime) -> None:
        self._session = session
        self.entered: list[TimedFrame] = []
        self.left: list[TimedFrame] = []

    def arrive(self, frame: TimedFrame) -> None:
        self.entered.append(frame)
        self._session.arrive(frame)

    def advance(self, time: int) -> Advanced:
        advanced = self._session.advance(time)
        self.left += advanced.left
        return advanced

    @property
    def spent(self) -> Spent:
        return self._session.spent

    def close(self) -> None:
        self._session.close()
