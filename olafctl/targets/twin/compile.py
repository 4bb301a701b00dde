"""Compiles the native engine, once for each state of its sources and compiler."""

import os
import shutil
import subprocess
from pathlib import Path

from olafctl import cache
from olafctl.errors import MissingTool, OlafError, Problem

_PACKAGE = Path(__file__).resolve().parent.parent.parent
_SOURCES = (_PACKAGE / "ports/native", _PACKAGE / "targets/twin/native")
_CONTRACTS = (
    _PACKAGE / "wire/native/tuser.h",
    _PACKAGE / "p4/runtime/switch_abi.h",
    _PACKAGE / "queue/native/queue_model.h",
)
_FLAGS = ("-std=c++20", "-O2", "-fPIC", "-shared", "-pthread", "-Wall", "-Wextra")


def engine_library() -> Path:
    """The engine's shared library, built when it is not in the cache.

    Raises MissingTool without a C++ compiler, OlafError when the compiler refuses.
    """
    compiler = os.environ.get("CXX") or "g++"
    found = shutil.which(compiler)
    if found is None:
        remedy = "install the package g++, or set CXX"
        raise MissingTool(Problem("the C++ compiler is not installed", compiler, remedy))
    sources = [path for folder in _SOURCES for path in sorted(folder.iterdir())]
    version = subprocess.run([found, "--version"], capture_output=True, check=False).stdout
    key = cache.digest([version, " ".join(_FLAGS), *sources, *_CONTRACTS])

    def build(folder: Path) -> None:
        units = [str(path) for path in sources if path.suffix == ".cpp"]
        output = ["-o", str(folder / "engine.so"), *units, "-ldl"]
        done = subprocess.run([found, *_FLAGS, *output], capture_output=True, text=True, check=False)
        if done.returncode:
            problem = done.stderr.strip().splitlines()[:5]
            raise OlafError(*(Problem(line, "compiling the engine") for line in problem))

    folder, _ = cache.build_once("engine", key, build)
    return folder / "engine.so"
