"""The opennic target: a card that runs the bitstream of a build, driven from its host."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from olafctl.network import claims
from olafctl.targets import deployment, queue_process
from olafctl.targets.deployment import Deployment
from olafctl.targets.interface import Build, Progress
from olafctl.targets.opennic import build as builds
from olafctl.targets.opennic.health import CMACS, OPENNIC
from olafctl.targets.opennic.process import claim_of, undo_deployment, write_settings
from olafctl.targets.opennic.running import RunningCard
from olafctl.targets.opennic.service import Settings, list_devices
from olafctl.targets.opennic.shell import Shell
from olafctl.testbed.model import Testbed
from olafswitch.errors import Problem

CARD = "OLAF_CARD"
INTERFACE = "OLAF_CARD_INTERFACE"


class Opennic:
    """The :class:`olafctl.targets.interface.Target` of a card.

    The environment names the card: OLAF_CARD its PCI Express function, OLAF_CARD_INTERFACE its network
    interface.
    """

    name = "opennic"
    shell: Shell = OPENNIC

    def missing(self) -> Sequence[str]:
        """Return nothing: the plug-in is built without Vivado."""
        return []

    def build(self, testbed: Testbed, progress: Progress) -> Build:
        """Return the plug-in folder, and the next steps. Raises OlafError."""
        return builds.build_plugin(testbed, progress)

    def problems(self, testbed: Testbed, state: Path) -> Sequence[Problem]:
        """Return the problems: no card is named, the agent does not drive the blocks, or there are too many
        ports."""
        found = builds.not_driven(testbed)
        where = f"{testbed.source}: target {self.name}"
        if card := os.environ.get(CARD):
            for name, problem in claims.find_conflicts([claim_of(card)], state):
                found.append(Problem(f"{name} {problem.what}", where, problem.remedy))
        else:
            remedy = f"set {CARD} to its PCI Express function, as 0000:3b:00.0 (lspci -d 10ee:)"
            found.append(Problem("no card is named", where, remedy))
        return [*found, *self.count_ports(testbed)]

    def count_ports(self, testbed: Testbed) -> Sequence[Problem]:
        """Report more front ports than the card has."""
        if len(testbed.ports) <= len(CMACS):
            return []
        what = f"the testbed has {len(testbed.ports)} front ports, the card {len(CMACS)}"
        where = f"{testbed.source}: target {self.name}"
        return [Problem(what, where, "leave out ports, or use the target opennic-sim")]

    def start(self, testbed: Testbed, build: Build, state: Path, progress: Progress) -> RunningCard:
        """Start the agent. Raises OlafError, also when the card runs another build."""
        undo_deployment(state)
        state.mkdir(parents=True, exist_ok=True)
        settings = Settings(
            os.environ.get(CARD, ""),
            build.folder,
            [port.number for port in testbed.ports],
            os.environ.get(INTERFACE) or None,
            self.shell.name,
        )
        recorded = Deployment(self.name, [], list_devices(build.folder, ""), [], [])
        try:
            deployment.save_deployment(state, recorded)
            write_settings(state, settings)
            progress(f"starting the agent of card {settings.card}")
            queue_process.start_process("olafctl.targets.opennic.process", state)
            return RunningCard(state, recorded, testbed.root.name)
        except BaseException:
            undo_deployment(state)
            raise

    def find(self, testbed: Testbed, state: Path) -> RunningCard | None:
        """Return the running agent of ``state``, if it answers."""
        return queue_process.find_process(self.name, state, partial(RunningCard, engine=testbed.root.name))

    def stop(self, state: Path) -> None:
        """End the agent; the card goes on forwarding with its tables."""
        undo_deployment(state)


TARGET = Opennic()
