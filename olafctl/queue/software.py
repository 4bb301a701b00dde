"""Builds OlafQueue in C++: a shared library behind ``native/queue_model.h`` for each parameter set."""

from pathlib import Path

from olafctl.wire.geometry import Geometry
from olafswitch import cache
from olafswitch.toolchain import cxx, run

NATIVE = Path(__file__).parent / "native"
_SOURCE = NATIVE / "software_queue.cpp"
_WIRE = NATIVE.parent.parent / "wire" / "native"
FLAGS = ("-std=c++20", "-O3", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra")


def headers() -> list[Path]:
    """What the queue in C++ includes, in a stable order."""
    return [*sorted(NATIVE.glob("*.h")), *sorted(_WIRE.glob("*.h"))]


def defines(geometry: Geometry) -> list[str]:
    """``geometry`` for the preprocessor."""
    return [f"-DOLAF_{name}={value}" for name, value in geometry.verilog.items()]


def build_software_queue(geometry: Geometry) -> Path:
    """The shared library for ``geometry``, from the cache or compiled now (a few seconds).

    Raises MissingTool without a C++ compiler, OlafError when it refuses.
    """
    compiler = cxx()
    key = cache.digest([str(compiler), repr((FLAGS, geometry)), _SOURCE, *headers()])

    def build(work: Path) -> None:
        output = ["-o", str(work / "olaf_queue.so")]
        run([*compiler.command, *FLAGS, *defines(geometry), str(_SOURCE), *output])

    folder, _ = cache.build_once("software-queue", key, build)
    return folder / "olaf_queue.so"
