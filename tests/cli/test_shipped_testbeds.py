"""Every shipped testbed deploys, and its packet tests pass."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from olafctl import paths
from tests.cli.conftest import Ended
from tests.packets import mixed

NAMES = sorted(path.stem for path in (paths.sources() / "testbeds").glob("*.yaml"))
pytestmark = pytest.mark.slow


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide an empty state folder with a short path, as sockets are in it."""
    return tmp_path_factory.mktemp("s")


def olafctl(place: Path, *arguments: str) -> Ended:
    """Run ``olafctl`` as a separate process: it starts pytest, which is running here already."""
    line = [sys.executable, "-m", "olafctl", *arguments]
    environment = {**os.environ, "OLAF_STATE": str(place)}
    environment.pop("OLAF_TEST_ALL", None)  # an operator may skip what a testbed has nothing for
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment)
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_testbed_deploys_and_passes_the_packet_tests(name: str, place: Path) -> None:
    deploys_and_passes(name, name, place)


@pytest.mark.parametrize("seed", range(3, 7))
def test_a_testbed_of_mixed_modes_passes_the_packet_tests(seed: int, place: Path, tmp_path: Path) -> None:
    file = tmp_path / "mixed.yaml"
    file.write_text(mixed.testbed(seed))
    deploys_and_passes(f"mixed-{seed}", str(file), place)


def deploys_and_passes(name: str, testbed: str, place: Path) -> None:
    deployed = olafctl(place, "deploy", testbed)
    try:
        assert deployed.code == 0, deployed.err
        tested = olafctl(place, "test", "-d", name, "--json")
        report = json.loads(tested.out)
        failed = {each["name"]: each["message"] for each in report["tests"] if each["outcome"] == "failed"}
        assert (tested.code, failed) == (0, {})
        assert report["passed"]
        assert olafctl(place, "status", "-d", name).code == 0
    finally:
        assert olafctl(place, "destroy", "-d", name).code == 0
