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


def test_one_testbed_moves_between_targets_by_the_option_alone(place: Path) -> None:
    targets = ["software", "opennic-sim", "twin"]
    if corundum := os.environ.get("OLAF_CORUNDUM"):
        assert Path(corundum).is_dir()
        targets.insert(2, "corundum-sim")
    try:
        for target in ["twin", *targets]:
            deployed = olafctl(place, "deploy", "laptop", "--target", target)
            assert deployed.code == 0, deployed.err
            passes("laptop", place, "-k", "test_uplink_aggregation or test_weights_down")
            assert json.loads(olafctl(place, "status", "--json").out)["target"] == target
    finally:
        assert olafctl(place, "destroy", "-d", "laptop").code == 0


def deploys_and_passes(name: str, testbed: str, place: Path) -> None:
    deployed = olafctl(place, "deploy", testbed)
    try:
        assert deployed.code == 0, deployed.err
        passes(name, place)
        assert olafctl(place, "status", "-d", name).code == 0
    finally:
        assert olafctl(place, "destroy", "-d", name).code == 0


def passes(name: str, place: Path, *options: str) -> None:
    tested = olafctl(place, "test", "-d", name, "--json", *options)
    report = json.loads(tested.out)
    failed = {each["name"]: each["message"] for each in report["tests"] if each["outcome"] == "failed"}
    assert (tested.code, failed) == (0, {})
    assert report["passed"]
