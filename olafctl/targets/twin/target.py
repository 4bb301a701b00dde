"""The twin target: the default, with nothing to install but Python packages and a C++ compiler."""

from collections.abc import Callable, Sequence
from pathlib import Path

from olafctl.targets import deployment, front_ports, queue_process, rendered
from olafctl.targets.engine.compile import pipeline_library
from olafctl.targets.interface import Build, Progress
from olafctl.targets.queue_library import queue_library
from olafctl.targets.twin.pipeline import CONFIG, P4INFO, compile_block
from olafctl.targets.twin.running import RunningTwin
from olafctl.testbed.model import Testbed, TestbedEngine
from olafswitch import toolchain
from olafswitch.errors import Problem
from olafswitch.p4.compiler import own_digest


class TwinTarget:
    """The :class:`olafctl.targets.interface.Target` of the twin; ``queue`` builds its queue's library."""

    def __init__(self, name: str, called: str, queue: Callable[[TestbedEngine, Progress], Path]) -> None:
        self.name = name
        self._queue = queue
        self._called = called

    def missing(self) -> Sequence[str]:
        """Return the C++ compiler, when it does not run."""
        return toolchain.missing()

    def build(self, testbed: Testbed, progress: Progress) -> Build:
        """Build both blocks, the queues and the engine. Raises OlafError.

        The build is for the present compiler: with another one all native code is compiled again.
        """

        def block(sources: Path, folder: Path, name: str) -> None:
            progress(f"compiling {name}")
            compile_block(sources / f"{name}.p4", folder / name)

        tools = [own_digest(), str(toolchain.cxx())]
        return rendered.build_pipeline(self.name, testbed, tools, self._queue, block, progress)

    def problems(self, testbed: Testbed, state: Path) -> Sequence[Problem]:
        """Return the front ports that cannot be made."""
        return front_ports.find_problems(testbed, state)

    def start(self, testbed: Testbed, build: Build, state: Path, progress: Progress) -> RunningTwin:
        """Start front ports and the process. Raises OlafError."""

        def files(block: str) -> tuple[Path, Path]:
            return build.folder / block / P4INFO, build.folder / block / CONFIG

        pipeline_library()  # built here when newer than the build's: the process must be ready soon
        recorded = deployment.plan_deployment(self.name, testbed, state, self._queue, files, progress)
        with deployment.start_engine(state, recorded, progress):
            progress(f"starting the {self._called}")
            queue_process.start_process("olafctl.targets.twin.process", state)
            return RunningTwin(state, recorded)

    def find(self, testbed: Testbed, state: Path) -> RunningTwin | None:
        """Return the running twin of ``state``, if it answers."""
        return queue_process.find_process(self.name, state, RunningTwin)

    def stop(self, state: Path) -> None:
        """See :func:`olafctl.targets.deployment.undo_deployment`."""
        deployment.undo_deployment(state)


TARGET = TwinTarget("twin", "twin", queue_library)
