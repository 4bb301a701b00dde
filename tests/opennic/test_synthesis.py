"""Box and blocks keep to their share of the card; this takes some minutes."""

import pytest

from olaflab.opennic.box_synthesis import BLOCKS, BOX, PAPER, SMALL_BOX, synthesize_box

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
MOST = {"LUT": 16_000, "FF": 24_000, "URAM": 80}
"""The most resources that both blocks may take."""


def test_the_blocks_are_small_and_shallow() -> None:
    used = [synthesize_box(block) for block in BLOCKS]
    assert all(sum(each.counts[name] for each in used) <= most for name, most in MOST.items())
    assert max(each.levels for each in used) <= 10


def test_the_box_is_small() -> None:
    """The box takes less than the paper states for OlafQueue and its IPs, and is shallow enough for 4 ns."""
    used = synthesize_box(BOX)
    assert all(used.percent(resource) < paper for resource, paper in PAPER.items())
    assert used.levels <= 12


def test_a_small_cards_block_needs_no_ultraram() -> None:
    used = [synthesize_box(part, 2) for part in (SMALL_BOX, *BLOCKS)]
    assert sum(each.counts["URAM"] for each in used) == 0
    assert sum(each.counts["BRAM36"] for each in used) <= 160
    assert max(each.levels for each in used) <= 10
