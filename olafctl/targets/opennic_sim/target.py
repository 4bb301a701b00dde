"""The opennic-sim target: the card's build, and the card's agent, around the simulated box.

The front ports are made as for the twin, as many as the testbed has.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from olafctl.targets import deployment, front_ports, queue_process
from olafctl.targets.deployment import Deployment
from olafctl.targets.interface import Build, Progress
from olafctl.targets.opennic import build as builds
from olafctl.targets.opennic import registers
from olafctl.targets.opennic.health import OPENNIC
from olafctl.targets.opennic.process import undo_deployment, write_settings
from olafctl.targets.opennic.running import RunningCard
from olafctl.targets.opennic.service import Settings, list_devices
from olafctl.targets.opennic_sim import box
from olafctl.targets.opennic_sim.card import blocks_of
from olafctl.testbed.model import Testbed
from olafswitch import cache, toolchain
from olafswitch.errors import Problem

_CARD_LOG = "card.log"
_LOGS = (queue_process.LOG, _CARD_LOG)
_START_SECONDS = 120.0


class OpennicSim:
    """The :class:`olafctl.targets.interface.Target` of the simulated card."""

    name = "opennic-sim"
    shell = OPENNIC
    process = "olafctl.targets.opennic_sim.process"

    def missing(self) -> Sequence[str]:
        """Return the C++ compiler, when it does not run."""
        return toolchain.missing()

    def build(self, testbed: Testbed, progress: Progress) -> Build:
        """Build the plug-in, and the Verilated box with both programs as Verilog. Raises OlafError."""
        made = builds.make_plugin(testbed)

        key = cache.digest(part for item in sorted(made.files.items()) for part in item)
        folder, fresh = cache.build_once(self.name, key, made.write)
        self.simulate(testbed, folder, progress)
        return Build(folder, folder.name, fresh)

    def simulate(self, testbed: Testbed, folder: Path, progress: Progress) -> None:
        """Build the RTL of the plug-in in ``folder``. Raises OlafError."""
        box.build_box(testbed.root.geometry, blocks_of(folder), len(testbed.ports), progress)

    def problems(self, testbed: Testbed, state: Path) -> Sequence[Problem]:
        """Return the front ports that a box cannot have or that cannot be made."""
        found = [*builds.not_driven(testbed), *front_ports.find_problems(testbed, state)]
        if len(testbed.ports) > registers.PORTS:
            what = f"the testbed has {len(testbed.ports)} front ports, a box at most {registers.PORTS}"
            where = f"{testbed.source}: target {self.name}"
            found.append(Problem(what, where, "leave out ports, or use the target twin"))
        return found

    def start(self, testbed: Testbed, build: Build, state: Path, progress: Progress) -> RunningCard:
        """Start front ports, the simulated card's process and the agent's. Raises OlafError."""
        ports = front_ports.plan_ports(testbed, state, progress)
        numbers = [port.number for port in ports]
        recorded = Deployment(self.name, ports, list_devices(build.folder, ""), [], [])
        settings = Settings(str(state.resolve()), build.folder, numbers, shell=self.shell.name)
        with deployment.start_engine(state, recorded, progress):
            write_settings(state, settings)
            progress("starting the simulated card")
            queue_process.start_process(self.process, state, _CARD_LOG, _START_SECONDS)
            progress("starting its agent")
            queue_process.start_process("olafctl.targets.opennic.process", state, seconds=_START_SECONDS)
            return RunningCard(state, recorded, testbed.root.name, _LOGS)

    def find(self, testbed: Testbed, state: Path) -> RunningCard | None:
        """Return the running target of ``state``, if agent and card answer."""
        opened = partial(RunningCard, engine=testbed.root.name, logs=_LOGS)
        running = queue_process.find_process(self.name, state, opened)
        return running if running is not None and running.alive() else None

    def stop(self, state: Path) -> None:
        """End both processes and remove the front ports."""
        undo_deployment(state)


TARGET = OpennicSim()
