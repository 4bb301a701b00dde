"""Accounts of the updates that engines were sent."""

from collections import Counter
from collections.abc import Iterable

from olafctl.wire.layouts import Refusal
from tests.packets.frames import Got
from tests.packets.live import Live


class Account:
    """An account that begins with the counts of the engines' queues and links at its creation."""

    def __init__(self, tree: Live) -> None:
        self._tree = tree
        self._queues = {name: registers.read_all() for name, registers in tree.queues.items()}
        self._losses = tree.running.stats()["losses"]
        self._refused = self._count_refused()

    def _count_refused(self) -> Counter[Refusal]:
        total = Counter[Refusal]()
        for engine in self._tree.testbed.engines:
            total.update(self._tree.refused(engine.name))
        return total

    def settle(self, sent: int, arrived: Iterable[Got], renewed: bool = False) -> None:
        """Check that each of the ``sent`` updates is in one that arrived, was replaced by a newer one, or was
        refused for an epoch that was ``renewed`` meanwhile."""
        grown = {
            name: {counter: registers.read(counter) - value for counter, value in self._queues[name].items()}
            for name, registers in self._tree.queues.items()
        }
        replaced = sum(queue["replaced_worker"] for queue in grown.values())
        refused = self._count_refused() - self._refused
        assert renewed or not refused[Refusal.EPOCH]
        counts = [int(each.olaf.count) for each in arrived]
        assert sum(counts) + replaced + refused[Refusal.EPOCH] == sent, (
            f"{counts}, {replaced=}, {refused=}, {sent=}, {grown}"
        )
        assert not [
            name for queue in grown.values() for name, more in queue.items() if more and "dropped" in name
        ]
        assert self._tree.running.stats()["losses"] == self._losses
