"""Instructions a frame, counted by callgrind: no part of the software engine becomes dearer unnoticed."""

import shutil

import pytest

from olaflab.pipeline.instructions import KINDS, count_instructions, read_costs

COMMITTED = {
    "update": (627, 297, 802, 285),
    "merged update": (530, 0, 228, 121),
    "plain UDP": (328, 276, 358, 274),
    "ACK": (564, 1018, 379, 370),
}
"""Instructions in VNP4₁, VNP4₂, the queue, and libc with the switch and the loop: `laptop`, g++ 12."""


def test_inclusive_costs_of_calls_are_not_counted_twice() -> None:
    own = "ob=(1) /a\nfn=(1) f\n3 10\n+1 5\n"
    profile = f"events: Ir\n{own}cob=(2) /b\ncfn=(2) g\ncalls=4 9\n3 700\nob=(2)\nfn=(2)\n9 700\n"
    assert read_costs(profile) == {"/a": 15, "/b": 700}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_counts_are_within_a_tenth_of_the_committed_ones() -> None:
    counted = count_instructions("laptop", 1280, print)
    assert tuple(counted) == KINDS
    for kind, parts in counted.items():
        assert sum(parts.values()) == pytest.approx(sum(COMMITTED[kind]), rel=0.1), (kind, parts)
