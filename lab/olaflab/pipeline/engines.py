"""A deployment's engines in this process, programmed, without a process or ports of their own."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from olafctl.control import shards
from olafctl.targets import deployment
from olafctl.targets.engine.engine import PipelineEngine
from olafctl.targets.interface import Build, TargetDevice
from olafctl.targets.twin.attach import wire_engine
from olafctl.targets.twin.pipeline import CONFIG, P4INFO
from olafctl.testbed.model import Testbed
from olafctl.wire.layouts import CPU_PORT
from olafctl.wire.modes import Mode
from olafswitch.engine.device import EngineSwitch
from olafswitch.p4runtime import address as addresses
from olafswitch.p4runtime.agent import serve_devices
from olaftest.deployment import program_devices
from olaftest.queue.registers import LoneRegisters


class _Shards:
    """As a running target has them, without network cards."""

    def __init__(self, engine: PipelineEngine) -> None:
        self._engine = engine
        self.place, self.counted = engine.place, engine.shards

    def owners(self, indices: Sequence[int]) -> Sequence[int]:
        return [self._engine.shard_of(index) for index in indices]

    def steer(self, queues: Mapping[int, Mapping[str, int]]) -> None:
        """Steer nothing: it has no cards."""

    def steering(self) -> Mapping[str, str]:
        return {}


@dataclass(frozen=True)
class _Running:
    devices: Sequence[TargetDevice]
    queues: Mapping[str, LoneRegisters]
    sharded: Mapping[str, _Shards]


@contextmanager
def engines_of(testbed: Testbed, build: Build, queues: Sequence[Path]) -> Iterator[PipelineEngine]:
    """Open the engines of ``testbed`` and ``build``, each with its library of ``queues``, not started.

    They are programmed, in FIFO mode: every update leaves by itself. Raises OlafError.
    """
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
        yield engine
