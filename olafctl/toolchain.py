"""The C++ compiler that everything native is compiled with: ``$CXX``, else g++."""

import os
import shlex
import subprocess
from dataclasses import dataclass

from olafctl.errors import MissingTool, Problem

NEEDED = "a C++ compiler: install the package g++ or set CXX"


@dataclass(frozen=True)
class Compiler:
    """A compiler that runs: ``command`` may be several words, such as ``ccache g++``."""

    command: tuple[str, ...]
    version: str

    def __str__(self) -> str:
        """What a cache key must hold of it."""
        return repr((self.command, self.version))


def cxx() -> Compiler:
    """The compiler to use now. Raises MissingTool when there is none."""
    given = os.environ.get("CXX") or ""
    try:
        command = tuple(shlex.split(given)) or ("g++",)
        done = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True)
    except (OSError, ValueError, subprocess.CalledProcessError):
        where = f"CXX={given}" if given else "g++"
        raise MissingTool(Problem(f"Olaf needs {NEEDED}", where)) from None
    return Compiler(command, done.stdout)
