"""What the box takes of the card; ten minutes, so only where OLAF_SYNTHESIS is set."""

import os

import pytest

from olafctl.bench.box_synthesis import PAPER, synthesize_box
from olafctl.wire.geometry import Geometry


@pytest.mark.skipif(
    "OLAF_SYNTHESIS" not in os.environ, reason="OLAF_SYNTHESIS is not set: it takes ten minutes"
)
def test_the_box_is_small() -> None:
    """OlafQueue included, it stays below three times what the paper states for OlafQueue with its IPs."""
    used = synthesize_box(Geometry(slots=8, beats=142))
    assert all(used.percent(resource) < 3 * paper for resource, paper in PAPER.items())
