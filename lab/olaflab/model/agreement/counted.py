"""The engine's laws as sums over clusters, as the paper writes them (OLAF §12.2, §12.3).

The verifier states the same by the work that is left."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from olafctl.verify.encoding.arrivals import Arrivals, Update
from olafctl.verify.encoding.laws import engine
from olafctl.verify.encoding.numbers import Bool, Term, both, either, implies, z3
from olafctl.verify.encoding.query import Query
from olafctl.verify.question.system import SlotFreed, System


class CountedQuery(Query):
    """A query that counts Q_k slot by slot, for waiting and for loss."""

    def laws_of(self, update: Update) -> Iterator[Bool]:
        yield from engine.output_free(update, self.ahead(update))
        pairs = [(self.arrivals.precedes(other, update), other) for other in self.arrivals.updates]
        everyone = [(precedes, other) for precedes, other in pairs if precedes is not False]
        rest = self.arithmetic.variable(f"rest {update.cluster} {update.place}")
        waiting = queue_on_arrival(update, self.arrivals.flows, self.arrivals)
        constraints, sending = rest_of_transmission(update, rest, everyone, self.system)
        yield from constraints
        yield from wait_by_count(update, waiting, rest, self.system, self.arithmetic.constant(0))
        yield from self.slot(update, full_by_count(waiting, sending, self.system))


def departures(query: Query, model: Any) -> list[tuple[int, int, int, int]]:
    """(cluster, A of the slot's first update, D, ACK_Q) of every slot, in ticks, as a model has them."""

    def value(term: Term) -> int:
        return int(model.eval(term, model_completion=True).as_long())

    updates = query.arrivals.updates
    return [
        (
            update.cluster,
            value(update.arrival),
            value(update.departure),
            value(ack_queue(update, updates, query.arrivals)),
        )
        for update in updates
        if model.eval(update.opens, model_completion=True)
    ]


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
