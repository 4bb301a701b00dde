"""What learners cost: every invocation with its start, end and price, and three sums (Stellaris §VIII-A)."""

from __future__ import annotations

from dataclasses import dataclass


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
        """How long it has run."""
        return (now if self.end is None else self.end) - self.start

    def cost(self, now: float) -> float:
        """What it costs until now."""
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
        """A learner is invoked."""
        invocation = Invocation(slot, now, self._price)
        self.invocations.append(invocation)
        return invocation

    def started(self, seconds: float) -> None:
        """A start took so long."""
        self._cold += seconds

    def kept(self, seconds: float) -> None:
        """A learner was alive without rows for so long."""
        self._idle += seconds

    def report(self, now: float) -> Report:
        """All sums until now; what is alive without rows now is added when that ends."""
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
