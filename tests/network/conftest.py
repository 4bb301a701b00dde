"""Fixtures of the tests of a deployment's interfaces."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from olafctl.network import interfaces


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    """Provide a deployment's state folder; its interfaces and namespaces are removed after the test."""
    folder = tmp_path / "bed"
    folder.mkdir()
    yield folder
    interfaces.remove_interfaces(folder)
