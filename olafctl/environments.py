"""Separate environments for programs whose requirements contradict this package's."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from olafswitch import cache
from olafswitch.errors import OlafError, Problem


@dataclass(frozen=True)
class Environment:
    """``requirements`` are pip's."""

    name: str
    requirements: tuple[str, ...]


SHELL = Environment("p4runtime-shell", ("p4runtime-shell==0.0.6", "protobuf>=3.20.3", "setuptools<81"))


def python(environment: Environment, progress: Callable[[str], object]) -> Path:
    """Return the environment's interpreter, after an installation, of which ``progress`` gets a line first.

    Raises OlafError when it cannot be installed.
    """

    def build(folder: Path) -> None:
        progress(f"installing {environment.name} into an environment of its own, once")
        _run(environment, [sys.executable, "-m", "venv", str(folder)])
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "-q"]
        _run(environment, [*pip, *environment.requirements])

    key = cache.digest([sys.version, *environment.requirements])
    folder, _ = cache.build_once("environments", key, build)
    return folder / "bin" / "python"


def _run(environment: Environment, command: list[str]) -> None:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        lines = (ended.stderr or ended.stdout).strip().splitlines()
        errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")] or lines[-1:]
        remedy = "try again where pip reaches a package index"
        raise OlafError(Problem(f"cannot be installed: {'; '.join(errors)}", environment.name, remedy))
