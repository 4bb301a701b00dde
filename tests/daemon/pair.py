"""VNP4₁ and VNP4₂ as two processes of their own, behind one site: real programs, real agents, real ports.

Their queue is a model of its registers: what the daemon writes there can be read back, and nothing merges.
"""

import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf import text_format

from olafctl import paths
from olafctl.control.pipeline import DEVICES
from olafctl.errors import BadInput, OlafError, Problem
from olafctl.p4.compiler import compile_program
from olafctl.ports.attachment import Attachment
from olafctl.ports.host import UnixHostPort
from olafctl.targets.interface import Device
from olafctl.testbed.model import Cluster, Testbed
from olafctl.wire.layouts import QUEUE_PORT

_STAGED = ("mode", "threshold", "reward_enable", "reward_threshold")
_AFTER_RESET = (0, 1, 0, 0)


class ModelRegisters:
    """The registers of settings by index, as specified: staged, then carried out by a command."""

    def __init__(self, indices: int) -> None:
        self.settings: list[tuple[int, ...]] = [_AFTER_RESET] * indices
        self.commands: list[tuple[int, int, int]] = []
        """FBCAST (2) and RESET (3) with their first and last index, in order."""
        self._values: dict[str, int] = {"command_busy": 0, "command_error": 0}

    def read(self, name: str) -> int:
        return self._values.get(name, 0)

    def write(self, name: str, value: int) -> None:
        self._values[name] = value
        if name != "command":
            return
        first, last = self._values["range_first"], self._values["range_last"]
        self._values["command_error"] = int(not first <= last < len(self.settings))
        if self._values["command_error"]:
            return
        if value == 1:
            settings = tuple(self._values[f"set_{staged}"] for staged in _STAGED)
            self.settings[first : last + 1] = [settings] * (last + 1 - first)
        elif value == 4:
            self._values.update(
                (f"get_{staged}", now) for staged, now in zip(_STAGED, self.settings[first], strict=True)
            )
        else:
            self.commands.append((value, first, last))

    def read_all(self) -> dict[str, int]:
        return dict(self._values)


class PlainRegisters(ModelRegisters):
    """A queue without settings by index."""

    def read(self, name: str) -> int:
        if name.startswith("command"):
            raise BadInput(Problem(f"there is no register {name!r}"))
        return super().read(name)


@dataclass(frozen=True)
class RunningPair:
    """See :class:`olafctl.targets.interface.Running`."""

    devices: Sequence[Device]
    registers: ModelRegisters
    attachments: Sequence[Attachment] = ()

    def alive(self) -> bool:
        return True

    def logs(self) -> Sequence[Path]:
        return ()

    def stats(self) -> dict[str, Any]:
        return {}

    def replay(self, frames: Any) -> Any:
        raise OlafError("has no virtual time")


class Pair:
    """A site (:class:`olafctl.daemon.site.Site`) of two switch processes, whose sockets are in ``place``."""

    def __init__(self, testbed: Testbed, place: Path) -> None:
        self.testbed = testbed
        self.folder = place
        self.registers = ModelRegisters(testbed.engine.indices)
        self._place = place
        self.starts = 0
        self.unreachable = False
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._devices = [self._built(name, number) for number, name in enumerate(DEVICES, 1)]

    def running(self) -> RunningPair | None:
        if self.unreachable:
            raise OlafError(Problem("does not answer", self.testbed.name))
        if len(self._processes) < 2 or any(each.poll() is not None for each in self._processes.values()):
            return None
        return RunningPair(self._devices, self.registers)

    def start(self, clusters: Sequence[Cluster]) -> RunningPair:
        self.stop()
        self.starts += 1
        self.registers.settings = [_AFTER_RESET] * len(self.registers.settings)
        for device in self._devices:
            numbers = [*(port.number for port in self.testbed.ports), QUEUE_PORT]
            ports = [f"--port={number}=unix:{self._port(device.name, number)}" for number in numbers]
            argv = [sys.executable, "-m", "olafctl", "p4", "run", str(_program(device.name)), *ports]
            argv += ["--listen", device.address, "--device-id", str(device.device_id)]
            self._processes[device.name] = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        for process in self._processes.values():
            assert process.stdout is not None
            assert "Ctrl-C" in process.stdout.readline()
        running = self.running()
        assert running is not None
        return running

    def close(self) -> None:
        pass

    def kill(self, name: str) -> None:
        """End one of the two at once."""
        self._processes[name].kill()
        self._processes[name].wait()

    def stop(self) -> None:
        """End both."""
        for process in self._processes.values():
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        self._processes.clear()
        for socket in self._place.glob("*.sock"):
            socket.unlink()

    def host(self, block: str, port: int) -> UnixHostPort:
        """The outside of a port of VNP4₁ (where hosts send) or VNP4₂ (where they receive)."""
        return UnixHostPort(self._port(block, port))

    def _port(self, name: str, number: int) -> Path:
        return self._place / f"{name[-1]}-{number}.sock"

    def _built(self, name: str, number: int) -> Device:
        program = compile_program(_program(name))
        folder = self._place / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "p4info").write_text(text_format.MessageToString(program.p4info))
        (folder / "config").write_bytes(program.device_config)
        address = f"unix:{self._place}/{name[-1]}.grpc"
        return Device(name, number, address, folder / "p4info", folder / "config")


def _program(name: str) -> Path:
    return paths.sources() / "p4src" / f"{name}.p4"
