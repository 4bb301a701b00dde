"""The systems that the verifier is timed on: the paper's two (OLAF §6) and larger ones."""

from fractions import Fraction

from olafctl.membership.objective import Kind, Objective
from olafctl.verify.system import System, Transmission, periodic

MS = 1_000_000
EPSILON = Fraction(MS, 10)
"""ε = 0.1 (OLAF §6), read in milliseconds like p/C = 2 and the periods."""

EPSILON_SECONDS = Fraction(100 * MS)
"""ε = 0.1 read in seconds."""


def paper(periods: tuple[int, ...], slots: int, service: int = 2, updates: int = 20) -> System:
    """OLAF §6: Δ_T = 400 ms, p/C = 2 ms, clusters that update every ``periods`` ms, for all outcomes.

    The paper gives no Q_max: 8 (OLAF §8) leaves two clusters uncontrolled, 1 puts them under control.
    """
    return System(
        tuple(periodic(f"C{index}", period * MS) for index, period in enumerate(periods, 1)),
        service=service * MS,
        slots=slots,
        updates=updates,
        transmission=Transmission.ANY,
        threshold=400 * MS,
    )


PAPER = {
    "100/100 ms, Q_max 8": paper((100, 100), 8),
    "100/300 ms, Q_max 8": paper((100, 300), 8),
    "100/100 ms, Q_max 1": paper((100, 100), 1),
    "100/300 ms, Q_max 1": paper((100, 300), 1),
    "100/100 ms, Q_max 1, p/C 200 ms": paper((100, 100), 1, service=200),
    "100/300 ms, Q_max 1, p/C 200 ms": paper((100, 300), 1, service=200),
}
"""The paper's two, under each reading of what it leaves open."""


def fairness(bound: int | Fraction) -> Objective:
    """Average peak ages at most ``bound`` ms apart."""
    return Objective(Kind.FAIRNESS, Fraction(bound) * MS)


def peak(bound: int) -> Objective:
    """Peak ages of at most ``bound`` ms."""
    return Objective(Kind.PEAK, Fraction(bound * MS))


def half_slow(count: int, updates: int) -> tuple[System, Objective]:
    """Half the clusters every 100 ms, half every 300 ms, p/C = 2 ms; fair up to what is inevitable."""
    periods = (100,) * (count // 2) + (300,) * (count - count // 2)
    return paper(periods, count, updates=updates), fairness(200 + 2 * (count - 1))


def all_alike(count: int, updates: int) -> tuple[System, Objective]:
    """All clusters every 100 ms, p/C = 2 ms; peaks of at most a period and all others' services."""
    return paper((100,) * count, count, updates=updates), peak(100 + 2 * (count - 1))


def overloaded(count: int, updates: int) -> tuple[System, Objective]:
    """All clusters every 100 ms at 1.6 times the output's rate; a bound that bounded waiting misses."""
    service = 160 // count
    return paper((100,) * count, count, service=service, updates=updates), peak(
        100 + service * count * 9 // 10
    )


def controlled(count: int, updates: int) -> tuple[System, Objective]:
    """Half as many slots as clusters at 0.8 of the output's rate, for all outcomes; no age beyond half the
    horizon."""
    system = paper((100,) * count, count // 2, service=80 // count, updates=updates)
    return system, peak(50 * updates)


SCALE = {
    "all alike, peak": all_alike,
    "half slow, fairness": half_slow,
    "overloaded, peak": overloaded,
    "controlled, peak": controlled,
}
