"""The laws of OLAF §12.2 and §12.3, one function each, over integer ticks, and what follows from them.

Where the paper leaves room, they are read as follows (docs/verify.md gives the reasons):

* D(k) is when the first beat of k's slot leaves, so an empty engine has D = A, as T_Q = Q·p/C says.
* An update that joins a waiting one keeps its place (OLAF §4); the slot's D and T_Q are of its first update.
* A departure at the very instant of an arrival comes first: D(k) ≤ A(k+1) (OLAF §12.2), not < (OLAF §12.3).
* T_Q counts the rest of a transmission under way, which Q·p/C leaves out.
"""

from collections.abc import Iterable, Sequence

from olafctl.verify.arrivals import Bool, SolverUpdate, Term, all_of, any_of, make_implication, negate, z3
from olafctl.verify.system import System, Transmission


def longest_wait(system: System) -> int:
    """Return the most ns that a slot waits, D - A.

    It is the smaller of two: F·p/C, as at most one update of each other cluster waits and one is being sent;
    and the largest work that can gather within any τ after an idle instant beyond the work sent meanwhile,
    max_τ Σ_u w_u·(⌊(τ + J_u)/P_u⌋ + 1)·p/C - τ - p/C, which is finite when the load is below one.
    """
    by_slots = len(system.clusters) * system.service
    busy = system.service
    while True:
        demand = _count_demand(system, busy)
        if demand == busy:
            break
        busy = demand
        if busy > 64 * max(by_slots, *(cluster.period + cluster.jitter for cluster in system.clusters)):
            return by_slots
    steps = {
        turn * cluster.period - cluster.jitter
        for cluster in system.clusters
        for turn in range(1, (busy + cluster.jitter) // cluster.period + 1)
    }
    gathered = max(_count_demand(system, step) - step for step in {0, *(step for step in steps if step > 0)})
    return min(by_slots, gathered - system.service)


def heard_in_turn(system: System) -> bool:
    """Return whether every generated update is taken: none can be withheld or lost."""
    return not system.controlled and system.capacity >= len(system.clusters)


def _count_demand(system: System, span: int) -> int:
    """Return the work, in ns, that can arrive within a closed interval of ``span`` ns."""
    updates = sum(
        cluster.workers * ((span + cluster.jitter) // cluster.period + 1) for cluster in system.clusters
    )
    return updates * system.service


NEVER = -1
"""The freshness of a cluster before the engine has taken any of its updates."""


def law_of_freshness(update: SolverUpdate) -> list[Bool]:
    """Return the law of which A the cluster's slot holds, and which left before: l = max{i < k: D(i) ≤
    A(i+1)} (OLAF §6)."""
    taken = all_of(update.sent, z3.Not(update.lost))
    before = NEVER if update.previous is None else update.previous.newest
    left = NEVER if update.previous is None else update.previous.received
    return [
        make_implication(taken, update.newest == update.arrival),
        make_implication(negate(taken), update.newest == before),
        make_implication(update.opens, update.received == before),
        make_implication(z3.Not(update.opens), update.received == left),
    ]


def has_peak(update: SolverUpdate) -> Bool:
    """Return whether Δ_p exists: ``update`` opens a slot and its cluster was heard of before."""
    return False if update.previous is None else all_of(update.opens, update.received >= 0)


def peak_age(update: SolverUpdate) -> Term:
    """Return Δ_p(k) = D(k) - A(l), with l the latest departed update before k (OLAF §6, §12.3)."""
    return update.departure - update.received


def final_age(update: SolverUpdate) -> Term:
    """Return the cluster's age when it generates ``update``: from 0 as long as nothing has left."""
    previous = update.previous
    if previous is None:
        return update.arrival
    heard = z3.If(previous.departure <= update.arrival, previous.newest, previous.received)
    return update.arrival - z3.If(heard >= 0, heard, 0)


def bounded_wait(update: SolverUpdate, wait: int, system: System) -> list[Bool]:
    """Return D ≤ A(k) + ``wait`` ticks (:func:`longest_wait`), which saves the solver an induction."""
    service = system.service // system.tick
    return [
        update.departure <= update.arrival + wait,
        update.free <= update.arrival + wait + service,
    ]


def bounded_age(update: SolverUpdate, wait: int, system: System) -> list[Bool]:
    """Return, where every update is taken, Δ_p ≤ period + jitter + ``wait``, and ≥ period - jitter of one
    worker.

    A slot opens after its predecessor left with the cluster's update before. The worker's own update before
    is one period older, plus or minus the jitter; the cluster's is no older. Updates that wait at a
    generation leave as a peak later, so the bound holds for the age, too, once the first update has left.
    """
    cluster = system.clusters[update.cluster]
    low = (cluster.period - cluster.jitter) // system.tick if cluster.workers == 1 else 0
    high = (cluster.period + cluster.jitter) // system.tick + wait
    laws = [make_implication(has_peak(update), all_of(peak_age(update) >= low, peak_age(update) <= high))]
    first_has_left = update.seq * cluster.period - cluster.jitter >= wait * system.tick
    if update.previous is not None and first_has_left:
        laws.append(final_age(update) <= high)
    return laws


def feedback_age(
    update: SolverUpdate, last_ack: Term, flow: Sequence[SolverUpdate], system: System
) -> list[Bool]:
    """Return Δ_w(k) = A(k) - ``last_ack``: ACKs arrive R after D, and one came at 0 (OLAF §5, §12.2)."""
    delay = system.ack_delay // system.tick
    at_least, one_of = [last_ack >= 0], [last_ack <= 0]
    for other in flow[: update.place]:
        ack = other.departure + delay
        come = all_of(other.opens, ack <= update.arrival)
        at_least.append(make_implication(come, last_ack >= ack))
        one_of.append(all_of(come, last_ack <= ack))
    return [*at_least, any_of(*one_of)]


def is_fresh(update: SolverUpdate, last_ack: Term, system: System) -> Bool:
    """Return 1{Δ_w(k) ≤ Δ_T} (OLAF §12.2, fifth law)."""
    return (update.arrival - last_ack) * system.tick <= system.threshold


def is_certain(update: SolverUpdate, last_ack: Term, system: System) -> Bool:
    """Return P_s(k) = 1 (OLAF §5): Q_max/N + v·(Δ_w - Δ_T) ≥ 1, solved for Δ_w, which exceeds Δ_T then."""
    return update.arrival - last_ack >= -(-system.certain_after // system.tick)


def scaled_probability(update: SolverUpdate, last_ack: Term, system: System) -> tuple[int, Term]:
    """Return (d, d·P_s(k)) before the cap at 1 and for stale feedback, as integers (OLAF §5)."""
    steepness, count = system.steepness, len(system.clusters)
    whole = steepness.denominator * count
    late = (update.arrival - last_ack) * system.tick - system.threshold
    return whole, system.slots * steepness.denominator + steepness.numerator * count * late


def law_of_decision(
    update: SolverUpdate, last_ack: Term, flow: Sequence[SolverUpdate], system: System
) -> list[Bool]:
    """Return the law for all outcomes: sent where P_s = 1, free elsewhere (P_s is never 0, as Q_max ≥ 1)."""
    laws = [make_implication(is_certain(update, last_ack, system), update.sent)]
    if system.transmission is Transmission.BOUNDED and update.place >= system.patience:
        recent = flow[update.place - system.patience : update.place + 1]
        laws.append(any_of(*(other.sent for other in recent)))
    return laws


def expected_decision(
    update: SolverUpdate, last_ack: Term, credit: Term, before: Term, system: System
) -> list[Bool]:
    """Return the law of the expected rate: credits of P_s add up, and a whole credit sends (a mean rate)."""
    whole, scaled = scaled_probability(update, last_ack, system)
    base = system.slots * system.steepness.denominator
    gain = z3.If(is_fresh(update, last_ack, system), base, z3.If(scaled >= whole, whole, scaled))
    return [
        update.sent == (before + gain >= whole),
        credit == before + gain - z3.If(update.sent, whole, 0),
    ]


def departed_before(update: SolverUpdate) -> Bool:
    """Return D(k-1) ≤ A(k): no update of its cluster waits when ``update`` arrives."""
    return True if update.previous is None else update.previous.departure <= update.arrival


def single_slot(update: SolverUpdate, full: Bool) -> list[Bool]:
    """Return that a cluster has at most one waiting update (OLAF §4): k opens a slot iff D(k-1) ≤ A(k).

    Else it joins (replaces or is aggregated): the earlier update never departs itself, and the indicator
    1{D(k) ≤ A(k+1)} of OLAF §12.2 is 0. A full queue drops an update that would open a slot (Algorithm 1,
    line 22).
    """
    alone = all_of(update.sent, departed_before(update))
    return [update.opens == all_of(alone, negate(full)), update.lost == all_of(alone, full)]


def law_of_departure(update: SolverUpdate, system: System) -> list[Bool]:
    """Return D(k) = A(k) + T_Q(k) for a slot; a cluster's last D stands until it opens the next slot."""
    wait = update.departure - update.arrival
    service = system.service // system.tick
    kept = negate(update.opens)
    before = -service if update.previous is None else update.previous.departure
    return [
        make_implication(update.opens, all_of(wait >= 0, update.done == update.departure + service)),
        make_implication(kept, all_of(update.departure == before, update.done == update.free)),
    ]


def service_time(update: SolverUpdate) -> list[Bool]:
    """Return T_Q(k), the time to send all that is ahead; departures are p/C apart (OLAF §12.2, third law).

    ``free`` is when the output has sent all that is ahead, so D(k) = max(A(k), free).
    """
    starts = update.departure
    exact = any_of(starts <= update.arrival, starts <= update.free)
    return [make_implication(update.opens, all_of(starts >= update.free, exact))]


def output_free(update: SolverUpdate, ahead: Iterable[tuple[Bool, SolverUpdate]]) -> list[Bool]:
    """Return that ``free`` is the largest ``done`` of the updates that precede ``update``, 0 if none does."""
    at_least = [update.free >= 0]
    one_of = [update.free <= 0]
    for precedes, other in ahead:
        at_least.append(make_implication(precedes, update.free >= other.done))
        one_of.append(all_of(precedes, update.free <= other.done))
    return [*at_least, any_of(*one_of)]


def full_by_work(update: SolverUpdate, system: System) -> Bool:
    """Return whether the queue is full: the output will be busy for more than ``capacity`` services.

    This is equivalent to counting slots, because departures of one busy period are exactly p/C apart.
    """
    return update.free > update.arrival + system.capacity * (system.service // system.tick)
