"""The bmv2 target: the reference with which the twin is compared."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from olafctl.network import interfaces
from olafctl.network.interfaces import create_cables
from olafctl.targets import deployment, front_ports, queue_process, rendered
from olafctl.targets.bmv2 import switch
from olafctl.targets.bmv2.wiring import make_cables
from olafctl.targets.interface import Build, Progress
from olafctl.targets.queue_library import queue_library
from olafctl.targets.queue_process import RunningProcess
from olafctl.testbed.model import Testbed
from olafswitch.errors import OlafError, Problem
from olafswitch.p4.stand_ins import find_real

COMPILER = "p4c-bm2-ss"


class RunningBmv2(RunningProcess):
    """The :class:`olafctl.targets.interface.Running` of the bmv2 target."""

    called = "bmv2"

    def alive(self) -> bool:
        """Return whether the queue process and every switch answer."""
        return super().alive() and all(
            switch.switch_answers(self._state, each.device_id) for each in self.devices
        )

    def logs(self) -> Sequence[Path]:
        """Return the switches' logs and the queue process's."""
        return [*(switch.log_of(self._state, each.device_id) for each in self.devices), *super().logs()]


class Bmv2:
    """The :class:`olafctl.targets.interface.Target` of BMv2."""

    name = "bmv2"

    def missing(self) -> Sequence[str]:
        """Return the programs that are not on PATH; the stand-ins of ``olafswitch drop-in`` do not count."""
        return [name for name in (COMPILER, switch.PROGRAM, "ip") if find_real(name) is None]

    def build(self, testbed: Testbed, progress: Progress) -> Build:
        """Build JSON and P4Info of both blocks, the Verilated queue, and the engine. Raises OlafError."""
        # The version is on the standard error.
        version = subprocess.run(
            [COMPILER, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        ).stdout

        def block(sources: Path, folder: Path, name: str) -> None:
            _compile_block(sources, folder, name, progress)

        return rendered.build_pipeline(self.name, testbed, [version], queue_library, block, progress)

    def problems(self, testbed: Testbed, state: Path) -> Sequence[Problem]:
        """Return the cables or front ports that cannot be made."""
        if reason := interfaces.why_not():
            where = f"{testbed.source}: target bmv2"
            return [Problem(reason, where, "run as root, or use the target twin")]
        return front_ports.find_problems(testbed, state)

    def start(self, testbed: Testbed, build: Build, state: Path, progress: Progress) -> RunningBmv2:
        """Start cables, front ports, the queue process and two switches for each engine. Raises OlafError."""

        def files(block: str) -> tuple[Path, Path]:
            return build.folder / f"{block}.p4info.txtpb", build.folder / f"{block}.json"

        recorded = deployment.plan_deployment(self.name, testbed, state, queue_library, files, progress)
        with deployment.start_engine(state, recorded, progress):
            progress("plugging cables")
            create_cables(state, [cable.pair for cable in make_cables(recorded.engines)])
            progress("starting the queue process")
            queue_process.start_process("olafctl.targets.bmv2.process", state)
            for device in recorded.devices:
                progress(f"starting {switch.PROGRAM} for {device.name}")
                switch.start_switch(state, device.device_id, recorded.engines)
            return RunningBmv2(state, recorded)

    def find(self, testbed: Testbed, state: Path) -> RunningBmv2 | None:
        """Return the running target of ``state``, if all of it answers."""
        running = queue_process.find_process(self.name, state, RunningBmv2)
        return running if running is not None and running.alive() else None

    def stop(self, state: Path) -> None:
        """See :func:`olafctl.targets.deployment.undo_deployment`."""
        deployment.undo_deployment(state)


def _compile_block(sources: Path, folder: Path, name: str, progress: Progress) -> None:
    progress(f"compiling {name} with {COMPILER}")
    output = ["--p4runtime-files", str(folder / f"{name}.p4info.txtpb"), "-o", str(folder / f"{name}.json")]
    command = [COMPILER, "--std", "p4-16", *output, str(sources / f"{name}.p4")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        problem = done.stderr.strip().splitlines()[:5] or [f"exit code {done.returncode}"]
        raise OlafError(*(Problem(line, name) for line in problem))


TARGET = Bmv2()
