"""Long commands that are interrupted at random moments leave nothing; `olaflab bench interrupts` does 200."""

import pytest

from olafctl.targets import registry
from olaflab.daemon.interrupts import sweep


@pytest.mark.slow
def test_interrupted_commands_leave_nothing() -> None:
    if missing := registry.get("twin").missing():
        pytest.skip(f"needs {', '.join(missing)}")
    report = sweep(6, seed=3, progress=lambda step: None)
    assert (sum(report.interrupted.values()), report.left) == (6, [])
