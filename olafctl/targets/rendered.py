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


def write_p4(testbed: Testbed, folder: Path) -> None:
    """Write every P4 source of ``testbed`` into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in sources(testbed).items():
        (folder / name).write_text(text)


def build_once(
    target: str, testbed: Testbed, tools: Sequence[str | bytes | Path], fill: Callable[[Path], None]
) -> Build:
    """The build of ``testbed`` for ``target`` with ``tools`` (their versions or sources), filled by ``fill``
    when it is not in the cache."""
    p4 = [part for item in sorted(sources(testbed).items()) for part in item]
    queue: list[str | Path] = [repr(parameters_of(testbed.engine)), *verilog_sources()]
    key = cache.digest([target, *tools, *p4, *queue])
    folder, fresh = cache.build_once(target, key, fill)
    return Build(folder, folder.name, fresh)
