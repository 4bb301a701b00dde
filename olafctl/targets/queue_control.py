"""What a process that holds an engine answers at its control socket."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from threading import Lock
from typing import Any

from olafctl.queue.registers import QueueRegisters
from olafctl.targets.control import Handler
from olafctl.targets.interface import Device
from olafctl.targets.twin.engine import Engine


def handlers(engine: Engine, ports: Sequence[int], devices: Sequence[Device]) -> Mapping[str, Handler]:
    """``devices``, ``stats``, and the queue's registers: ``read`` and ``write`` by name, ``read_all``."""
    registers = QueueRegisters(engine.read_register, engine.write_register)
    # A snapshot and the reads that belong to it, and the accesses of one command, are not to mix with
    # another's.
    one_at_a_time = Lock()

    def read(request: dict[str, Any]) -> int:
        with one_at_a_time:
            return registers.read(str(request["name"]))

    def write(request: dict[str, Any]) -> None:
        with one_at_a_time:
            registers.write(str(request["name"]), int(request["value"]))

    def read_all(_: dict[str, Any]) -> dict[str, int]:
        with one_at_a_time:
            return registers.read_all()

    def stats(_: dict[str, Any]) -> dict[str, Any]:
        counted = {str(number): asdict(engine.port_stats(number)) for number in ports}
        return {"ports": counted, "losses": asdict(engine.losses())}

    def list_devices(_: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            {**asdict(device), "p4info": str(device.p4info), "config": str(device.config)}
            for device in devices
        ]

    return {"read": read, "write": write, "read_all": read_all, "stats": stats, "devices": list_devices}
