"""Clients of other projects in separate environments: p4runtime-shell in that of ``olafctl shell``."""

import os
import subprocess
from pathlib import Path

import pytest

from olafctl import environments
from olafswitch.errors import OlafError


def shell_python() -> Path:
    """Return the shell's interpreter; skip the test where it cannot be installed."""
    try:
        return environments.python(environments.SHELL, lambda step: None)
    except OlafError as error:
        pytest.skip(str(error))


def finsy_python() -> str:
    """Return an interpreter with finsy; skip the test where none is named."""
    if "OLAF_FINSY_PYTHON" not in os.environ:
        pytest.skip("OLAF_FINSY_PYTHON names no interpreter with finsy")
    return os.environ["OLAF_FINSY_PYTHON"]


def run_session(python: str | Path, module: str, *arguments: object) -> None:
    """Run a session of a client, a module below ``tests``, which must come to its end."""
    command = [str(python), "-u", "-m", f"tests.{module}", *map(str, arguments)]
    home = Path(__file__).parents[1]
    result = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=180, check=False)
    assert result.stdout.endswith("done\n"), result.stdout + result.stderr
    assert result.returncode == 0
