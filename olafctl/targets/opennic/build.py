"""The build of a testbed for the card: the plug-in folder, and what to run next on a machine with Vivado."""

from olafctl import cache
from olafctl.targets import p4_sources
from olafctl.targets.interface import Build, Progress
from olafctl.targets.opennic import plugin
from olafctl.testbed.model import Testbed


def build(testbed: Testbed, progress: Progress) -> Build:
    """The plug-in of ``testbed``, from the cache or written now. Needs no Vivado.

    Raises OlafError when the P4 cannot be flattened.
    """
    made = plugin.make(testbed.engine.geometry, p4_sources.sources(testbed))
    key = cache.digest(part for item in sorted(made.files.items()) for part in item)
    progress(f"writing plug-in {made.build_id}")
    folder, fresh = cache.build_once("opennic", key, made.write)
    return Build(folder, folder.name, fresh)
