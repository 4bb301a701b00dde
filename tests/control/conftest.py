"""A separate state folder with the twin's real programs behind it."""

from pathlib import Path

import pytest

from olafctl import paths
from olafctl.control.deploy import DeployOutcome, deploy_testbed
from olafctl.targets import testbeds
from olafctl.testbed.model import Testbed


@pytest.fixture
def laptop(place: Path, monkeypatch: pytest.MonkeyPatch) -> Testbed:
    """Provide the laptop testbed, running as it says, whatever earlier tests left."""
    monkeypatch.setenv("OLAF_STATE", str(place))
    testbed = bed(place / "bed.yaml")
    quietly(testbed)
    return testbed


def bed(path: Path, *changes: tuple[str, str]) -> Testbed:
    """Return the shipped laptop testbed on UNIX sockets, written to ``path`` with texts replaced."""
    text = (paths.sources() / "testbeds" / "laptop.yaml").read_text()
    for old, new in (("name: uplink}", "name: uplink, transport: unix}"), *changes):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)
    return testbeds.load_testbed(path)


def quietly(testbed: Testbed, *, dry_run: bool = False) -> DeployOutcome:
    """Deploy without output."""
    return deploy_testbed(testbed, lambda step: None, dry_run=dry_run)
