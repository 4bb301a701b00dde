"""The inputs of a build: what is rendered from the testbed, and a name for all of it."""

from collections.abc import Callable, Sequence
from pathlib import Path

from olafctl import cache
from olafctl.queue import verilog
from olafctl.targets import p4_sources as p4
from olafctl.targets.interface import Build
from olafctl.testbed.model import Testbed

BLOCKS = ("vnp4_1", "vnp4_2")


def p4_folder(testbed: Testbed) -> Path:
    """The folder with every P4 source of ``testbed``."""
    return p4.folder(testbed)


def check(testbed: Testbed) -> None:
    """Render ``testbed`` and check the Verilog instances against the modules they name.

    Raises OlafError with every misfit.
    """
    p4.folder(testbed)
    for engine in testbed.engines:
        verilog.folder(engine.geometry)


def build_once(
    target: str, testbed: Testbed, tools: Sequence[str | bytes | Path], fill: Callable[[Path], None]
) -> Build:
    """The build of ``testbed`` for ``target`` with ``tools`` (their versions or sources), filled by ``fill``
    when it is not in the cache."""
    rendered = [p4.sources(testbed), *(verilog.sources(engine.geometry) for engine in testbed.engines)]
    files = [item for sources in rendered for item in sorted(sources.items())]
    key = cache.digest([target, *tools, *(part for item in files for part in item)])
    folder, fresh = cache.build_once(target, key, fill)
    return Build(folder, folder.name, fresh)
