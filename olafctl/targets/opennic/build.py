"""The build of a testbed for the card: the plug-in folder, and what to run next on a machine with Vivado."""

import shutil
from pathlib import Path

from olafctl.targets import p4_sources
from olafctl.targets.interface import Build, Progress
from olafctl.targets.opennic import plugin, preflight
from olafctl.targets.opennic.ips import IPS
from olafctl.targets.opennic.plugin import Plugin
from olafctl.testbed.model import Testbed
from olafswitch import cache
from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.p4.compiler import vitis_check
from olafswitch.p4.syntax.preprocess import preprocess_text


def build(testbed: Testbed, progress: Progress) -> Build:
    """The plug-in of ``testbed``, from the cache or written now. Needs no Vivado.

    Raises OlafError when the P4 cannot be flattened, or has what VitisNetP4 does not support.
    """
    made = make(testbed)
    key = cache.digest(part for item in sorted(made.files.items()) for part in item)
    progress(f"writing plug-in {made.build_id}")
    folder, fresh = cache.build_once("opennic", key, made.write)
    return Build(folder, folder.name, fresh, next_steps(folder, made.build_id))


def make(testbed: Testbed) -> Plugin:
    """The plug-in's files. Raises as :func:`build` does."""
    if len(testbed.engines) > 1:
        what = f"has {len(testbed.engines)} engines, and a card is one"
        raise BadInput(Problem(what, str(testbed.source), "use the target twin or bmv2"))
    made = plugin.make(testbed.root.geometry, p4_sources.sources(testbed))
    for ip in IPS:
        name = f"p4/{ip.name}.p4"
        if problems := vitis_check(preprocess_text(made.files[name], name), name):
            raise OlafError(*problems)
    return made


def next_steps(folder: Path, build_id: str) -> str:
    """What makes the plug-in run on a card, and on which machine each step is done."""
    lines = [
        f"next, on a machine with {preflight.NEEDED}:",
        f"  {plugin.command(folder)}",
        f"then, on the card's host, with bitstream {build_id} on the card and its drivers at hand:",
        "  OLAF_CARD=0000:3b:00.0 OLAF_CARD_DRIVERS=DRIVERS olafctl deploy TESTBED --target opennic",
    ]
    if shutil.which("vivado"):
        lines += [f"missing here: {problem}" for problem in preflight.problems()]
    return "\n".join(lines)
