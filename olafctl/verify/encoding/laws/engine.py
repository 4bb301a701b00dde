"""The engine: slots, waiting, departures, the full queue (OLAF §4, §12.2, §12.3)."""

from collections.abc import Iterable

from olafctl.verify.encoding.arrivals import Update
from olafctl.verify.encoding.numbers import Bool, both, either, implies, negation
from olafctl.verify.question.system import System


def departed_before(update: Update) -> Bool:
    """D(k-1) ≤ A(k): no update of its cluster waits when ``update`` arrives."""
    return True if update.previous is None else update.previous.departure <= update.arrival


def single_slot(update: Update, full: Bool) -> list[Bool]:
    """At most one waiting update a cluster (OLAF §4): k opens a slot iff D(k-1) ≤ A(k), else it joins.

    Joined (replaced or aggregated), the earlier one never departs itself: the indicator
    1{D(k) ≤ A(k+1)} of OLAF §12.2 is 0. A full queue drops what would open a slot (Algorithm 1, line 22).
    """
    alone = both(update.sent, departed_before(update))
    return [update.opens == both(alone, negation(full)), update.lost == both(alone, full)]


def departure(update: Update, system: System) -> list[Bool]:
    """D(k) = A(k) + T_Q(k) for a slot; a cluster's last D stands until it opens the next."""
    wait = update.departure - update.arrival
    service = system.service // system.tick
    kept = negation(update.opens)
    before = -service if update.previous is None else update.previous.departure
    return [
        implies(update.opens, both(wait >= 0, update.done == update.departure + service)),
        implies(kept, both(update.departure == before, update.done == update.free)),
    ]


def service_time(update: Update) -> list[Bool]:
    """T_Q(k): the time to send all that is ahead; departures are p/C apart (OLAF §12.2, third law).

    ``free`` is when the output has sent all that is ahead, so D(k) = max(A(k), free).
    """
    starts = update.departure
    exact = either(starts <= update.arrival, starts <= update.free)
    return [implies(update.opens, both(starts >= update.free, exact))]


def output_free(update: Update, ahead: Iterable[tuple[Bool, Update]]) -> list[Bool]:
    """``free``: the largest ``done`` of the updates that precede ``update``, 0 if none does."""
    at_least = [update.free >= 0]
    one_of = [update.free <= 0]
    for precedes, other in ahead:
        at_least.append(implies(precedes, update.free >= other.done))
        one_of.append(both(precedes, update.free <= other.done))
    return [*at_least, either(*one_of)]


def full_by_work(update: Update, system: System) -> Bool:
    """The queue is full: the output will be busy for more than ``capacity`` services.

    Equivalent to counting slots, because departures of one busy period are exactly p/C apart.
    """
    return update.free > update.arrival + system.capacity * (system.service // system.tick)
