"""The inputs of a build: what is rendered from the testbed, and a name for all of it."""

from pathlib import Path

from olafctl.render.p4 import sources
from olafctl.testbed.model import Testbed

BLOCKS = ("vnp4_1", "vnp4_2")


def write_p4(testbed: Testbed, folder: Path) -> None:
    """Write every P4 source of ``testbed`` into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in sources(testbed).items():
        (folder / name).write_text(text)


def p4_parts(testbed: Testbed) -> list[str]:
    """The P4 sources of ``testbed`` as parts of a digest."""
    return [part for item in sorted(sources(testbed).items()) for part in item]
