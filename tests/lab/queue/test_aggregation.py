"""A round of a gradient through the real queue, over links."""

from pathlib import Path

import pytest

from olafctl.queue.verilate import build_queue
from olaflab.model.agreement.queue import compare
from olaflab.queue import aggregation
from olaflab.queue.aggregation import Link

FRAME_NS = 8960 * 8 / 10
"""A whole segment on a link of 10 Gb/s."""
SIZE = 40_020


@pytest.fixture(scope="module")
def library() -> Path:
    return build_queue(aggregation.GEOMETRY)


def test_a_link_sends_one_frame_after_the_other() -> None:
    link = Link(10e9, 500)
    assert link.carry(0, 1250) == 1500
    assert link.carry(200, 1250) == 2500
    assert link.carry(5000, 1250) == 6500


@pytest.mark.slow
def test_rounds_take_a_link_up_the_queue_and_a_link_down(library: Path) -> None:
    """Segments follow each other, so only the last one's way adds to the gradient's own length."""
    time = aggregation.rounds(library, SIZE, (4,))
    links = sum(size * 8 / 10 for size in aggregation.frame_sizes(SIZE)) + 2 * aggregation.DELAY
    assert links < time < links + FRAME_NS + 10_000


@pytest.mark.slow
@pytest.mark.parametrize("racks", [(4,), (3, 1), (3, 3, 3, 3)])
def test_the_event_level_model_equals_the_verilated_queue(library: Path, racks: tuple[int, ...]) -> None:
    found = compare(library, SIZE, racks)
    assert found.modelled == found.verilated
