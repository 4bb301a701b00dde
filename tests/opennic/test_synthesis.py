"""What the box and its blocks take of the card; up to an hour, so only where OLAF_SYNTHESIS is set."""

import os

import pytest

from olaflab.opennic.box_synthesis import BLOCKS, BOX, PAPER, synthesize

pytestmark = [
    pytest.mark.skipif("OLAF_SYNTHESIS" not in os.environ, reason="some minutes (make test-all)"),
    pytest.mark.timeout(3600),
]
MOST = {"LUT": 16_000, "FF": 24_000, "URAM": 80}
"""Of both blocks together."""


def test_box_and_blocks_are_small_and_shallow() -> None:
    """Less than the paper states for OlafQueue and its IPs, and shallow enough for 4 ns."""
    parts = [synthesize(part) for part in (BOX, *BLOCKS)]
    for resource, paper in PAPER.items():
        assert sum(part.percent(resource) for part in parts) < paper
    for resource, most in MOST.items():
        assert sum(part.counts[resource] for part in parts[1:]) <= most
    assert all(part.levels <= 10 for part in parts)
