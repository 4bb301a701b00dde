"""The build of a testbed for the card: the plug-in folder, and the next steps on a machine with Vivado."""

import shutil
from pathlib import Path

from olafctl.targets import p4_sources
from olafctl.targets.interface import Build, Progress
from olafctl.targets.opennic import plugin, preflight
from olafctl.targets.opennic.plugin import Plugin
from olafctl.testbed.model import BlockKind, Testbed
from olafswitch import cache
from olafswitch.errors import BadInput, Problem


def build_plugin(testbed: Testbed, progress: Progress) -> Build:
    """Return the plug-in of ``testbed``, from the cache or written now. Needs no Vivado.

    Raises OlafError when the P4 is wrong, or is outside of what becomes Verilog.
    """
    made = make_plugin(testbed)
    key = cache.digest(part for item in sorted(made.files.items()) for part in item)
    progress(f"writing plug-in {made.build_id}")
    folder, fresh = cache.build_once("opennic", key, made.write)
    return Build(folder, folder.name, fresh, next_steps(folder, made.build_id, testbed.blocks))


def make_plugin(testbed: Testbed) -> Plugin:
    """Return the plug-in's files. Raises as :func:`build_plugin` does."""
    check_one_engine(testbed)
    vitis = testbed.blocks is BlockKind.VITISNETP4
    return plugin.assemble_plugin(testbed.root.geometry, p4_sources.sources_folder(testbed), vitis)


def check_one_engine(testbed: Testbed) -> None:
    """Raise BadInput for a testbed of several engines: a card is one."""
    if len(testbed.engines) > 1:
        what = f"has {len(testbed.engines)} engines, and a card is one"
        raise BadInput(Problem(what, str(testbed.source), "use the target twin or bmv2"))


def not_driven(testbed: Testbed) -> list[Problem]:
    """Return a problem where the testbed asks for VitisNetP4, whose tables nothing here can write."""
    if testbed.blocks is BlockKind.RTL:
        return []
    what = f"blocks: {testbed.blocks.value} can be built, not deployed: its tables need AMD's own driver"
    return [Problem(what, str(testbed.source), f"leave blocks out, or say blocks: {BlockKind.RTL.value}")]


def next_steps(folder: Path, build_id: str, blocks: BlockKind) -> str:
    """Return the steps that make the plug-in run on a card, each with its machine."""
    lines = [
        f"next, on a machine with {preflight.describe_needs(blocks)}:",
        f"  {plugin.build_command(folder)}",
    ]
    if blocks is BlockKind.RTL:
        lines += [
            f"then, on the card's host, with bitstream {build_id} on the card:",
            "  OLAF_CARD=0000:3b:00.0 olafctl deploy TESTBED --target opennic",
        ]
    if shutil.which("vivado"):
        lines += [f"missing here: {problem}" for problem in preflight.find_problems(blocks)]
    return "\n".join(lines)
