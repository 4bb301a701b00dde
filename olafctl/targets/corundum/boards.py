"""Corundum's boards that Vivado builds, as at commit 1ca0151b, and their places in a checkout."""

import os
from dataclasses import dataclass

from olafswitch.errors import BadInput, Problem

BOARD = "OLAF_CARD_BOARD"
"""The variable of the environment that names the board."""
WIDTHS = {100: 512, 25: 128, 10: 64}
"""The bits of the MACs' streams, by Gb/s."""


@dataclass(frozen=True)
class Board:
    """A design of a board: its folder below ``fpga/mqnic``, the Gb/s of its MACs and how many it has."""

    name: str
    path: str
    gigabits: int
    macs: int

    @property
    def width(self) -> int:
        """The bits of the MACs' streams."""
        return WIDTHS[self.gigabits]

    @property
    def licences(self) -> dict[str, str]:
        """The licences that the board needs besides the part's: the MACs of 10G and 25G are open."""
        return {"cmac_usplus": "the 100G MAC, free of charge"} if self.gigabits == 100 else {}


BOARDS = {
    board.name: board
    for board in (
        Board("250_SoC-100g", "250_SoC/fpga_100g/fpga", 100, 2),
        Board("250_SoC-25g", "250_SoC/fpga_25g/fpga", 25, 2),
        Board("250_SoC-10g", "250_SoC/fpga_25g/fpga_10g", 10, 2),
        Board("ADM_PCIE_9V3-100g", "ADM_PCIE_9V3/fpga_100g/fpga", 100, 2),
        Board("ADM_PCIE_9V3-25g", "ADM_PCIE_9V3/fpga_25g/fpga", 25, 2),
        Board("ADM_PCIE_9V3-10g", "ADM_PCIE_9V3/fpga_25g/fpga_10g", 10, 2),
        Board("AU200-100g", "Alveo/fpga_100g/fpga_AU200", 100, 2),
        Board("AU250-100g", "Alveo/fpga_100g/fpga_AU250", 100, 2),
        Board("AU280-100g", "Alveo/fpga_100g/fpga_AU280", 100, 2),
        Board("AU50-100g", "Alveo/fpga_100g/fpga_AU50", 100, 1),
        Board("AU55N-100g", "Alveo/fpga_100g/fpga_AU55N", 100, 2),
        Board("VCU1525-100g", "Alveo/fpga_100g/fpga_VCU1525", 100, 2),
        Board("AU200-25g", "Alveo/fpga_25g/fpga_AU200", 25, 2),
        Board("AU200-10g", "Alveo/fpga_25g/fpga_AU200_10g", 10, 2),
        Board("AU250-25g", "Alveo/fpga_25g/fpga_AU250", 25, 2),
        Board("AU250-10g", "Alveo/fpga_25g/fpga_AU250_10g", 10, 2),
        Board("AU280-25g", "Alveo/fpga_25g/fpga_AU280", 25, 2),
        Board("AU280-10g", "Alveo/fpga_25g/fpga_AU280_10g", 10, 2),
        Board("AU50-25g", "Alveo/fpga_25g/fpga_AU50", 25, 1),
        Board("AU50-10g", "Alveo/fpga_25g/fpga_AU50_10g", 10, 1),
        Board("AU55N-25g", "Alveo/fpga_25g/fpga_AU55N", 25, 2),
        Board("AU55N-10g", "Alveo/fpga_25g/fpga_AU55N_10g", 10, 2),
        Board("VCU1525-25g", "Alveo/fpga_25g/fpga_VCU1525", 25, 2),
        Board("VCU1525-10g", "Alveo/fpga_25g/fpga_VCU1525_10g", 10, 2),
        Board("DNPCIe_40G_KU040-10g", "DNPCIe_40G_KU_LL_2QSFP/fpga/fpga_ku040", 10, 2),
        Board("DNPCIe_40G_KU060-10g", "DNPCIe_40G_KU_LL_2QSFP/fpga/fpga_ku060", 10, 2),
        Board("KR260-10g", "KR260/fpga/fpga", 10, 1),
        Board("NetFPGA_SUME-10g", "NetFPGA_SUME/fpga/fpga", 10, 1),
        Board("Nexus_K3P_Q-25g", "Nexus_K3P_Q/fpga_25g/fpga", 25, 2),
        Board("Nexus_K3P_Q-10g", "Nexus_K3P_Q/fpga_25g/fpga_10g", 10, 2),
        Board("Nexus_K35-25g", "Nexus_K3P_S/fpga_25g/fpga_K35", 25, 2),
        Board("Nexus_K3P_S-25g", "Nexus_K3P_S/fpga_25g/fpga_K3P", 25, 2),
        Board("Nexus_K3P_S-10g", "Nexus_K3P_S/fpga_25g/fpga_K3P_10g", 10, 2),
        Board("VCU108-25g", "VCU108/fpga_25g/fpga", 25, 1),
        Board("VCU108-10g", "VCU108/fpga_25g/fpga_10g", 10, 1),
        Board("VCU118-100g", "VCU118/fpga_100g/fpga", 100, 2),
        Board("VCU118-25g", "VCU118/fpga_25g/fpga", 25, 2),
        Board("VCU118-10g", "VCU118/fpga_25g/fpga_10g", 10, 2),
        Board("XUPP3R-100g", "XUPP3R/fpga_100g/fpga", 100, 4),
        Board("XUPP3R-25g", "XUPP3R/fpga_25g/fpga_XUPP3R", 25, 4),
        Board("XUPP3R-10g", "XUPP3R/fpga_25g/fpga_XUPP3R_10g", 10, 4),
        Board("XUSP3S-25g", "XUPP3R/fpga_25g/fpga_XUSP3S", 25, 2),
        Board("XUSP3S-10g", "XUPP3R/fpga_25g/fpga_XUSP3S_10g", 10, 2),
        Board("ZCU102-10g", "ZCU102/fpga/fpga", 10, 2),
        Board("ZCU106-10g", "ZCU106/fpga_pcie/fpga", 10, 2),
        Board("ZCU106_PS-10g", "ZCU106/fpga_zynqmp/fpga", 10, 2),
        Board("fb2CG-100g", "fb2CG/fpga_100g/fpga", 100, 2),
        Board("fb2CG-25g", "fb2CG/fpga_25g/fpga", 25, 2),
        Board("fb2CG-10g", "fb2CG/fpga_25g/fpga_10g", 10, 2),
        Board("fb4CGg3-100g", "fb4CGg3/fpga_100g/fpga", 100, 4),
        Board("fb4CGg3-25g", "fb4CGg3/fpga_25g/fpga", 25, 4),
        Board("fb4CGg3-10g", "fb4CGg3/fpga_25g/fpga_10g", 10, 4),
    )
}


def find_board(name: str | None, where: str) -> Board:
    """Return the board ``name``, or that of the environment. Raises BadInput, which lists all of them."""
    board = name or os.environ.get(BOARD)
    if board in BOARDS:
        return BOARDS[board]
    what = f"board {board!r} is not known" if board else "no board is named"
    raise BadInput(Problem(what, where, f"--board or {BOARD} with one of: {', '.join(BOARDS)}"))


def find_width(where: str) -> int:
    """Return the bits of the streams of the environment's board, 512 where it names none. Raises BadInput."""
    return find_board(None, where).width if os.environ.get(BOARD) else WIDTHS[100]
