"""A deployment's running shares on other machines, as one :class:`olafctl.targets.interface.Running`."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from olafctl.machines.calls import DEVICE
from olafctl.machines.client import MachineAgent, call_each
from olafctl.targets.interface import Registers, TargetDevice, TimedFrame, VirtualTime, device_name
from olafctl.targets.queue_process import SocketRegisters, SocketShards
from olafctl.targets.rendered import BLOCKS
from olafctl.testbed.machines import share_of
from olafctl.testbed.model import Testbed
from olafctl.testbed.topology import Topology
from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.ports.attachment import Attachment
from olafswitch.ports.capture import FrameListener
from olafswitch.ports.host import HostPort
from olafswitch.ports.transport import Transport

Found = Mapping[str, Any]
"""An agent's description of its share, see :meth:`olafctl.agent.parts.Part.find_running`."""


class RunningEverywhere:
    """The :class:`olafctl.targets.interface.Running` of shares on other machines."""

    def __init__(
        self,
        testbed: Testbed,
        agents: Mapping[str, MachineAgent],
        found: Mapping[str, Found],
        pipelines: Path,
    ) -> None:
        """Join the shares of ``testbed`` that ``found`` describes, by machine; ``agents`` are the machines'
        agents; ``pipelines`` is the folder with every P4Info and device_config, by digest."""
        self._agents, self._found = agents, found
        machine_of = {engine.name: engine.machine for engine in testbed.engines if engine.machine in agents}
        engine_at = Topology(testbed).engine_at
        self._agent_at = {
            number: agents[machine_of[name]] for number, name in engine_at.items() if name in machine_of
        }
        devices: dict[str, TargetDevice] = {}
        for name, agent in agents.items():
            engines = [engine.name for engine in share_of(testbed, name).engines]
            called = [device_name(testbed, engine, block) for engine in engines for block in BLOCKS]
            for device, held in zip(called, found[name]["devices"], strict=True):
                devices[device] = TargetDevice(
                    device,
                    held["device_id"],
                    agent.machine.address,
                    pipelines / held["p4info"],
                    pipelines / held["config"],
                    agent.for_device({DEVICE: str(held["device_id"])}),
                )
        order = [device_name(testbed, engine, block) for engine in machine_of for block in BLOCKS]
        self.devices: Sequence[TargetDevice] = [devices[name] for name in order]
        self.queues: Mapping[str, Registers] = {
            engine: SocketRegisters(agents[machine].ask, _queue_name(engine, found[machine]))
            for engine, machine in machine_of.items()
        }
        self.sharded: Mapping[str, SocketShards] = {
            engine.name: SocketShards(agents[engine.machine].ask)
            for engine in testbed.engines
            if engine.machine in agents and testbed.shards_of(engine) > 1
        }
        front = {port.number for port in testbed.ports}
        ports = [port for part in found.values() for port in part["attachments"] if port["number"] in front]
        self.attachments: Sequence[Attachment] = [
            Attachment(port["number"], Transport(port["transport"]), port["path"], port["namespace"])
            for port in sorted(ports, key=lambda port: int(port["number"]))
        ]

    def alive(self) -> bool:
        """Return whether every part answered when it was found, and answers now, with all of its ports."""
        try:
            now = call_each(self._agents, lambda agent: agent.call("Find"))
            return all(not self._found[name]["lost"] and part["alive"] for name, part in now.items())
        except (OlafError, TypeError):
            return False

    def host_port(self, number: int) -> HostPort:
        """Return the host side of a front port. Raises OlafError."""
        return self._agent_at_port(number).frames(number)

    def listen(self, number: int) -> FrameListener:
        """Listen at a front port. Raises OlafError, BadInput."""
        return self._agent_at_port(number).listen_at(number)

    def logs(self) -> Sequence[Path]:
        """Return nothing: the logs are on the machines."""
        return []

    def stats(self) -> dict[str, Any]:
        """Return ``ports`` and ``carriers`` by number, of all machines, and ``losses``, their sums."""
        parts = call_each(self._agents, lambda agent: agent.ask("stats")).values()
        losses: dict[str, int] = {}
        for part in parts:
            for reason, count in part["losses"].items():
                losses[reason] = losses.get(reason, 0) + count
        merged = {
            what: {k: v for part in parts for k, v in part.get(what, {}).items()}
            for what in ("ports", "carriers")
        }
        return {**merged, "losses": losses}

    def replay(self, frames: Iterator[TimedFrame]) -> Generator[TimedFrame, None, None]:
        """Raise OlafError: machines have no virtual time."""
        raise _no_virtual_time()

    def virtual_time(self) -> VirtualTime:
        """Raise OlafError: machines have no virtual time."""
        raise _no_virtual_time()

    def _agent_at_port(self, number: int) -> MachineAgent:
        if number not in self._agent_at:
            raise BadInput(Problem(f"front port {number} does not exist"))
        return self._agent_at[number]


def _queue_name(engine: str, found: Found) -> str:
    """Return the name of an engine's queue in the process there."""
    queues = found["queues"]
    return engine if engine in queues else str(queues[0])


def _no_virtual_time() -> OlafError:
    what = "engines on several machines share no virtual time"
    return OlafError(Problem(what, "replay", "deploy the testbed without machines, on the twin"))
