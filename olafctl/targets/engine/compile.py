"""Compiles the native engine, once for each state of its sources and compiler."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from olafctl import cache
from olafctl.toolchain import cxx, run

_PACKAGE = Path(__file__).resolve().parents[2]
SOURCES = (_PACKAGE / "ports/native", _PACKAGE / "targets/engine/native")
_CONTRACTS = (
    _PACKAGE / "wire/native/tuser.h",
    _PACKAGE / "p4/native/switch_abi.h",
    _PACKAGE / "queue/native/queue_model.h",
)
_FLAGS = ("-std=c++20", "-O2", "-fPIC", "-pthread", "-Wall", "-Wextra")
_WHERE = "compiling the engine"


def engine_library() -> Path:
    """The engine's shared library, built when it is not in the cache.

    Raises MissingTool without a C++ compiler, OlafError when the compiler refuses.
    """
    compiler = cxx()
    sources = [path for folder in SOURCES for path in sorted(folder.iterdir())]
    key = cache.digest([str(compiler), " ".join(_FLAGS), *sources, *_CONTRACTS])

    def build(folder: Path) -> None:
        # One unit for each folder: the standard library's headers take most of the time.
        units = [folder / f"{number}.cpp" for number in range(len(SOURCES))]
        objects = [unit.with_suffix(".o") for unit in units]
        for unit, home in zip(units, SOURCES, strict=True):
            unit.write_text("".join(f'#include "{path}"\n' for path in sorted(home.glob("*.cpp"))))
        commands = [
            [*compiler.command, *_FLAGS, "-c", str(unit), "-o", str(target)]
            for unit, target in zip(units, objects, strict=True)
        ]
        with ThreadPoolExecutor() as pool:
            list(pool.map(partial(run, where=_WHERE), commands))
        output = ["-shared", "-o", str(folder / "engine.so"), *map(str, objects), "-ldl"]
        run([*compiler.command, *_FLAGS, *output], where=_WHERE)
        for path in (*units, *objects):
            path.unlink()

    folder, _ = cache.build_once("engine", key, build)
    return folder / "engine.so"
