"""The inputs of a build: the files rendered from the testbed, and a name for all of it."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from pathlib import Path

from olafctl.queue import verilog
from olafctl.targets import p4_sources as p4
from olafctl.targets.engine.compile import pipeline_library
from olafctl.targets.interface import Build, Progress
from olafctl.testbed.model import Testbed, TestbedEngine
from olafswitch import cache

BLOCKS = ("vnp4_1", "vnp4_2")
_PARALLEL = 2


def check_rendering(testbed: Testbed) -> None:
    """Render ``testbed`` and check the Verilog instances against the modules they name.

    Raises OlafError with every misfit.
    """
    p4.sources_folder(testbed)
    for engine in testbed.engines:
        verilog.sources_folder(engine.geometry)


def build_pipeline(
    target: str,
    testbed: Testbed,
    tools: Sequence[str | bytes | Path],
    queue: Callable[[TestbedEngine, Progress], Path],
    compile_block: Callable[[Path, Path, str], object],
    progress: Progress,
) -> Build:
    """Return the build of ``testbed`` for ``target`` with ``tools`` (their versions or sources), from the
    cache or made now: the native engine, each engine's ``queue``, and each block, which ``compile_block``
    compiles, given the folder of its sources, the build's folder, and its name.

    Raises OlafError."""

    def everything(folder: Path) -> None:
        source = p4.sources_folder(testbed)
        # The longest part comes first.
        parts: list[Callable[[], object]] = [partial(queue, engine, progress) for engine in testbed.engines]
        parts += [pipeline_library, *(partial(compile_block, source, folder, name) for name in BLOCKS)]
        with ThreadPoolExecutor(_PARALLEL) as pool:
            for done in [pool.submit(copy_context().run, part) for part in parts]:
                done.result()

    rendered = [
        p4.render_sources(testbed),
        *(verilog.render_sources(engine.geometry) for engine in testbed.engines),
    ]
    files = [item for sources in rendered for item in sorted(sources.items())]
    key = cache.digest([target, *tools, *(part for item in files for part in item)])
    folder, fresh = cache.build_once(target, key, everything)
    return Build(folder, folder.name, fresh)
