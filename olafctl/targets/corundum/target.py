"""The corundum target: a build for a board that runs Corundum. No agent drives such a card yet."""

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from olafctl.targets import p4_sources
from olafctl.targets.corundum.boards import BOARDS, Board
from olafctl.targets.corundum.variant import assemble_variant, find_checkout
from olafctl.targets.interface import Build, Progress, Running
from olafctl.targets.opennic import build as builds
from olafctl.targets.opennic.preflight import ask_vivado
from olafctl.testbed.model import Testbed
from olafswitch import cache
from olafswitch.errors import BadInput, Problem


class Corundum:
    """The :class:`olafctl.targets.interface.Target` of a Corundum board. OLAF_CORUNDUM names the checkout."""

    name = "corundum"

    def missing(self) -> Sequence[str]:
        """Return nothing: the variant is written without Vivado."""
        return []

    def build(self, testbed: Testbed, progress: Progress) -> Build:
        """Return the board's variant next to the checkout, and the next steps. Raises OlafError."""
        board = _find_board(testbed)
        builds.check_one_engine(testbed)
        if problems := [*builds.not_driven(testbed), *_count_ports(testbed, board)]:
            raise BadInput(*problems)
        root = find_checkout(str(testbed.source))
        made = assemble_variant(root, board, testbed.root.geometry, p4_sources.sources_folder(testbed))
        files = (part for item in sorted(made.plugin.files.items()) for part in item)
        key = cache.digest([*files, *map(str, sorted(made.links.items()))])
        progress(f"writing the variant {made.plugin.build_id} of {board.name}")
        folder, fresh = cache.build_once("corundum", key, made.write)
        lines = [
            f"next, on a machine with Vivado for {made.part}"
            + "".join(f" and the licence {name} ({what})" for name, what in board.licences.items()),
            f"  make -C {shlex.quote(str(folder / made.folder))}",
        ]
        if shutil.which("vivado"):
            progress(f"asking Vivado for {made.part}")
            lines += [f"missing here: {problem}" for problem in ask_vivado(made.part, board.licences)]
        return Build(folder, folder.name, fresh, "\n".join(lines))

    def problems(self, testbed: Testbed, state: Path) -> Sequence[Problem]:
        """Return why the target cannot be deployed."""
        what = f"the target {self.name} only builds: no agent has its registers (/dev/mqnic0) and links"
        return [Problem(what, str(testbed.source), "deploy with the target opennic, software or twin")]

    def start(self, testbed: Testbed, build: Build, state: Path, progress: Progress) -> NoReturn:
        """Raise BadInput with :meth:`problems`."""
        raise BadInput(*self.problems(testbed, state))

    def find(self, testbed: Testbed, state: Path) -> Running | None:
        """Return None: nothing runs."""
        return None

    def stop(self, state: Path) -> None:
        """Do nothing: nothing runs."""


def _find_board(testbed: Testbed) -> Board:
    if testbed.board in BOARDS:
        return BOARDS[testbed.board]
    what = f"board {testbed.board!r} is not known" if testbed.board else "no board is named"
    raise BadInput(Problem(what, str(testbed.source), f"--board with one of: {', '.join(BOARDS)}"))


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
