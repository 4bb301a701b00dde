"""Whose updates for an old cluster may still be on their way through a tree of engines.

VNP4₁ tells an update's cluster by its sender. A worker that changes its cluster leaves updates behind that
wait below the root, alone or with others' added to them; the next engine would take them for the new
cluster's, or refuse them. So the engines above the worker's own do not know it until these have passed: what
it sends meanwhile passes their queues by, and reaches the parameter server as it is.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address

from olafctl.daemon.resting import Resting
from olafctl.membership.model import Cluster
from olafctl.testbed.model import Testbed
from olafctl.testbed.topology import Topology
from olafctl.wire.layouts import BEAT_BYTES

_MARGIN_SECONDS = 1.0
"""For what an engine has taken from a link and not looked at yet."""
_POLL_SECONDS = 0.1

_Assignment = tuple[int, int, int]
"""What VNP4₁ takes an update for, by its sender: cluster, first index, epoch."""


@dataclass
class _Left:
    """What a worker has left behind."""

    assignments: set[_Assignment]
    resting: Resting = field(default_factory=Resting)
    passed: float | None = None
    """When the queues were first seen without anything of it."""


class Settling:
    """The workers, by address, whose old updates may be on their way; none where there is one engine."""

    def __init__(self, testbed: Testbed, clock: Callable[[], float] = time.monotonic) -> None:
        self._topology = Topology(testbed)
        self._below = [engine.name for engine in testbed.engines[1:]]
        self._seconds = _MARGIN_SECONDS + max(map(self._under_way, self._below), default=0.0)
        self._clock = clock
        self._next = 0.0
        self._left: dict[IPv4Address, _Left] = {}

    @property
    def addresses(self) -> frozenset[IPv4Address]:
        """Of these workers."""
        return frozenset(self._left)

    @property
    def due(self) -> bool:
        """Whether it is time to ask who is over."""
        return bool(self._left) and self._clock() >= self._next

    def leaving(self, before: Sequence[Cluster], after: Sequence[Cluster]) -> dict[IPv4Address, _Assignment]:
        """Workers below the root that a change takes from what they were in. Who comes back to all it has
        left is no longer one of :attr:`addresses`."""
        if not self._below:
            return {}
        now = {worker.ip: _assignment(cluster) for cluster in after for worker in cluster.workers}
        was = {
            worker.ip: _assignment(cluster)
            for cluster in before
            for worker in cluster.workers
            if self._topology.home(worker) in self._below
        }
        for address in self._left.keys() - was.keys():
            if self._left[address].assignments == {now.get(address)}:
                del self._left[address]
        return {address: old for address, old in was.items() if now.get(address) != old}

    def begin(self, leaving: Mapping[IPv4Address, _Assignment]) -> None:
        """These leave what they were in, and what waits of them is not known."""
        for address, assignment in leaving.items():
            known = self._left[address].assignments if address in self._left else set()
            self._left[address] = _Left({*known, assignment})

    def over(self, queues: Mapping[str, Mapping[str, int]]) -> set[IPv4Address]:
        """Those of whom nothing is on its way any more, by one snapshot of each queue's registers; they are
        forgotten here."""
        now = self._clock()
        self._next = now + _POLL_SECONDS
        below = {name: queues[name] for name in self._below}
        for left in self._left.values():
            if left.passed is None and left.resting.over([(0, 0)], below):
                left.passed = now
        found = {
            address
            for address, left in self._left.items()
            if left.passed is not None and now - left.passed >= self._seconds
        }
        for address in found:
            del self._left[address]
        return found

    def clear(self) -> None:
        """All engines know everyone."""
        self._left.clear()

    def _under_way(self, engine: str) -> float:
        """Seconds from an engine to the root by the links alone, behind as many others as may wait there."""
        seconds = 0.0
        for name in self._topology.path_up(engine)[:-1]:
            link = self._topology.up[name]
            bits = link.queue * self._topology.testbed.beats * BEAT_BYTES * 8
            seconds += link.delay / 1e9 + (bits / link.rate if link.rate else 0.0)
        return seconds


def _assignment(cluster: Cluster) -> _Assignment:
    return cluster.number, cluster.first, cluster.epoch
