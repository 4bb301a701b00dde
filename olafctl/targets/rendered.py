"""The inputs of a build: what is rendered from the testbed, and a name for all of it."""

from collections.abc import Callable, Sequence
from pathlib import Path

from olafctl import cache
from olafctl.queue.verilate import verilog_sources
from olafctl.render.p4 import sources
from olafctl.targets.interface import Build
from olafctl.targets.queue_library import parameters_of
from olafctl.testbed.model import Testbed

BLOCKS = ("vnp4_1", "vnp4_2")


def p4_folder(testbed: Testbed) -> Path:
    """The folder with every P4 source of ``testbed``: one a content, so that compilers see the same paths."""

    def write(folder: Path) -> None:
        for name, text in sources(testbed).items():
            (folder / name).write_text(text)

    folder, _ = cache.build_once("p4src", cache.digest(_p4_parts(testbed)), write)
    return folder


def build_once(
    target: str, testbed: Testbed, tools: Sequence[str | bytes | Path], fill: Callable[[Path], None]
) -> Build:
    """The build of ``testbed`` for ``target`` with ``tools`` (their versions or sources), filled by ``fill``
    when it is not in the cache."""
    queue: list[str | Path] = [repr(parameters_of(testbed.engine)), *verilog_sources()]
    key = cache.digest([target, *tools, *_p4_parts(testbed), *queue])
    folder, fresh = cache.build_once(target, key, fill)
    return Build(folder, folder.name, fresh)


def _p4_parts(testbed: Testbed) -> list[str]:
    return [part for item in sorted(sources(testbed).items()) for part in item]
