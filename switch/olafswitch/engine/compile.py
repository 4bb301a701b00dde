"""Compile the native engine, once for each state of its sources and compiler."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from olafswitch import cache
from olafswitch.toolchain import Compiler, cxx, run_tool, unit

_PACKAGE = Path(__file__).resolve().parents[1]
INCLUDES = _PACKAGE.parent
"""Where C++ of other packages finds this package's headers, as ``olafswitch/ROOM/native/NAME.h``."""
SOURCES = (_PACKAGE / "ports/native", _PACKAGE / "engine/native")
_CONTRACT = _PACKAGE / "p4/native/switch_abi.h"
FLAGS = ("-std=c++20", "-O2", "-fPIC", "-pthread", "-Wall", "-Wextra")
_WHERE = "compiling the engine"


def engine_library() -> Path:
    """Return the engine's shared library, which is built when it is not in the cache.

    Raises MissingTool without a C++ compiler, OlafError when the compiler refuses.
    """
    compiler = cxx()
    key = cache.digest([str(compiler), " ".join(FLAGS), *headers_and_sources()])

    def build(folder: Path) -> None:
        with ThreadPoolExecutor() as pool:
            made = partial(object_of, compiler, folder)
            objects = list(pool.map(made, SOURCES))
        output = ["-shared", "-o", str(folder / "engine.so"), *map(str, objects), "-ldl"]
        run_tool([*compiler.command, *FLAGS, *output], where=_WHERE)
        for path in objects:
            path.unlink()

    folder, _ = cache.build_once("engine", key, build)
    return folder / "engine.so"


def headers_and_sources() -> Sequence[Path]:
    """Return every file that the library is made of."""
    return [*(path for folder in SOURCES for path in sorted(folder.iterdir())), _CONTRACT]


def object_of(compiler: Compiler, folder: Path, sources: Path) -> Path:
    """Compile the C++ in ``sources``, a folder ``ROOM/native``, to ``folder/ROOM.o``. Raises OlafError."""
    one = unit(folder / f"{sources.parent.name}.cpp", sorted(sources.glob("*.cpp")))
    target = one.with_suffix(".o")
    run_tool([*compiler.command, *FLAGS, f"-I{INCLUDES}", "-c", str(one), "-o", str(target)], where=_WHERE)
    one.unlink()
    return target
