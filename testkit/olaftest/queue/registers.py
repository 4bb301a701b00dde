"""A queue's registers as a running target has them."""

from collections.abc import Callable

from olafctl.queue.registers import QueueRegisters
from olafctl.queue.settings import Ranges, of_all


class LoneRegisters(QueueRegisters):
    """The registers of a queue in this process, which has no other controller."""

    def __init__(self, own: QueueRegisters) -> None:
        super().__init__(own._read, own._write)
        self.permit: Callable[[], None] = lambda: None

    def elect(self, election_id: int | None) -> None:
        """Accept any controller."""

    def settings(self) -> Ranges:
        return of_all(self)
