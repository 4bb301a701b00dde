"""Statements that follow from the other laws: they change no verdict and spare the solver an induction."""

from olafctl.verify.encoding.arrivals import Update
from olafctl.verify.encoding.laws.age import final_age, has_peak, peak
from olafctl.verify.encoding.numbers import Bool, both, implies
from olafctl.verify.question.system import System


def bounded_wait(update: Update, wait: int, system: System) -> list[Bool]:
    """D ≤ A(k) + ``wait`` ticks (:func:`bounds.longest_wait`): spares the solver an induction."""
    service = system.service // system.tick
    return [
        update.departure <= update.arrival + wait,
        update.free <= update.arrival + wait + service,
    ]


def bounded_age(update: Update, wait: int, system: System) -> list[Bool]:
    """Where every update is taken: Δ_p ≤ period + jitter + ``wait``, and ≥ period - jitter of one worker.

    A slot opens after its predecessor left with the cluster's update before. The worker's own update before
    is one period, give or take the jitter, older, and the cluster's is no older than that. What waits at a
    generation leaves as a peak later, so that bound holds of the age too once the first update has left.
    """
    cluster = system.clusters[update.cluster]
    low = (cluster.period - cluster.jitter) // system.tick if cluster.workers == 1 else 0
    high = (cluster.period + cluster.jitter) // system.tick + wait
    laws = [implies(has_peak(update), both(peak(update) >= low, peak(update) <= high))]
    first_has_left = update.seq * cluster.period - cluster.jitter >= wait * system.tick
    if update.previous is not None and first_has_left:
        laws.append(final_age(update) <= high)
    return laws
