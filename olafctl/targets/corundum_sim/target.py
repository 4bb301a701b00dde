"""The corundum-sim target: as opennic-sim, with Corundum's core around the box.

Of a testbed's front ports the first half are MACs, the others the host's interfaces.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from olafctl.targets.corundum.boards import find_width
from olafctl.targets.corundum.shell import CORUNDUM
from olafctl.targets.corundum.variant import find_checkout
from olafctl.targets.corundum_sim.nic import surround_box
from olafctl.targets.interface import Build, Progress
from olafctl.targets.opennic_sim.box import build_box
from olafctl.targets.opennic_sim.card import blocks_of
from olafctl.targets.opennic_sim.target import OpennicSim
from olafctl.testbed.model import Testbed
from olafswitch.errors import BadInput, Problem


class CorundumSim(OpennicSim):
    """See :class:`olafctl.targets.interface.Target`. OLAF_CORUNDUM names the checkout,
    OLAF_CARD_BOARD a board with streams as wide as those of the simulation."""

    name = "corundum-sim"
    shell = CORUNDUM
    process = "olafctl.targets.corundum_sim.process"

    def build(self, testbed: Testbed, progress: Progress) -> Build:
        """Return the plug-in, once the NIC with it is built. Raises OlafError."""
        find_checkout(str(testbed.source))
        width = find_width(str(testbed.source))
        built = super().build(testbed, progress)
        return replace(built, key=f"{built.key}-{width}")

    def problems(self, testbed: Testbed, state: Path) -> Sequence[Problem]:
        """Return what opennic-sim lacks as well, and a checkout or a board that is not known."""
        found = super().problems(testbed, state)
        try:
            find_checkout(str(testbed.source))
            find_width(str(testbed.source))
        except BadInput as refused:
            return [*found, *refused.problems]
        return found

    def simulate(self, testbed: Testbed, folder: Path, progress: Progress) -> None:
        """Build the RTL of the plug-in in ``folder`` and of the checkout. Raises OlafError."""
        checkout = find_checkout(str(testbed.source))
        macs = -(-len(testbed.ports) // 2)
        around = surround_box(checkout, macs, find_width(str(testbed.source)))
        build_box(testbed.root.geometry, blocks_of(folder), progress=progress, around=around)


TARGET = CorundumSim()
