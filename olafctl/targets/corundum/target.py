"""The corundum target: a board that runs Corundum with the block of a build, driven from its host."""

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from olafctl.targets import p4_sources
from olafctl.targets.corundum.boards import BOARD, Board, find_board
from olafctl.targets.corundum.program import list_program_files
from olafctl.targets.corundum.shell import CORUNDUM
from olafctl.targets.corundum.variant import Variant, assemble_variant, find_checkout, place_in_design
from olafctl.targets.interface import Build, Progress
from olafctl.targets.opennic import build as builds
from olafctl.targets.opennic.preflight import ask_vivado
from olafctl.targets.opennic.target import Opennic
from olafctl.testbed.model import Testbed
from olafswitch import cache
from olafswitch.errors import BadInput, Problem


class Corundum(Opennic):
    """The :class:`olafctl.targets.interface.Target` of a Corundum board.

    OLAF_CORUNDUM names the checkout, OLAF_CARD_BOARD the board where ``--board`` does not, and
    OLAF_CARD_INTERFACE the first interface's netdev.
    """

    name = "corundum"
    shell = CORUNDUM

    def build(self, testbed: Testbed, progress: Progress) -> Build:
        """Return the board's variant next to the checkout, and the next steps. Raises OlafError."""
        board = find_board(testbed.board, str(testbed.source))
        builds.check_one_engine(testbed)
        if problems := [*builds.not_driven(testbed), *_count_ports(testbed, board)]:
            raise BadInput(*problems)
        root = find_checkout(str(testbed.source))
        made = assemble_variant(root, board, testbed.root.geometry, p4_sources.sources_folder(testbed))
        deploy = f"OLAF_CARD=0000:3b:00.0 {BOARD}={board.name} olafctl deploy TESTBED --target {self.name}"
        return _write_variant(made, board, progress, deploy)

    def count_ports(self, testbed: Testbed) -> Sequence[Problem]:
        """Report more front ports than the board's MACs and the host's interfaces."""
        try:
            return _count_ports(testbed, find_board(testbed.board, str(testbed.source)))
        except BadInput as refused:
            return refused.problems


def build_program(file: Path, board_name: str | None, progress: Progress) -> Build:
    """Return the board's variant with the P4 program ``file`` in its block. Raises OlafError."""
    board = find_board(board_name, str(file))
    made = place_in_design(find_checkout(str(file)), board, list_program_files(file))
    return _write_variant(made, board, progress)


def _write_variant(made: Variant, board: Board, progress: Progress, deploy: str = "") -> Build:
    """Return the written variant, with the next steps: ``deploy`` is the command for the card's host."""
    files = (part for item in sorted(made.plugin.files.items()) for part in item)
    key = cache.digest([*files, *map(str, sorted(made.links.items()))])
    progress(f"writing the variant {made.plugin.build_id} of {board.name}")
    folder, fresh = cache.build_once("corundum", key, made.write)
    lines = [
        f"next, on a machine with Vivado for {made.part}"
        + "".join(f" and the licence {name} ({what})" for name, what in board.licences.items()),
        f"  make -C {shlex.quote(str(folder / made.folder))}",
    ]
    if deploy:
        lines += [
            f"then, on the card's host, with bitstream {made.plugin.build_id} on the card:",
            f"  {deploy}",
        ]
    if shutil.which("vivado"):
        progress(f"asking Vivado for {made.part}")
        lines += [f"missing here: {problem}" for problem in ask_vivado(made.part, board.licences)]
    return Build(folder, folder.name, fresh, "\n".join(lines))


def _count_ports(testbed: Testbed, board: Board) -> list[Problem]:
    if len(testbed.ports) <= 2 * board.macs:
        return []
    what = f"the testbed has {len(testbed.ports)} front ports, {board.name} {2 * board.macs}"
    return [
        Problem(
            what, str(testbed.source), "a board's are its MACs and the host's interfaces: leave out ports"
        )
    ]


TARGET = Corundum()
