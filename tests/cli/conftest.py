"""The command line as an operator meets it: its own state folder, its output and its exit code."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

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


def run_olafctl(capsys: pytest.CaptureFixture[str], *arguments: object) -> Ended:
    """Run ``olafctl`` with arguments, in this process."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as ended:
        patch.setattr(sys, "argv", ["olafctl", *map(str, arguments)])
        main.main()
    text = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return Ended(ended.value.code, text.out, text.err)


def run_for_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, Any]:
    """Run ``olafctl`` with arguments and ``--json``; return its exit code and its document."""
    ended = run_olafctl(capsys, *arguments, "--json")
    return ended.code, json.loads(ended.out)


@pytest.fixture
def run(state: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Provide a function that runs ``olafctl`` with arguments."""
    return partial(run_olafctl, capsys)
