"""The command line as an operator meets it: its own state folder, its output and its exit code."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from olafctl.cli import main


@dataclass(frozen=True)
class Ended:
    """The end of a command: its exit code and its output."""

    code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide the path of an empty state folder, not yet made."""
    folder = tmp_path / "state"
    monkeypatch.setenv("OLAF_STATE", str(folder))
    monkeypatch.delenv("OLAF_DEBUG", raising=False)
    return folder


@pytest.fixture
def run(state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Provide a function that runs ``olafctl`` with arguments."""

    def olafctl(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["olafctl", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main.main()
        text = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, text.out, text.err)

    return olafctl
