"""A learner's lease: cores or GPUs that heads share, held only while one learns, in order."""

from __future__ import annotations

import heapq
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Callable

from olaf.errors import Taken
from olaf.experience import memory

CPU, GPU = "cpu", "gpu"


class Held:
    """Seconds by kind of resource; a holder has one of each kind at a time."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, object], float] = {}
        self._seconds: dict[str, float] = defaultdict(float)

    def hold(self, kind: str, holder: object, now: float) -> None:
        """Hold one from now on. Raises ValueError if the holder already has one."""
        if (kind, holder) in self._since:
            raise ValueError(f"{holder} already holds a {kind}")
        self._since[kind, holder] = now

    def free(self, kind: str, holder: object, now: float) -> float:
        """Free one; return the seconds it was held. Raises ValueError where the holder has none."""
        since = self._since.pop((kind, holder), None)
        if since is None:
            raise ValueError(f"{holder} holds no {kind}")
        self._seconds[kind] += now - since
        return now - since

    def holding(self, kind: str) -> int:
        """Count how many are held."""
        return sum(each == kind for each, _ in self._since)

    def seconds(self, kind: str, now: float) -> float:
        """Return the seconds held until now, also of what is held still."""
        open_ = sum(now - since for (each, _), since in self._since.items() if each == kind)
        return self._seconds[kind] + open_


_LOOK = 0.002
"""Seconds between two looks of one that waits."""
_UNITS, _TICKETS = 1 << 32, 1 << 33
"""Numbers of locks: far apart, so that neither reaches the other."""


class Pool:
    """Units for learners of one process, in any clock."""

    def __init__(self, units: int, held: Held, now: Callable[[], float]) -> None:
        """Raises ValueError for fewer than 1."""
        if units < 1:
            raise ValueError(f"a pool of {units} units; give 1 or more")
        self._free = list(range(units))
        self._units = self._limit = units
        self._waiting: deque[tuple[object, Callable[[int], object]]] = deque()
        self._held, self._now = held, now

    def limit(self, units: int) -> None:
        """Limit the units held at a time; those that hold one finish."""
        self._limit = units
        self._grant_units()

    def ask(self, learner: object, granted: Callable[[int], object]) -> None:
        """Call ``granted`` with a unit's number, now or when its turn has come."""
        self._waiting.append((learner, granted))
        self._grant_units()

    def give_back(self, learner: object, unit: int) -> None:
        """Give a unit back. Raises ValueError where the learner has none."""
        self._held.free(GPU, learner, self._now())
        heapq.heappush(self._free, unit)
        self._grant_units()

    def _grant_units(self) -> None:
        """Grant the lowest units, so that those above may end where fewer are needed."""
        while self._waiting and self._units - len(self._free) < min(self._limit, self._units):
            learner, granted = self._waiting.popleft()
            self._held.hold(GPU, learner, self._now())
            granted(heapq.heappop(self._free))


class SharedPool:
    """Units for learners of all processes that know its name.

    A process that waits has a ticket and one that learns has a unit; both are locks, which the kernel takes
    back if the process dies. So no unit is lost, and no process waits for a dead one.
    """

    def __init__(self, name: str, units: int) -> None:
        """Raises ValueError for no units, OSError where shared memory cannot be written."""
        if units < 1:
            raise ValueError(f"a pool of {units} units; give 1 or more")
        self._units, self._name = units, f"{name}.pool"
        path = memory.path_of(self._name)
        try:
            self._tickets = memory.create_shared(path, b"", 24)
        except FileExistsError:
            self._tickets = memory.attach_shared(path)
        self._locks = memory.Locks(path)

    def limit(self, units: int) -> None:
        """Limit the units that all processes hold at a time; those that hold one finish."""
        self._write_counter(2, max(self._units - units, 0))

    def unlink(self) -> None:
        """Remove the name."""
        memory.unlink_memory(self._name)

    @property
    def waiting(self) -> int:
        """At most so many wait, of all processes; who died since the last one was served counts too."""
        return self._read_counter(0) - self._read_counter(1)

    @contextmanager
    def lease(self) -> Iterator[int]:
        """Wait for a unit and hold it: its number."""
        unit = self._take_unit()
        try:
            yield unit
        finally:
            self._locks.release(_UNITS + unit)

    def _take_unit(self) -> int:
        with self._locks.hold():
            ticket = self._read_counter(0)
            self._write_counter(0, ticket + 1)
            self._locks.claim(_TICKETS + ticket, "a ticket")
        try:
            first = self._read_counter(1)
            while True:
                while first < ticket and self._claim_lock(_TICKETS + first):
                    self._locks.release(_TICKETS + first)  # the process that had it is gone, or learns
                    first += 1
                if first == ticket:
                    for unit in range(self._units - self._read_counter(2)):
                        if self._claim_lock(_UNITS + unit):
                            with self._locks.hold():
                                self._write_counter(1, max(self._read_counter(1), ticket + 1))
                            return unit
                time.sleep(_LOOK)
        finally:
            self._locks.release(_TICKETS + ticket)

    def _claim_lock(self, number: int) -> bool:
        try:
            self._locks.claim(number, "it")
        except Taken:
            return False
        return True

    def _read_counter(self, place: int) -> int:
        return int.from_bytes(self._tickets[8 * place : 8 * place + 8], "little")

    def _write_counter(self, place: int, value: int) -> None:
        self._tickets[8 * place : 8 * place + 8] = value.to_bytes(8, "little")


@dataclass
class Invocation:
    """One call of a learner, from its first rows until none are left; times in seconds."""

    slot: int
    start: float
    price: float
    """The price of a second."""
    end: float | None = None
    batches: int = 0
    """Learnt from."""
    killed: bool = False

    def seconds(self, now: float) -> float:
        """Return the seconds that it has run."""
        return (now if self.end is None else self.end) - self.start

    def cost(self, now: float) -> float:
        """Return its cost until now."""
        return self.seconds(now) * self.price


@dataclass(frozen=True)
class Report:
    """Totals of all invocations; costs in the unit of the price."""

    invocations: int
    killed: int
    batches: int
    busy: float
    """Seconds in invocations."""
    cold: float
    """Seconds of starts."""
    idle: float
    """Seconds that learners were kept alive without rows."""
    reserved: float
    """The cost of all slots, busy or not, from the ledger's begin on."""
    invoked: float
    """The cost of invocations alone, as the paper counts."""
    whole: float
    """The cost of invocations, cold starts and keep-alive."""


class Ledger:
    """The invocations of up to ``capacity`` learners at a time."""

    def __init__(self, price: float, capacity: int, now: float = 0.0) -> None:
        """``price``: of one learner's second, such as a machine's of an hour / 3600 / learners that fit.

        Raises ValueError for a price below 0 or no capacity.
        """
        if not price >= 0 or capacity < 1:
            raise ValueError(f"{capacity} learners at {price} a second; give 1 or more, for 0 or more")
        self.invocations: list[Invocation] = []
        self._price, self._capacity, self._begun = price, capacity, now
        self._cold = self._idle = 0.0

    def begin(self, slot: int, now: float) -> Invocation:
        """Begin the invocation of a learner."""
        invocation = Invocation(slot, now, self._price)
        self.invocations.append(invocation)
        return invocation

    def started(self, seconds: float) -> None:
        """Add the seconds that a start took."""
        self._cold += seconds

    def kept(self, seconds: float) -> None:
        """Add the seconds that a learner was alive without rows."""
        self._idle += seconds

    def report(self, now: float) -> Report:
        """Sum up until now; what is alive without rows now is added when that ends."""
        busy = sum(invocation.seconds(now) for invocation in self.invocations)
        invoked = sum(invocation.cost(now) for invocation in self.invocations)
        return Report(
            invocations=len(self.invocations),
            killed=sum(invocation.killed for invocation in self.invocations),
            batches=sum(invocation.batches for invocation in self.invocations),
            busy=busy,
            cold=self._cold,
            idle=self._idle,
            reserved=(now - self._begun) * self._capacity * self._price,
            invoked=invoked,
            whole=invoked + (self._cold + self._idle) * self._price,
        )
