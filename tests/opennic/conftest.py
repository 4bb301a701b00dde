"""Benches of single modules of the box."""

from collections.abc import Callable, Iterator

import pytest

from olafctl.targets.opennic_sim.box import build_rtl
from olafswitch.simulation.bench import Bench

PERIOD = 4000
MakeBench = Callable[..., Bench]


@pytest.fixture
def bench() -> Iterator[MakeBench]:
    """Provide a function that makes a bench of a module, in reset for 10 cycles and then running."""
    made: list[Bench] = []

    def make(top: str, seed: int = 1, **parameters: int) -> Bench:
        this = Bench(build_rtl(top, parameters), {"clk": PERIOD}, seed)
        made.append(this)
        reset_bench(this)
        return this

    yield make
    for this in made:
        this.close()


def reset_bench(this: Bench) -> None:
    """Reset a bench for ten cycles."""
    this["rst"] = 1
    this.run_cycles(10)
    this["rst"] = 0
    this.run_cycles(1)
