"""The bring-up scripts that operators copy, run unchanged."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from olafctl import paths
from olafctl.control.store import all_names
from olafctl.network import interfaces
from olafctl.targets import registry
from tests.control.hosts.conftest import BED, needs_interfaces

SCRIPTS = paths.sources() / "testbeds"


@pytest.fixture(autouse=True)
def own_command(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the scripts call the ``olafctl`` under test."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")


def run_script(script: str, *words: object) -> tuple[int, str]:
    line = [str(SCRIPTS / script), *map(str, words)]
    done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def cases(report: Path) -> int:
    return len(list(ElementTree.parse(report).iter("testcase")))


@pytest.mark.skipif(
    not registry.get_target("bmv2").missing() and interfaces.why_not() is not None,
    reason=f"the target bmv2 needs network interfaces: {interfaces.why_not()}",
)
def test_packet_tests_in_ci(tmp_path: Path) -> None:
    code, output = run_script("ci.sh", BED, tmp_path / "reports", "-k", "test_multicast")
    assert code == 0, output
    assert cases(tmp_path / "reports" / "twin.xml") == 4
    if registry.get_target("bmv2").missing():
        assert "bmv2: skipped" in output
    else:
        assert cases(tmp_path / "reports" / "bmv2.xml") == 4
    assert "destroyed hosts" in output
    assert all_names() == ()


def test_ci_keeps_the_first_exit_code(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(BED.read_text().replace("slots: 8", "slots: 0"))
    code, output = run_script("ci.sh", wrong, tmp_path)
    assert (code, f"{wrong}:4: engine.slots: 0 is out of range" in output) == (2, True)


@pytest.mark.parametrize("script", ["ci.sh", "soak.sh"])
def test_a_script_without_arguments_says_which_it_takes(script: str) -> None:
    code, output = run_script(script)
    assert (code, f"usage: {script}" in output) == (2, True)


@pytest.mark.slow
@needs_interfaces
def test_a_soak_of_one_round() -> None:
    code, output = run_script("soak.sh", BED, 0, "-k", "test_multicast")
    assert code == 0, output
    assert output.count("500 updates sent") == 4
    assert "round 1: all workers trained" in output
    assert all_names() == ()
