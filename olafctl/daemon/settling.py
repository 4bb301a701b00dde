"""Indices and workers in transition: old updates that still wait in the queues after a change."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address

from olafctl.control.handover import Range, count_waiting
from olafctl.membership.model import Cluster
from olafctl.testbed.model import Testbed
from olafctl.testbed.topology import Topology
from olafctl.wire.layouts import BEAT_BYTES


class Draining:
    """The ranges that drain, each with the updates that must leave before it is free."""

    def __init__(self) -> None:
        self._since: dict[Range, dict[str, tuple[int, int] | None]] = {}
        """For each range and engine, ``out_updates`` when the range began to drain, and its value at which
        all updates of that time have left. None when they have left."""

    def find_freed(self, ranges: Iterable[Range], queues: Mapping[str, Mapping[str, int]]) -> list[Range]:
        """Return the ranges among ``ranges`` that are free now, and forget all other ranges.

        ``queues`` has one snapshot of each queue's registers, by engine.
        """
        known, free = {}, []
        for each in ranges:
            before = self._since.get(each, {})
            left = {name: _left_to_drain(before, name, registers) for name, registers in queues.items()}
            if any(left.values()):
                known[each] = left
            else:
                free.append(each)
        self._since = known
        return free


def _left_to_drain(
    before: Mapping[str, tuple[int, int] | None], queue: str, registers: Mapping[str, int]
) -> tuple[int, int] | None:
    """Return the updates that must still leave one queue, in the form of :attr:`Draining._since`."""
    out = registers.get("out_updates", 0)
    held = count_waiting(registers)
    since = before.get(queue, (out, out + held))
    if since is not None and out < since[0]:  # the counters were cleared
        since = out, out + held
    return None if since is None or out >= since[1] or not held else since


_MARGIN_SECONDS = 1.0
"""The seconds for frames that an engine has taken from a link and has not processed yet."""
_POLL_SECONDS = 0.1

_Assignment = tuple[int, int, int]
"""VNP4₁'s assignment for the updates of a sender: cluster number, first index, epoch."""


@dataclass
class _Left:
    """The old updates of one worker."""

    assignments: set[_Assignment]
    draining: Draining = field(default_factory=Draining)
    passed: float | None = None
    """The time at which the queues were first seen without these updates; None before that."""


class Settling:
    """The workers whose old updates may still be on their way; with one engine there are none."""

    def __init__(self, testbed: Testbed, clock: Callable[[], float] = time.monotonic) -> None:
        self._topology = Topology(testbed)
        self._below = [engine.name for engine in testbed.engines[1:]]
        self._seconds = _MARGIN_SECONDS + max(map(self._under_way, self._below), default=0.0)
        self._clock = clock
        self._next = 0.0
        self._left: dict[IPv4Address, _Left] = {}

    @property
    def addresses(self) -> frozenset[IPv4Address]:
        """The addresses of these workers."""
        return frozenset(self._left)

    @property
    def due(self) -> bool:
        """Whether it is time to call :meth:`take_passed`."""
        return bool(self._left) and self._clock() >= self._next

    def find_leaving(
        self, before: Sequence[Cluster], after: Sequence[Cluster]
    ) -> dict[IPv4Address, _Assignment]:
        """Return the workers below the root whose assignment a change ends, each with that assignment.

        A worker that returns to the only assignment it had left is removed from :attr:`addresses`.
        """
        if not self._below:
            return {}
        now = {worker.ip: _assignment_of(cluster) for cluster in after for worker in cluster.workers}
        was = {
            worker.ip: _assignment_of(cluster)
            for cluster in before
            for worker in cluster.workers
            if self._topology.home(worker) in self._below
        }
        for address in self._left.keys() - was.keys():
            if self._left[address].assignments == {now.get(address)}:
                del self._left[address]
        return {address: old for address, old in was.items() if now.get(address) != old}

    def begin_settling(self, leaving: Mapping[IPv4Address, _Assignment]) -> None:
        """Remember these workers; their old updates at the engines are not known yet."""
        for address, assignment in leaving.items():
            known = self._left[address].assignments if address in self._left else set()
            self._left[address] = _Left({*known, assignment})

    def take_passed(self, queues: Mapping[str, Mapping[str, int]]) -> set[IPv4Address]:
        """Forget the workers whose old updates have all passed, and return their addresses.

        ``queues`` has one snapshot of each queue's registers, by engine.
        """
        now = self._clock()
        self._next = now + _POLL_SECONDS
        below = {name: queues[name] for name in self._below}
        for left in self._left.values():
            if left.passed is None and left.draining.find_freed([(0, 0)], below):
                left.passed = now
        passed = {
            address
            for address, left in self._left.items()
            if left.passed is not None and now - left.passed >= self._seconds
        }
        for address in passed:
            del self._left[address]
        return passed

    def clear(self) -> None:
        """Forget all workers: every engine knows every member."""
        self._left.clear()

    def _under_way(self, engine: str) -> float:
        """Return the seconds that a frame takes from an engine to the root, behind full link queues."""
        seconds = 0.0
        for name in self._topology.path_up(engine)[:-1]:
            link = self._topology.up[name]
            bits = link.queue * self._topology.testbed.beats * BEAT_BYTES * 8
            seconds += link.delay / 1e9 + (bits / link.rate if link.rate else 0.0)
        return seconds


def _assignment_of(cluster: Cluster) -> _Assignment:
    return cluster.number, cluster.first, cluster.epoch
