"""A queue's registers as a running target has them, and settings that hold for a while."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from typing import Any

from olafctl.queue.registers import QueueRegisters
from olafctl.queue.settings import Ranges, of_all
from olafctl.targets.interface import Registers


class LoneRegisters(QueueRegisters):
    """The registers of a queue in this process, which has no other controller."""

    def __init__(self, own: QueueRegisters) -> None:
        super().__init__(own._read, own._write)
        self.permit: Callable[[], None] = lambda: None

    def elect(self, election_id: int | None) -> None:
        """Accept any controller."""

    def settings(self) -> Ranges:
        return of_all(self)


@contextmanager
def configured(registers: Registers, spans: Sequence[tuple[int, int]], **values: Any) -> Iterator[None]:
    """Inside, the indices of ``spans``, each from its first to its last, have other settings."""
    before = registers.settings()
    try:
        for part, (first, last) in product(before, spans):
            if part.first <= last and first <= part.last:
                settings = replace(part.settings, **values)
                registers.configure(max(part.first, first), min(part.last, last), settings)
        yield
    finally:
        for part in before:
            registers.configure(part.first, part.last, part.settings)
