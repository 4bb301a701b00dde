"""Simulated Corundum's process: ``python -m olafctl.targets.corundum_sim.process STATE``."""

from functools import partial
from pathlib import Path

from olafctl.targets import serving_process
from olafctl.targets.corundum.boards import find_width
from olafctl.targets.corundum.shell import CORUNDUM, REGION_BITS
from olafctl.targets.corundum.variant import find_checkout
from olafctl.targets.corundum_sim.nic import Nic
from olafctl.targets.opennic.bar import WRITE
from olafctl.targets.opennic_sim.card import blocks_of, queue_of
from olafctl.targets.opennic_sim.process import serve_simulation


class CorundumSimulation:
    """The NIC with the box in it, all of its registers over PCI Express."""

    shell = CORUNDUM

    def __init__(self, build: Path, ports: int) -> None:
        """Raises OlafError."""
        checkout, width = find_checkout(str(build)), find_width(str(build))
        self.box = Nic(checkout, queue_of(build), blocks_of(build), -(-ports // 2), width)

    def access(self, kind: int, address: int, value: int) -> int:
        """Access the NIC's own registers, or the application's where the box has none."""
        bar, place = 2 * (address >> REGION_BITS), address & (1 << REGION_BITS) - 1
        if kind == WRITE:
            self.box.root.write(bar, place, value)
            return 0
        return self.box.root.read(bar, place)


if __name__ == "__main__":
    serving_process.run_process(partial(serve_simulation, simulate=CorundumSimulation))
