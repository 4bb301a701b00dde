"""The engine: slots, waiting, departures, the full queue (OLAF §4, §12.2, §12.3)."""

from collections.abc import Iterable, Sequence

from olafctl.verify.encoding.arrivals import Arrivals, Update
from olafctl.verify.encoding.numbers import Bool, Term, both, either, implies, negation, z3
from olafctl.verify.question.system import SlotFreed, System


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


def queue_on_arrival(update: Update, flows: Sequence[Sequence[Update]], arrivals: Arrivals) -> list[Bool]:
    """Q_k^v = Σ_u 1{∃n: A^u(n) < A^v(k) ∧ D^u(n) > A^v(k)} (OLAF §12.3): one indicator a cluster."""
    return [
        either(*(both(arrivals.precedes(other, update), other.departure > update.arrival) for other in flow))
        for flow in flows
    ]


def full_by_count(waiting: Sequence[Bool], sending: Bool, system: System) -> Bool:
    """F of Algorithm 1: Q_k and, until it is sent, the update being sent fill all Q_max slots."""
    held = [*waiting, sending] if system.slot_freed is SlotFreed.SENT else list(waiting)
    sure = sum(flag is True for flag in held)
    unsure = [(flag, 1) for flag in held if not isinstance(flag, bool)]
    if sure + len(unsure) < system.slots:
        return False
    return True if sure >= system.slots else z3.PbGe(unsure, system.slots - sure)


def wait_by_count(
    update: Update, waiting: Sequence[Bool], rest: Term, system: System, zero: Term
) -> list[Bool]:
    """T_Q^v(k) = Q_k^v · p/C (OLAF §12.3), plus the rest of a transmission (``zero``: a constant 0)."""
    service = system.service // system.tick
    ahead = sum((z3.If(flag, zero + service, zero) for flag in waiting if flag is not False), zero)
    return [implies(update.opens, update.departure == update.arrival + rest + ahead)]


def rest_of_transmission(
    update: Update, rest: Term, ahead: Iterable[tuple[Bool, Update]], system: System
) -> tuple[list[Bool], Bool]:
    """``rest`` = D(x) + p/C - A(k) of the update x being sent on arrival, else 0; and whether one is."""
    service = system.service // system.tick
    constraints, exact = [rest >= 0], [rest <= 0]
    for precedes, other in ahead:
        left = other.departure + service - update.arrival
        begun = both(precedes, other.opens, other.departure <= update.arrival)
        constraints.append(implies(begun, rest >= left))
        exact.append(both(begun, rest <= left))
    return [*constraints, either(*exact)], rest > 0


def ack_queue(update: Update, updates: Iterable[Update], arrivals: Arrivals) -> Term:
    """ACK_Q: the queue when the slot ``update`` opens departs (OLAF §12.2, fourth law).

    Σ 1{A(k) < A^u(n) < D(k) ∧ A^u(n) ≥ D^u(n-1)}: what opened a slot behind it meanwhile.
    """
    return z3.Sum(
        [z3.IntVal(0)]
        + [
            z3.If(both(arrivals.precedes(update, other), other.opens, other.arrival < update.departure), 1, 0)
            for other in updates
            if other is not update and arrivals.precedes(update, other) is not False
        ]
    )
