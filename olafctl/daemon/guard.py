"""Keeps a controller that no longer leads from programming a target."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from olafctl.queue.registers import Command, IndexSettings
from olafctl.queue.settings import Ranges
from olafctl.targets.interface import Device, Registers, Running


@dataclass(frozen=True)
class GuardedRegisters:
    """Registers of the queue for whose every write ``permit`` is asked, which may raise an OlafError.

    Nothing at the queue tells an earlier leader from a later one, as election ids do at the devices.
    """

    registers: Registers
    permit: Callable[[], None]

    def read(self, name: str) -> int:
        return self.registers.read(name)

    def write(self, name: str, value: int) -> None:
        self.permit()
        self.registers.write(name, value)

    def read_all(self) -> dict[str, int]:
        return self.registers.read_all()

    def settings(self) -> Ranges:
        return self.registers.settings()

    def configure(self, first: int, last: int, settings: IndexSettings) -> None:
        self.permit()
        self.registers.configure(first, last, settings)

    def command(self, command: Command, first: int, last: int) -> None:
        self.permit()
        self.registers.command(command, first, last)


@dataclass(frozen=True)
class Guarded:
    """The part of a running target that a controller programs."""

    devices: Sequence[Device]
    queues: Mapping[str, GuardedRegisters]

    @classmethod
    def of(cls, running: Running, permit: Callable[[], None]) -> "Guarded":
        """``running``, with ``permit`` asked before each write to its queues."""
        queues = {engine: GuardedRegisters(queue, permit) for engine, queue in running.queues.items()}
        return cls(running.devices, queues)
