"""Build OlafQueue in C++: a shared library behind ``native/queue_model.h`` for each parameter set."""

from pathlib import Path

from olafctl.wire.geometry import Geometry
from olafswitch import cache
from olafswitch.toolchain import cxx, run_tool

NATIVE = Path(__file__).parent / "native"
_SOURCE = NATIVE / "software_queue.cpp"
_WIRE = NATIVE.parent.parent / "wire" / "native"
_FLAGS = (
    "-std=c++20", "-O3", "-fno-tree-slp-vectorize", "-fPIC", "-shared", "-fvisibility=hidden",
    "-Wall", "-Wextra",
)  # fmt: skip


def make_defines(geometry: Geometry) -> list[str]:
    """Return ``geometry`` as definitions for the preprocessor."""
    return [f"-DOLAF_{name}={value}" for name, value in geometry.verilog.items()]


def build_software_queue(geometry: Geometry, source: Path = _SOURCE, options: tuple[str, ...] = ()) -> Path:
    """Return the shared library for ``geometry``, from the cache or compiled now (a few seconds).

    ``source`` may be another file around the same rules. Raises MissingTool without a C++ compiler, OlafError
    when it refuses.
    """
    compiler = cxx()
    headers = [*sorted(NATIVE.glob("*.h")), *sorted(_WIRE.glob("*.h"))]
    key = cache.digest([str(compiler), repr((_FLAGS, options, geometry)), source, *headers])

    def build(work: Path) -> None:
        flags = [*_FLAGS, *options, f"-I{NATIVE}", *make_defines(geometry)]
        run_tool([*compiler.command, *flags, str(source), "-o", str(work / "olaf_queue.so")])

    folder, _ = cache.build_once("software-queue", key, build)
    return folder / "olaf_queue.so"
