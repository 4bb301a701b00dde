"""The twin target: the default, with nothing to install but Python packages and a C++ compiler."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from olafctl import toolchain
from olafctl.errors import MissingTool, OlafError, Problem
from olafctl.p4.compiler import own_digest
from olafctl.targets import deployment, front_ports, processes, queue_process, rendered
from olafctl.targets.deployment import Deployment
from olafctl.targets.engine.compile import engine_library
from olafctl.targets.interface import Build, Progress
from olafctl.targets.queue_library import queue_library
from olafctl.targets.twin.pipeline import CONFIG, P4INFO, compile_block
from olafctl.targets.twin.running import RunningTwin
from olafctl.testbed.model import Engine, Testbed

_PARALLEL = 2


class Twin:
    """See :class:`olafctl.targets.interface.Target`; ``queue`` builds the library of an engine's queue."""

    def __init__(self, name: str, called: str, queue: Callable[[Engine, Progress], Path]) -> None:
        self.name = name
        self._queue = queue
        self._called = called

    def missing(self) -> Sequence[str]:
        """The C++ compiler, when it does not run."""
        try:
            toolchain.cxx()
        except MissingTool:
            return [toolchain.NEEDED]
        return []

    def build(self, testbed: Testbed, progress: Progress) -> Build:
        """Both blocks, the queues and the engine compiled. Raises OlafError.

        For the compiler in use: with another one all native code is compiled again.
        """

        def block(folder: Path, name: str) -> None:
            progress(f"compiling {name}")
            compile_block(rendered.p4_folder(testbed) / f"{name}.p4", folder / name)

        def everything(folder: Path) -> None:
            with ThreadPoolExecutor(_PARALLEL) as pool:
                # What takes longest first.
                work: list[Future[Any]] = [
                    pool.submit(self._queue, engine, progress) for engine in testbed.engines
                ]
                work.append(pool.submit(engine_library))
                work += [pool.submit(block, folder, name) for name in rendered.BLOCKS]
                for part in work:
                    part.result()

        return rendered.build_once(self.name, testbed, [own_digest(), str(toolchain.cxx())], everything)

    def problems(self, testbed: Testbed, state: Path) -> Sequence[Problem]:
        """Front ports that cannot be made."""
        return front_ports.problems(testbed, state)

    def start(self, testbed: Testbed, build: Build, state: Path, progress: Progress) -> RunningTwin:
        """Front ports and the process. Raises OlafError."""
        engine_library()  # a newer one than the build's: here, for the process must be ready soon
        ports = front_ports.plan(testbed, state, progress)
        devices = deployment.devices(
            testbed, lambda block: (build.folder / block / P4INFO, build.folder / block / CONFIG)
        )
        engines = deployment.parts(testbed, lambda engine: self._queue(engine, progress))
        recorded = Deployment(self.name, ports, devices, engines, deployment.trunks(testbed))
        with deployment.starting(state, recorded, progress):
            progress(f"starting the {self._called}")
            queue_process.start("olafctl.targets.twin.process", state)
            return RunningTwin(state, recorded)

    def find(self, testbed: Testbed, state: Path) -> RunningTwin | None:
        """What runs in ``state``, if it answers."""
        recorded = deployment.load(state)
        if recorded is None or recorded.target != self.name or not processes.of(state):
            return None
        try:
            return RunningTwin(state, recorded)
        except OlafError:
            return None

    def stop(self, state: Path) -> None:
        """See :func:`olafctl.targets.deployment.undo`."""
        deployment.undo(state)


TARGET = Twin("twin", "twin", queue_library)
