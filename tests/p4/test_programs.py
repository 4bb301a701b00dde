"""Our own programs, each with its expectations beside it, cover every construct between them."""

from pathlib import Path

import pytest

from olafctl.p4.samples.run import find, run

PROGRAMS = find(Path(__file__).parent / "programs")


def test_there_are_programs() -> None:
    assert len(PROGRAMS) >= 6


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_program(program: Path) -> None:
    result = run(program)
    assert result.outcome == "pass", result.reason
