"""Compile the parts of an engine here, which are loaded with the switch's engine."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from olafswitch import cache
from olafswitch.engine.compile import FLAGS, engine_library, headers_and_sources, object_of
from olafswitch.toolchain import cxx, run_tool

_PACKAGE = Path(__file__).resolve().parents[2]
SOURCES = _PACKAGE / "targets/engine/native"
_CONTRACTS = (_PACKAGE / "wire/native/tuser.h", _PACKAGE / "queue/native/queue_model.h")


def pipeline_library() -> Path:
    """Return the shared library, linked to the engine's, both built when they are not in the cache.

    Raises MissingTool without a C++ compiler, OlafError when the compiler refuses.
    """
    compiler = cxx()
    sources = [*sorted(SOURCES.iterdir()), *_CONTRACTS, *headers_and_sources()]
    key = cache.digest([str(compiler), " ".join(FLAGS), *sources])

    def build(folder: Path) -> None:
        with ThreadPoolExecutor() as pool:
            engine = pool.submit(engine_library)
            made = object_of(compiler, folder, SOURCES)
            linked = [str(made), str(engine.result())]
        output = ["-shared", "-o", str(folder / "pipeline.so"), *linked]
        run_tool([*compiler.command, *FLAGS, *output], where="compiling the pipeline's engine")
        made.unlink()

    folder, _ = cache.build_once("pipeline", key, build)
    return folder / "pipeline.so"
