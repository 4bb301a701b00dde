"""VNP4₁ and VNP4₂ as two processes of their own, without a queue between them: what the control plane
programs, and nothing that costs time besides."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf import text_format

from olafctl import paths
from olafctl.control.pipeline import DEVICES
from olafctl.membership.membership import rows_of
from olafctl.membership.model import Cluster, Row
from olafctl.queue.registers import Command, IndexSettings
from olafctl.queue.settings import Ranges, join_ranges
from olafctl.targets.interface import Registers, TargetDevice
from olafctl.testbed.model import Testbed
from olafctl.wire.layouts import QUEUE_PORT
from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.p4.compiler import compile_program
from olafswitch.ports.attachment import Attachment
from olafswitch.ports.capture import FrameListener
from olafswitch.ports.host import HostPort, UnixHostPort


class PairRegisters:
    """In place of a queue: settings that can be read back, and commands that are noted."""

    def __init__(self, indices: int) -> None:
        self.of_indices = [IndexSettings()] * indices
        self.commands: list[tuple[Command, int, int]] = []
        """With their first and last index, in order."""
        self._values: dict[str, int] = {}
        self.permit: Callable[[], None] = lambda: None

    def elect(self, election_id: int | None) -> None:
        pass  # no other controller exists

    def read(self, name: str) -> int:
        return self._values.get(name, 0)

    def write(self, name: str, value: int) -> None:
        self.permit()
        self._values[name] = value

    def read_all(self) -> dict[str, int]:
        return dict(self._values)

    def settings(self) -> Ranges:
        return join_ranges(self.of_indices)

    def configure(self, first: int, last: int, settings: IndexSettings) -> None:
        self.permit()
        if not 0 <= first <= last < len(self.of_indices):
            raise BadInput(Problem(f"indices {first} … {last} do not exist"))
        self.of_indices[first : last + 1] = [settings] * (last + 1 - first)

    def command(self, command: Command, first: int, last: int) -> None:
        self.permit()
        self.commands.append((command, first, last))


@dataclass(frozen=True)
class RunningPair:
    """See :class:`olafctl.targets.interface.Running`."""

    devices: Sequence[TargetDevice]
    queues: Mapping[str, Registers]
    attachments: Sequence[Attachment] = ()

    def alive(self) -> bool:
        return True

    def host_port(self, number: int) -> HostPort:
        raise OlafError(Problem("two switches without a queue have no front ports"))

    def listen(self, number: int) -> FrameListener:
        raise OlafError(Problem("two switches without a queue have no front ports"))

    def logs(self) -> Sequence[Path]:
        return ()

    def stats(self) -> dict[str, Any]:
        return {}

    def replay(self, frames: Any) -> Any:
        raise OlafError(Problem("two switches without a queue have no virtual time"))

    def virtual_time(self) -> Any:
        raise OlafError(Problem("two switches without a queue have no virtual time"))


class SwitchPair:
    """A site (:class:`olafctl.daemon.site.Site`) of two switch processes, whose sockets are in ``place``.

    One that does not own them finds those that another process started, and starts none.
    """

    def __init__(self, testbed: Testbed, place: Path, *, owns: bool = True) -> None:
        """``place`` has a short absolute path: a UNIX socket's has 107 bytes. The membership is stored there
        unless :attr:`folder` is set to elsewhere."""
        self.testbed = testbed
        self.folder = place
        self.registers = PairRegisters(testbed.root.indices)
        self.starts = 0
        self._place = place
        self._owns = owns
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._devices = [self._build_program(name, number) for number, name in enumerate(DEVICES, 1)]

    def running(self) -> RunningPair | None:
        running = RunningPair(self._devices, {self.testbed.root.name: self.registers})
        if not self._owns:
            return running
        alive = [process for process in self._processes.values() if process.poll() is None]
        return running if len(alive) == len(DEVICES) else None

    def start(self, clusters: Sequence[Cluster]) -> RunningPair:
        """Start both switches fresh; what stands for the queue forgets its settings with them."""
        self.stop()
        self.registers.of_indices[:] = [IndexSettings()] * len(self.registers.of_indices)
        self.starts += 1
        for device in self._devices:
            self._begin_switch(device)
        for device in self._devices:
            self._await_port(device)
        return RunningPair(self._devices, {self.testbed.root.name: self.registers})

    def first(self) -> Mapping[str, Row]:
        return rows_of(self.testbed.clusters)

    def kept(self, place: str) -> None:
        pass

    def close(self) -> None:
        pass

    def kill(self, name: str) -> None:
        """End one of the two at once."""
        process = self._processes[name]
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
        for socket in self._place.glob(f"{name[-1]}-*.sock"):
            socket.unlink()

    def stop(self) -> None:
        """End both."""
        for name in list(self._processes):
            self.kill(name)
        self._processes.clear()

    def host(self, block: str, port: int) -> UnixHostPort:
        """Return the outside of a port of VNP4₁ (where hosts send) or VNP4₂ (where they receive)."""
        return UnixHostPort(self._port_of(block, port))

    def _begin_switch(self, device: TargetDevice) -> None:
        numbers = [*(port.number for port in self.testbed.ports), QUEUE_PORT]
        ports = [f"--port={number}=unix:{self._port_of(device.name, number)}" for number in numbers]
        argv = [sys.executable, "-m", "olafctl", "p4", "run", str(_program_path(device.name)), *ports]
        argv += ["--listen", device.address, "--device-id", str(device.device_id)]
        self._processes[device.name] = subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def _await_port(self, device: TargetDevice) -> None:
        process = self._processes[device.name]
        assert process.stdout is not None
        if "Ctrl-C" not in process.stdout.readline():
            raise OlafError(Problem("did not start", device.name, "see olafswitch run"))

    def _port_of(self, name: str, number: int) -> Path:
        return self._place / f"{name[-1]}-{number}.sock"

    def _build_program(self, name: str, number: int) -> TargetDevice:
        folder = self._place / name
        if self._owns:
            program = compile_program(_program_path(name))
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "p4info").write_text(text_format.MessageToString(program.p4info))
            (folder / "config").write_bytes(program.device_config)
        return TargetDevice(
            name, number, f"unix:{self._place}/{name[-1]}.grpc", folder / "p4info", folder / "config"
        )


@contextmanager
def running_pair(testbed: Testbed) -> Iterator[SwitchPair]:
    """Run a pair meanwhile, in a folder of its own. Raises OlafError."""
    place = Path(tempfile.mkdtemp(prefix="olaf-b-"))
    pair = SwitchPair(testbed, place)
    try:
        pair.start([])
        yield pair
    finally:
        pair.stop()
        shutil.rmtree(place)


def _program_path(name: str) -> Path:
    return paths.sources() / "p4src" / f"{name}.p4"
