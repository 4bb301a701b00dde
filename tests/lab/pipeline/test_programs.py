"""The programs in programs/, each with an STF file, together cover every construct."""

from pathlib import Path

import pytest

from olaflab.pipeline.samples.run import find, run

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = find(ROOT / "tests" / "p4" / "programs")


def test_there_are_programs() -> None:
    assert len(PROGRAMS) >= 6


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_program(program: Path) -> None:
    result = run(program)
    assert result.outcome == "pass", result.reason
