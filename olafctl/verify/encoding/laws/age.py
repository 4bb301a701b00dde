"""Age-of-Model: the newest update, peak ages, the age at the last generation (OLAF §6, §12.3)."""

from olafctl.verify.encoding.arrivals import Update
from olafctl.verify.encoding.numbers import Bool, Term, both, implies, negation, z3

NEVER = -1
"""Freshness of a cluster before the engine has taken any of its updates."""


def freshness(update: Update) -> list[Bool]:
    """Which A the cluster's slot holds, and which left before: l = max{i < k: D(i) ≤ A(i+1)} (OLAF §6)."""
    taken = both(update.sent, z3.Not(update.lost))
    before = NEVER if update.previous is None else update.previous.newest
    left = NEVER if update.previous is None else update.previous.received
    return [
        implies(taken, update.newest == update.arrival),
        implies(negation(taken), update.newest == before),
        implies(update.opens, update.received == before),
        implies(z3.Not(update.opens), update.received == left),
    ]


def has_peak(update: Update) -> Bool:
    """``update`` opens a slot and its cluster was heard of before, so Δ_p exists."""
    return False if update.previous is None else both(update.opens, update.received >= 0)


def peak(update: Update) -> Term:
    """Δ_p(k) = D(k) - A(l), l the latest departed update before k (OLAF §6, §12.3)."""
    return update.departure - update.received


def final_age(update: Update) -> Term:
    """The age the cluster has when it generates ``update``: from 0 as long as nothing has left."""
    previous = update.previous
    if previous is None:
        return update.arrival
    heard = z3.If(previous.departure <= update.arrival, previous.newest, previous.received)
    return update.arrival - z3.If(heard >= 0, heard, 0)
