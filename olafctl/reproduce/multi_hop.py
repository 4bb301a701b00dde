"""OLAF §8.3's topology (figure 9) as a scenario of the event-level model.

Ten clusters of ten workers: C1 … C5 (group S1) send to SW1, C6 … C10 (group S2) to SW2, both lead to SW3 and
it to the parameter server. An output is a rate limiter before a link of the same rate, store and forward: as
a device of ns-3 sends.
"""

from dataclasses import dataclass

from olafctl.simulate.scenario import Control, Engine, Link, Scenario, Source
from olafctl.testbed.model import Mode

CLUSTERS, WORKERS = 10, 10
S1, S2 = range(5), range(5, 10)
"""The places of the clusters of each group."""
FRAME_BYTES = 1000
EDGE_SLOTS, CORE_SLOTS = 5, 8
MS = 1_000_000


@dataclass(frozen=True)
class Setup:
    """What §8.3 says of a run, and what it leaves open."""

    fifo: bool
    x1: float
    """bit/s of SW1's output."""
    x2: float
    x3: float
    periods: tuple[int, int]
    """ns between two updates of a worker of S1 and of S2."""
    jitter: float
    """Each update is late by up to this share of its period."""
    control: Control | None = None
    delay: int = 0
    """ns of each link, in each direction."""
    ack_bytes: int | None = None
    active_window: int = 1000 * MS
    """ns; beyond three times the longest period, so that every cluster that sends counts as active."""


def scenario(setup: Setup, seed: int) -> Scenario:
    """``setup`` with phases and jitter drawn from ``seed``."""

    def engine(name: str, slots: int, rate: float, to: str | None) -> Engine:
        link = Link(to, rate, setup.delay)
        mode = Mode.FIFO if setup.fifo else Mode.OLAF
        return Engine(name, slots, rate, link, mode, active_window=setup.active_window)

    sources = tuple(
        Source(
            cluster,
            worker,
            "sw1" if cluster in S1 else "sw2",
            period=period,
            jitter=round(setup.jitter * period),
            delay=setup.delay,
            size=FRAME_BYTES,
            control=setup.control,
        )
        for cluster in range(CLUSTERS)
        for period in (setup.periods[0 if cluster in S1 else 1],)
        for worker in range(WORKERS)
    )
    engines = (
        engine("sw1", EDGE_SLOTS, setup.x1, "sw3"),
        engine("sw2", EDGE_SLOTS, setup.x2, "sw3"),
        engine("sw3", CORE_SLOTS, setup.x3, None),
    )
    return Scenario(engines, sources, ack_bytes=setup.ack_bytes, seed=seed)
