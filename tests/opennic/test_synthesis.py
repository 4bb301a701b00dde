"""What the box takes of the card; some minutes, so only where OLAF_SYNTHESIS is set."""

import os

import pytest

from olaflab.opennic.box_synthesis import BOX, PAPER, synthesize


@pytest.mark.skipif("OLAF_SYNTHESIS" not in os.environ, reason="some minutes (make test-all)")
@pytest.mark.timeout(900)
def test_the_box_is_small() -> None:
    """Less than the paper states for OlafQueue and its IPs, and shallow enough for 4 ns.

    `olaflab bench synth --box` maps the blocks, too, which takes up to an hour.
    """
    used = synthesize(BOX)
    assert all(used.percent(resource) < paper for resource, paper in PAPER.items())
    assert used.levels <= 12
