"""What engines have done with the updates that they were sent."""

from collections.abc import Iterable

from tests.packets.frames import Got
from tests.packets.live import Live


class Account:
    """Begins with what the engines' queues and the links between them count when it is made."""

    def __init__(self, tree: Live) -> None:
        self._tree = tree
        self._queues = {name: registers.read_all() for name, registers in tree.queues.items()}
        self._losses = tree.running.stats()["losses"]

    def settle(self, sent: int, arrived: Iterable[Got]) -> None:
        """Each of the ``sent`` updates is in one that arrived, or was replaced by a newer one."""
        grown = {
            name: {counter: registers.read(counter) - value for counter, value in self._queues[name].items()}
            for name, registers in self._tree.queues.items()
        }
        replaced = sum(queue["replaced_worker"] for queue in grown.values())
        assert sum(int(each.olaf.count) for each in arrived) + replaced == sent
        assert not [
            name for queue in grown.values() for name, more in queue.items() if more and "dropped" in name
        ]
        assert self._tree.running.stats()["losses"] == self._losses
