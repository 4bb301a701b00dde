"""Transmission control: feedback age, sending probability, decisions (OLAF §5, §12.2)."""

from collections.abc import Sequence

from olafctl.verify.encoding.arrivals import Update
from olafctl.verify.encoding.numbers import Bool, Term, both, either, implies, z3
from olafctl.verify.question.system import System, Transmission


def feedback_age(update: Update, last_ack: Term, flow: Sequence[Update], system: System) -> list[Bool]:
    """Δ_w(k) = A(k) - ``last_ack``: ACKs arrive R after D, and one came at 0 (OLAF §5, §12.2)."""
    delay = system.ack_delay // system.tick
    at_least, one_of = [last_ack >= 0], [last_ack <= 0]
    for other in flow[: update.place]:
        ack = other.departure + delay
        come = both(other.opens, ack <= update.arrival)
        at_least.append(implies(come, last_ack >= ack))
        one_of.append(both(come, last_ack <= ack))
    return [*at_least, either(*one_of)]


def fresh(update: Update, last_ack: Term, system: System) -> Bool:
    """1{Δ_w(k) ≤ Δ_T} (OLAF §12.2, fifth law)."""
    return (update.arrival - last_ack) * system.tick <= system.threshold


def certain(update: Update, last_ack: Term, system: System) -> Bool:
    """P_s(k) = 1 (OLAF §5): Q_max/N + v·(Δ_w - Δ_T) ≥ 1 solved for Δ_w, which then also exceeds Δ_T."""
    return update.arrival - last_ack >= -(-system.certain_after // system.tick)


def probability(update: Update, last_ack: Term, system: System) -> tuple[int, Term]:
    """(d, d·P_s(k)) before the cap at 1 and for stale feedback, as integers (OLAF §5)."""
    steepness, count = system.steepness, len(system.clusters)
    whole = steepness.denominator * count
    late = (update.arrival - last_ack) * system.tick - system.threshold
    return whole, system.slots * steepness.denominator + steepness.numerator * count * late


def decision(update: Update, last_ack: Term, flow: Sequence[Update], system: System) -> list[Bool]:
    """For all outcomes: sent where P_s = 1, free elsewhere (P_s is never 0, as Q_max ≥ 1)."""
    laws = [implies(certain(update, last_ack, system), update.sent)]
    if system.transmission is Transmission.BOUNDED and update.place >= system.patience:
        recent = flow[update.place - system.patience : update.place + 1]
        laws.append(either(*(other.sent for other in recent)))
    return laws


def expected_decision(
    update: Update, last_ack: Term, credit: Term, before: Term, system: System
) -> list[Bool]:
    """The expected rate: credits of P_s add up, and a whole one sends (an error-free mean rate)."""
    whole, scaled = probability(update, last_ack, system)
    base = system.slots * system.steepness.denominator
    gain = z3.If(fresh(update, last_ack, system), base, z3.If(scaled >= whole, whole, scaled))
    return [
        update.sent == (before + gain >= whole),
        credit == before + gain - z3.If(update.sent, whole, 0),
    ]
