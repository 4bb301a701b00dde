"""What a process that holds an engine answers at its control socket."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any, Protocol

from olafctl.queue.registers import Command, QueueRegisters
from olafctl.queue.settings import IndexRange, of_all
from olafctl.targets.control import Handler
from olafctl.targets.interface import Device


class HoldsQueues(Protocol):
    """What holds queues: an engine, or a card."""

    @property
    def register_sequences(self) -> AbstractContextManager[Any]:
        """Held for as long as accesses belong together."""

    def port_stats(self, number: int) -> Any:
        """What went through a front port, as a dataclass."""

    def losses(self) -> Any:
        """Frames that went nowhere, by reason, as a dataclass."""


def handlers(
    engine: HoldsQueues,
    queues: Mapping[str, QueueRegisters],
    ports: Sequence[int],
    devices: Sequence[Device],
) -> Mapping[str, Handler]:
    """``devices``, ``stats``, and the registers of one of ``queues`` (``queue``, by its engine's name):
    ``read`` and ``write`` by name, ``read_all``; the indices': ``settings`` of all of them, ``configure``
    and ``command`` for a range."""
    one_at_a_time = engine.register_sequences

    def of(request: dict[str, Any]) -> QueueRegisters:
        return queues[str(request["queue"])]

    def read(request: dict[str, Any]) -> int:
        with one_at_a_time:
            return of(request).read(str(request["name"]))

    def write(request: dict[str, Any]) -> None:
        with one_at_a_time:
            of(request).write(str(request["name"]), int(request["value"]))

    def settings(request: dict[str, Any]) -> list[dict[str, Any]]:
        with one_at_a_time:
            return [part.as_json() for part in of_all(of(request))]

    def configure(request: dict[str, Any]) -> None:
        part = IndexRange.from_json(request["range"])
        with one_at_a_time:
            of(request).configure(part.first, part.last, part.settings)

    def command(request: dict[str, Any]) -> None:
        with one_at_a_time:
            of(request).command(Command[str(request["command"])], int(request["first"]), int(request["last"]))

    def read_all(request: dict[str, Any]) -> dict[str, int]:
        with one_at_a_time:
            return of(request).read_all()

    def stats(_: dict[str, Any]) -> dict[str, Any]:
        counted = {str(number): asdict(engine.port_stats(number)) for number in ports}
        return {"ports": counted, "losses": asdict(engine.losses())}

    def list_devices(_: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            {**asdict(device), "p4info": str(device.p4info), "config": str(device.config)}
            for device in devices
        ]

    return {
        "read": read,
        "write": write,
        "read_all": read_all,
        "settings": settings,
        "configure": configure,
        "command": command,
        "stats": stats,
        "devices": list_devices,
    }
