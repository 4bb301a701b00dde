"""A deployment's engines in this process, programmed, without a process or ports of their own."""

import ctypes
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from olafctl.control import shards
from olafctl.queue.registers import BY_NAME
from olafctl.targets import deployment
from olafctl.targets.engine.engine import PipelineEngine, load_library
from olafctl.targets.interface import Build, TargetDevice
from olafctl.targets.twin.attach import wire_engine
from olafctl.targets.twin.pipeline import CONFIG, P4INFO
from olafctl.testbed.model import Testbed
from olafctl.testbed.topology import Topology
from olafctl.wire.layouts import CPU_PORT, QUEUE_PORT
from olafctl.wire.modes import Mode
from olafswitch.engine.device import EngineSwitch
from olafswitch.p4runtime import address as addresses
from olafswitch.p4runtime.agent import serve_devices
from olaftest.deployment import program_devices
from olaftest.queue.registers import LoneRegisters


@dataclass(frozen=True)
class Stages:
    """ns of processor time for a frame, in each part of an engine; ``whole`` is measured around them."""

    vnp4_1: float
    queue: float
    vnp4_2: float
    rest: float
    whole: float


class _Shards:
    """As a running target has them, without network cards."""

    def __init__(self, engine: PipelineEngine) -> None:
        self._engine = engine
        self.place, self.counted = engine.place, engine.shards

    def owners(self, indices: Sequence[int]) -> Sequence[int]:
        return [self._engine.shard_of(index) for index in indices]

    def steer(self, queues: Mapping[int, Mapping[str, int]]) -> None:
        """It has no cards."""

    def steering(self) -> Mapping[str, str]:
        return {}


@dataclass(frozen=True)
class _Running:
    devices: Sequence[TargetDevice]
    queues: Mapping[str, LoneRegisters]
    sharded: Mapping[str, _Shards]


class Engines:
    """The engines of one testbed, programmed, in FIFO mode: every update leaves by itself."""

    def __init__(
        self,
        testbed: Testbed,
        engine: PipelineEngine,
        switches: Sequence[EngineSwitch],
        queues: Sequence[Path],
    ) -> None:
        self.engine = engine
        self._testbed, self._switches, self._queues = testbed, switches, queues

    def measure_stages(self, port: int, frames: Sequence[bytes], count: int) -> Stages:
        """Where the time goes for ``count`` frames that come in at ``port``, in turn ``frames``, all of one
        length."""
        owner = Topology(self._testbed).engine_at[port]
        place = [each.name for each in self._testbed.engines].index(owner)
        handles = [switch.handle for switch in self._switches[2 * place : 2 * place + 2]]
        writes = self.engine.settings_as_writes(place)
        six = (ctypes.c_uint64 * 6)()
        load_library().olaf_engine_stages(
            *(word for handle in handles if handle for word in (handle.process, handle.switch)),
            str(self._queues[place]).encode(),
            (ctypes.c_uint32 * len(writes))(*writes),
            len(writes),
            BY_NAME["command_busy"].offset,
            port,
            QUEUE_PORT,
            b"".join(frames),
            len(frames),
            len(frames[0]),
            count,
            six,
        )
        return Stages(*(value / count for value in six[:5]))


@contextmanager
def engines_of(testbed: Testbed, build: Build, queues: Sequence[Path]) -> Iterator[Engines]:
    """Open the engines of ``testbed`` and ``build``, each with its library of ``queues``, not started. Raises
    OlafError."""
    found = deployment.make_devices(
        testbed, lambda block: (build.folder / block / P4INFO, build.folder / block / CONFIG)
    )
    with tempfile.TemporaryDirectory(prefix="olaf") as folder, ExitStack() as stack:
        engine = PipelineEngine(testbed.shards)
        switches = [
            stack.enter_context(closing(EngineSwitch(engine, place, CPU_PORT))) for place in range(len(found))
        ]
        stack.callback(engine.close)
        wire_engine(engine, deployment.make_parts(testbed, queues), deployment.find_trunks(testbed))
        served = {device.device_id: switch for device, switch in zip(found, switches, strict=True)}
        agent = serve_devices(served, addresses.of_socket(Path(folder) / "p4runtime.sock"))
        stack.callback(agent.stop)
        running = _Running(
            [replace(device, address=agent.address) for device in found],
            {each.name: LoneRegisters(engine.registers(n)) for n, each in enumerate(testbed.engines)},
            {testbed.root.name: _Shards(engine)} if testbed.shards > 1 else {},
        )
        program_devices(running, testbed)
        shards.balance_shards(running, testbed, testbed.clusters)
        for place in range(len(queues)):
            engine.registers(place).write("mode", Mode.FIFO.number)
        yield Engines(testbed, engine, switches, queues)
