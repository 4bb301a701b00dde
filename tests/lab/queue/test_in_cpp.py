"""The queue in C++ lets the frames go that the Verilated one does, and in the same cycles."""

import pytest

from olafctl.wire.geometry import Geometry
from olaftest.queue.in_cpp import agreement


@pytest.mark.parametrize("seed", range(22, 28))
def test_the_same_frames_leave_in_the_same_cycles(seed: int) -> None:
    found = agreement(loads=10, frames=600, seed=seed)
    assert found.frames > 2000
    assert found.other_frames == found.other_times == found.other_statuses == found.other_counters == 0


def test_jumbo_frames_do_too() -> None:
    found = agreement(
        loads=3, frames=150, seed=1, geometry=Geometry(indices=9, slots=8, beats=142, adder_latency=5)
    )
    assert found.frames > 100
    assert found.other_frames == found.other_times == 0
