"""The bmv2 target: the reference that the twin is held against."""

import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from olafctl.errors import MissingTool, OlafError, Problem
from olafctl.p4.stand_ins import real
from olafctl.ports import interfaces
from olafctl.ports.attachment import Attachment
from olafctl.ports.interfaces import create_cables
from olafctl.targets import deployment, front_ports, processes, queue_process, rendered
from olafctl.targets.bmv2 import switch
from olafctl.targets.bmv2.wiring import cables
from olafctl.targets.control import ask
from olafctl.targets.deployment import Deployment
from olafctl.targets.engine.compile import engine_library
from olafctl.targets.interface import Build, Device, Progress, TimedFrame, VirtualTime
from olafctl.targets.queue_library import queue_library
from olafctl.targets.queue_process import LOG, SOCKET, queues_of
from olafctl.testbed.model import Testbed

COMPILER = "p4c-bm2-ss"
_PARALLEL = 2


class RunningBmv2:
    """See :class:`olafctl.targets.interface.Running`."""

    def __init__(self, state: Path, recorded: Deployment) -> None:
        """Raises OlafError when the queue process in ``state`` does not answer."""
        self._state = state
        self.devices: Sequence[Device] = [
            deployment.device(entry) for entry in ask(state / SOCKET, "devices")
        ]
        self.attachments: Sequence[Attachment] = recorded.attachments
        self.queues = queues_of(state / SOCKET, recorded)

    def alive(self) -> bool:
        """Whether the queue process and every switch answer."""
        try:
            ask(self._state / SOCKET, "devices")
        except OlafError:
            return False
        return all(switch.answers(self._state, device.device_id) for device in self.devices)

    def logs(self) -> Sequence[Path]:
        """The switches' logs and the queue process's."""
        switches = [switch.log_of(self._state, device.device_id) for device in self.devices]
        return [*switches, self._state / LOG]

    def stats(self) -> dict[str, Any]:
        """``ports``: by number, frames and bytes each way; ``losses``: frames that went nowhere."""
        stats: dict[str, Any] = ask(self._state / SOCKET, "stats")
        return stats

    def replay(self, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]:
        """Raises OlafError: BMv2 has no virtual time."""
        raise _no_virtual_time()

    def virtual_time(self) -> VirtualTime:
        """Raises OlafError: BMv2 has no virtual time."""
        raise _no_virtual_time()


class Bmv2:
    """See :class:`olafctl.targets.interface.Target`."""

    name = "bmv2"

    def missing(self) -> Sequence[str]:
        """The programs that are not on PATH; Olaf's stand-ins for them (``olafctl p4 drop-in``) are none."""
        return [name for name in (COMPILER, switch.PROGRAM, "ip") if real(name) is None]

    def build(self, testbed: Testbed, progress: Progress) -> Build:
        """JSON and P4Info of both blocks, the Verilated queue, the engine. Raises OlafError."""
        self._require()
        # On the standard error.
        version = subprocess.run(
            [COMPILER, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        ).stdout

        def everything(folder: Path) -> None:
            source = rendered.p4_folder(testbed)
            with ThreadPoolExecutor(_PARALLEL) as pool:
                work: list[Future[Any]] = [
                    pool.submit(queue_library, engine, progress) for engine in testbed.engines
                ]
                work.append(pool.submit(engine_library))
                work += [pool.submit(_compile, source, folder, name, progress) for name in rendered.BLOCKS]
                for part in work:
                    part.result()

        return rendered.build_once(self.name, testbed, [version], everything)

    def problems(self, testbed: Testbed, state: Path) -> Sequence[Problem]:
        """Cables or front ports that cannot be made."""
        if reason := interfaces.why_not():
            where = f"{testbed.source}: target bmv2"
            return [Problem(reason, where, "run as root, or use the target twin")]
        return front_ports.problems(testbed, state)

    def start(self, testbed: Testbed, build: Build, state: Path, progress: Progress) -> RunningBmv2:
        """Cables, front ports, the queue process and two switches for each engine. Raises OlafError."""
        self._require()
        devices = deployment.devices(
            testbed,
            lambda block: (build.folder / f"{block}.p4info.txtpb", build.folder / f"{block}.json"),
        )
        ports = front_ports.plan(testbed, state, progress)
        engines = deployment.parts(testbed, lambda engine: queue_library(engine, progress))
        recorded = Deployment(self.name, ports, devices, engines, deployment.trunks(testbed))
        with deployment.starting(state, recorded, progress):
            progress("plugging cables")
            create_cables(state, [cable.pair for cable in cables(engines)])
            progress("starting the queue process")
            queue_process.start("olafctl.targets.bmv2.process", state)
            for device in devices:
                progress(f"starting {switch.PROGRAM} for {device.name}")
                switch.start(state, device.device_id, engines)
            return RunningBmv2(state, recorded)

    def find(self, testbed: Testbed, state: Path) -> RunningBmv2 | None:
        """What runs in ``state``, if all of it answers."""
        recorded = deployment.load(state)
        if recorded is None or recorded.target != self.name or not processes.of(state):
            return None
        try:
            running = RunningBmv2(state, recorded)
        except OlafError:
            return None
        return running if running.alive() else None

    def stop(self, state: Path) -> None:
        """See :func:`olafctl.targets.deployment.undo`."""
        deployment.undo(state)

    def _require(self) -> None:
        if missing := self.missing():
            remedy = "install p4lang-p4c, p4lang-bmv2 and iproute2, or use the target twin"
            raise MissingTool(*(Problem("is not on PATH", name, remedy) for name in missing))


def _no_virtual_time() -> OlafError:
    return OlafError(Problem("bmv2 has no virtual time", "replay", "deploy the testbed on the twin"))


def _compile(sources: Path, folder: Path, name: str, progress: Progress) -> None:
    progress(f"compiling {name} with {COMPILER}")
    output = ["--p4runtime-files", str(folder / f"{name}.p4info.txtpb"), "-o", str(folder / f"{name}.json")]
    command = [COMPILER, "--std", "p4-16", *output, str(sources / f"{name}.p4")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        problem = done.stderr.strip().splitlines()[:5] or [f"exit code {done.returncode}"]
        raise OlafError(*(Problem(line, name) for line in problem))


TARGET = Bmv2()
